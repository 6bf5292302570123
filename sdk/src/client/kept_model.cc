#include "sotto/kept_model.h"

#include "sotto/bytes.h"
#include "sotto/crypto.h"
#include "sotto/model_difference.h"
#include "sotto/num.h"

namespace sotto {
namespace {

constexpr uint32_t kMagic = 0x6f4d6f53;   // "SoMo"
constexpr uint8_t kWithoutThreshold = 1;  // versions
constexpr uint8_t kWithThreshold = 2;
constexpr size_t kJobAt = 12;
constexpr size_t kCheckAt = kJobAt + kJobIdSize;
constexpr size_t kClaimsAt = kCheckAt + kModelCheckSize;
constexpr size_t kThresholdAt = kClaimsAt + kMaxClaimsSize;
constexpr size_t kSumSize = 8;
constexpr size_t kLongestRecord = kThresholdAt + sizeof(float) + kSumSize;
constexpr size_t kSmallestPage = 256;
static_assert(kLongestRecord <= kSmallestPage, "a record fits into a page");

// Bytes in front of the sum, by the record's version.
size_t BodySize(const uint8_t* record) {
  return record[4] == kWithThreshold ? kThresholdAt + sizeof(float) : kThresholdAt;
}

Status SumOf(const uint8_t* record, uint8_t (&digest)[kSha256Size]) {
  return Sha256Digest({record, BodySize(record)}, digest);
}

float ThresholdIn(const uint8_t* record) {
  return record[4] == kWithThreshold ? FloatFromBits(LoadU32Le(record + kThresholdAt)) : 0.0f;
}

bool HasForm(const uint8_t* record) {
  const bool is_known = record[4] == kWithoutThreshold ||
                        (record[4] == kWithThreshold && IsPositiveNormal(ThresholdIn(record)));
  return LoadU32Le(record) == kMagic && is_known && record[5] <= 1 && record[6] <= kMaxClaimsSize &&
         record[7] == 0;
}

// Whether the record is whole, and of the model.
Status IsOf(const uint8_t* record, Span<const float> model, bool* is_of) {
  *is_of = false;
  uint8_t digest[kSha256Size] = {};
  if (Status s = SumOf(record, digest); s != Status::kOk) return s;
  if (!HasForm(record) || __builtin_memcmp(digest, record + BodySize(record), kSumSize) != 0) {
    return Status::kOk;
  }
  uint8_t check[kModelCheckSize] = {};
  if (Status s = ModelCheck(model, check); s != Status::kOk) return s;
  *is_of = __builtin_memcmp(check, record + kCheckAt, kModelCheckSize) == 0;
  return Status::kOk;
}

Release ReadRecord(const uint8_t* record) {
  Release release;
  release.is_final = record[5] != 0;
  release.rounds = LoadU32Le(record + 8);
  __builtin_memcpy(release.job_id, record + kJobAt, kJobIdSize);
  release.claims = {record + kClaimsAt, record[6]};
  release.threshold = ThresholdIn(record);
  return release;
}

//   record  zeros
Status WriteRecord(const Release& release, Span<const float> model,
                   uint8_t (&record)[kLongestRecord], size_t* record_size) {
  const size_t claims =
      release.claims.size() < kMaxClaimsSize ? release.claims.size() : kMaxClaimsSize;
  StoreU32Le(kMagic, record);
  const bool has_threshold = release.threshold != 0.0f;
  if (has_threshold && !IsPositiveNormal(release.threshold)) return Status::kInvalidArgument;
  record[4] = has_threshold ? kWithThreshold : kWithoutThreshold;
  record[5] = release.is_final ? 1 : 0;
  record[6] = static_cast<uint8_t>(claims);
  StoreU32Le(release.rounds, record + 8);
  __builtin_memcpy(record + kJobAt, release.job_id, kJobIdSize);
  if (claims != 0) __builtin_memcpy(record + kClaimsAt, release.claims.data(), claims);
  if (has_threshold) StoreU32Le(FloatBits(release.threshold), record + kThresholdAt);
  uint8_t check[kModelCheckSize] = {};
  if (Status s = ModelCheck(model, check); s != Status::kOk) return s;
  __builtin_memcpy(record + kCheckAt, check, kModelCheckSize);
  uint8_t digest[kSha256Size] = {};
  if (Status s = SumOf(record, digest); s != Status::kOk) return s;
  __builtin_memcpy(record + BodySize(record), digest, kSumSize);
  *record_size = BodySize(record) + kSumSize;
  return Status::kOk;
}

}  // namespace

bool KeptModel::IsUsable() const {
  return flash_.begin != nullptr && flash_.erase != nullptr && flash_.program != nullptr &&
         flash_.page_size >= kSmallestPage && flash_.page_size % kProgramUnit == 0 &&
         reinterpret_cast<uintptr_t>(flash_.begin) % alignof(float) == 0 && parameters_ > 0 &&
         flash_.size >= ModelFlashBytes(parameters_, flash_.page_size);
}

Span<const float> KeptModel::base() const {
  if (!IsUsable()) return {};
  return {reinterpret_cast<const float*>(flash_.begin), parameters_};
}

bool KeptModel::Holds(size_t offset, ByteSpan bytes) const {
  return __builtin_memcmp(flash_.begin + offset, bytes.data(), bytes.size()) == 0;
}

// All whole units, then the rest.
Status KeptModel::WritePage(size_t page, ByteSpan bytes) {
  if (Status s = flash_.erase(flash_.context, page); s != Status::kOk) return s;
  const size_t whole = bytes.size() / kProgramUnit * kProgramUnit;
  if (whole > 0) {
    const Status status = flash_.program(flash_.context, page, bytes.first(whole));
    if (status != Status::kOk) return status;
  }
  if (whole == bytes.size()) return Status::kOk;
  uint8_t unit[kProgramUnit];
  __builtin_memset(unit, 0xff, sizeof(unit));
  __builtin_memcpy(unit, bytes.data() + whole, bytes.size() - whole);
  return flash_.program(flash_.context, page + whole, ByteSpan(unit));
}

Status KeptModel::Replace(size_t page, ByteSpan bytes) {
  if (Holds(page, bytes)) return Status::kOk;
  if (Status s = WritePage(page, bytes); s != Status::kOk) return s;
  return Holds(page, bytes) ? Status::kOk : Status::kStoreFailed;
}

Status KeptModel::Write(void* self, Span<const float> model) {
  auto* const kept = static_cast<KeptModel*>(self);
  kept->has_release_ = false;
  if (!kept->IsUsable() || model.size() != kept->parameters_) return Status::kInvalidArgument;
  const ByteSpan bytes(reinterpret_cast<const uint8_t*>(model.data()),
                       sizeof(float) * model.size());
  const size_t page = kept->flash_.page_size;
  for (size_t at = 0; at < bytes.size(); at += page) {
    const size_t left = bytes.size() - at;
    const Status status = kept->Replace(at, bytes.subspan(at, left < page ? left : page));
    if (status != Status::kOk) return status;
  }
  return Status::kOk;
}

Status KeptModel::Restore() {
  has_release_ = false;
  if (!IsUsable()) return Status::kOk;
  const uint8_t* const record = flash_.begin + RecordAt();
  if (Status s = IsOf(record, base(), &has_release_); s != Status::kOk) return s;
  if (has_release_) release_ = ReadRecord(record);
  return Status::kOk;
}

Status KeptModel::Keep(const Release& release) {
  has_release_ = false;
  if (!IsUsable()) return Status::kStoreFailed;
  uint8_t record[kLongestRecord] = {};
  size_t size = 0;
  if (Status s = WriteRecord(release, base(), record, &size); s != Status::kOk) return s;
  if (Status s = Replace(RecordAt(), ByteSpan(record).first(size)); s != Status::kOk) return s;
  release_ = ReadRecord(flash_.begin + RecordAt());
  has_release_ = true;
  return Status::kOk;
}

}  // namespace sotto
