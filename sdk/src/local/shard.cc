#include "sotto/shard.h"

#include "base/exact_arithmetic.h"
#include "sotto/bytes.h"
#include "sotto/crypto.h"

namespace sotto {
namespace {

constexpr uint32_t kShardMark = 0x68536f53;  // "SoSh"
constexpr uint8_t kShardVersion = 1;
constexpr size_t kNumbersAt = 8;
constexpr size_t kModelAt = 36;
constexpr size_t kSumAt = 48;  // of what stands above it, and of the samples

// The numbers of a head in their order.
struct Numbers {
  uint32_t* at[7];
};

Numbers NumbersOf(ShardInfo* info) {
  return {{&info->shape.height, &info->shape.width, &info->shape.channels, &info->tokens,
           &info->classes, &info->targets, &info->count}};
}

// False for a head that no host writes.
bool ReadHead(const uint8_t (&head)[kShardHeadSize], ShardInfo* info) {
  info->element = static_cast<ShardElement>(head[5]);
  const uint8_t* next = head + kNumbersAt;
  for (uint32_t* const number : NumbersOf(info).at) {
    *number = LoadU32Le(next);
    next += 4;
  }
  __builtin_memcpy(info->model, head + kModelAt, sizeof(info->model));
  const bool is_known =
      info->element == ShardElement::kByte || info->element == ShardElement::kFloat32;
  return is_known && head[6] == 0 && head[7] == 0 && info->Features() > 0 &&
         (info->classes == 0 || info->targets == 0);
}

ShardStatus CompareModel(const ShardInfo& info, const ModelInfo& model) {
  uint8_t any = 0;
  for (const uint8_t byte : info.model) any = any | byte;
  if (any == 0 || model.update_digest == nullptr) return ShardStatus::kOk;
  uint8_t expected[kShardModelSize];
  if (ShardModel(model, expected) != Status::kOk) return ShardStatus::kFailed;
  return __builtin_memcmp(info.model, expected, sizeof(expected)) == 0 ? ShardStatus::kOk
                                                                       : ShardStatus::kOtherModel;
}

ShardStatus Compare(const ShardInfo& info, const ModelInfo& model) {
  if (info.Features() != model.inputs) return ShardStatus::kOtherFeatures;
  const uint32_t tokens = model.layers[0].tokens;
  if (info.tokens > tokens || (info.tokens == 0) != (tokens == 0)) {
    return ShardStatus::kOtherTokens;
  }
  const bool has_vector = model.loss.target == nn::TargetKind::kVector;
  if ((model.classes > 0 && info.classes != model.classes) ||
      (has_vector && info.targets != model.outputs)) {
    return ShardStatus::kOtherTargets;
  }
  return CompareModel(info, model);
}

}  // namespace

const char* ShardText(ShardStatus status) {
  switch (status) {
    case ShardStatus::kOk:
      return "ready";
    case ShardStatus::kNoShard:
      return "no shard: use the sotto-shard of this build";
    case ShardStatus::kOtherVersion:
      return "a later format: use the sotto-shard of this build";
    case ShardStatus::kTruncated:
      return "cut: copy the shard again";
    case ShardStatus::kDamaged:
      return "damaged: copy the shard again";
    case ShardStatus::kOtherFeatures:
      return "not of the model's size: sotto-shard --model";
    case ShardStatus::kOtherTokens:
      return "not the model's tokens: sotto-shard --model";
    case ShardStatus::kOtherTargets:
      return "not the model's classes or targets: sotto-shard --model";
    case ShardStatus::kOtherModel:
      return "of another model: sotto-shard --model";
    case ShardStatus::kFailed:
      return "cannot be read";
  }
  return "unknown status";
}

Status ShardModel(const ModelInfo& model, uint8_t (&beginning)[kShardModelSize]) {
  uint8_t digest[kSha256Size];
  if (Status s = ModelDigest(model, digest); s != Status::kOk) return s;
  __builtin_memcpy(beginning, digest, sizeof(beginning));
  return Status::kOk;
}

Status MakeShardHead(const ShardInfo& info, ByteSpan samples, uint8_t (&head)[kShardHeadSize]) {
  uint8_t made[kShardHeadSize] = {};
  StoreU32Le(kShardMark, made);
  made[4] = kShardVersion;
  made[5] = static_cast<uint8_t>(info.element);
  ShardInfo copy = info;
  uint8_t* next = made + kNumbersAt;
  for (const uint32_t* const number : NumbersOf(&copy).at) {
    StoreU32Le(*number, next);
    next += 4;
  }
  __builtin_memcpy(made + kModelAt, info.model, sizeof(info.model));
  const uint64_t each = info.SampleBytes();
  if (!ReadHead(made, &copy) || samples.size() / each != info.count || samples.size() % each != 0) {
    return Status::kInvalidArgument;
  }
  Sha256 hash;
  uint8_t sum[kSha256Size];
  Status status = hash.Update({made, kSumAt});
  if (status == Status::kOk) status = hash.Update(samples);
  if (status == Status::kOk) status = hash.Finish(sum);
  if (status != Status::kOk) return status;
  __builtin_memcpy(made + kSumAt, sum, kShardHeadSize - kSumAt);
  __builtin_memcpy(head, made, sizeof(head));
  return Status::kOk;
}

ShardStatus Shard::CheckSum(size_t size, const uint8_t (&head)[kShardHeadSize]) const {
  Sha256 hash;
  Status status = hash.Update({head, kSumAt});
  uint8_t piece[64];
  for (size_t at = kShardHeadSize; at < size && status == Status::kOk;) {
    const size_t left = size - at;
    const MutableByteSpan part = {piece, left < sizeof(piece) ? left : sizeof(piece)};
    status = file_.read(file_.context, at, part);
    if (status == Status::kOk) status = hash.Update(part);
    at += part.size();
  }
  uint8_t sum[kSha256Size];
  if (status != Status::kOk || hash.Finish(sum) != Status::kOk) return ShardStatus::kFailed;
  return __builtin_memcmp(sum, head + kSumAt, kShardHeadSize - kSumAt) == 0 ? ShardStatus::kOk
                                                                            : ShardStatus::kDamaged;
}

ShardStatus Shard::Check(const ModelInfo& model, ShardInfo* info) const {
  uint8_t head[kShardHeadSize] = {};
  const size_t there = file_.size < sizeof(head) ? file_.size : sizeof(head);
  if (there == 0) return ShardStatus::kNoShard;
  if (file_.read(file_.context, 0, {head, there}) != Status::kOk) return ShardStatus::kFailed;
  if (LoadU32Le(head) != kShardMark) return ShardStatus::kNoShard;
  if (there < sizeof(head)) return ShardStatus::kTruncated;
  if (head[4] != kShardVersion) return ShardStatus::kOtherVersion;
  if (!ReadHead(head, info)) return ShardStatus::kDamaged;
  const size_t room = file_.size - sizeof(head);
  const uint64_t each = info->SampleBytes();
  if (info->count > 0 && (each > room || room / static_cast<size_t>(each) < info->count)) {
    return ShardStatus::kTruncated;
  }
  const size_t size = sizeof(head) + info->count * static_cast<size_t>(each);
  if (ShardStatus s = CheckSum(size, head); s != ShardStatus::kOk) return s;
  return Compare(*info, model);
}

ShardStatus Shard::Open(ByteSpan bytes, const ModelInfo& model) {
  // ReadMemory only reads.
  return Open({bytes.size(), ReadMemory, const_cast<uint8_t*>(bytes.data())}, model);
}

ShardStatus Shard::Open(const ShardFile& file, const ModelInfo& model) {
  file_ = file;
  info_ = {};
  ShardInfo info;
  const ShardStatus status = Check(model, &info);
  if (status == ShardStatus::kOk) info_ = info;
  return status;
}

SampleSource Shard::source() const {
  auto* const self = const_cast<Shard*>(this);  // both functions read only
  return {info_.count, ReadSample, self, ReadSampleVector};
}

Status Shard::ReadMemory(void* context, size_t offset, MutableByteSpan out) {
  __builtin_memcpy(out.data(), static_cast<const uint8_t*>(context) + offset, out.size());
  return Status::kOk;
}

// The bytes go to the memory of the floats.
Status Shard::ReadFloats(size_t offset, Span<float> out) const {
  auto* const bytes = reinterpret_cast<uint8_t*>(out.data());
  const Status status = file_.read(file_.context, offset, {bytes, 4 * out.size()});
  if (status != Status::kOk) return status;
  for (size_t i = 0; i < out.size(); ++i) out[i] = FloatFromBits(LoadU32Le(bytes + 4 * i));
  return Status::kOk;
}

Status Shard::ReadFeatures(uint32_t index, Span<float> out) const {
  const size_t offset = Begin(index) + static_cast<size_t>(info_.LabelBytes());
  if (info_.element == ShardElement::kFloat32) return ReadFloats(offset, out);
  // They become floats from the last one on: none is written over a byte that is still to be read.
  auto* const bytes = reinterpret_cast<uint8_t*>(out.data());
  const Status status = file_.read(file_.context, offset, {bytes, out.size()});
  if (status != Status::kOk) return status;
  const float scale = info_.tokens > 0 ? 1.0f : 1 / 255.0f;
  for (size_t i = out.size(); i-- > 0;) out[i] = static_cast<float>(bytes[i]) * scale;
  return Status::kOk;
}

Status Shard::ReadSample(void* context, uint32_t index, Span<float> features, uint32_t* label) {
  const auto& self = *static_cast<const Shard*>(context);
  uint8_t bytes[4] = {};
  if (self.info_.classes > 0) {
    const auto size = static_cast<size_t>(self.info_.LabelBytes());
    const Status status = self.file_.read(self.file_.context, self.Begin(index), {bytes, size});
    if (status != Status::kOk) return status;
  }
  *label = LoadU32Le(bytes);
  return self.ReadFeatures(index, features);
}

Status Shard::ReadSampleVector(void* context, uint32_t index, Span<float> features,
                               Span<float> target) {
  const auto& self = *static_cast<const Shard*>(context);
  const Status status = self.ReadFloats(self.Begin(index), target);
  return status == Status::kOk ? self.ReadFeatures(index, features) : status;
}

}  // namespace sotto
