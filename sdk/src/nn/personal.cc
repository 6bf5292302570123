#include "sotto/personal.h"

#include "base/exact_arithmetic.h"
#include "nn/predict.h"
#include "sotto/bytes.h"
#include "sotto/crypto.h"
#include "sotto/initial_weights.h"
#include "sotto/nn.h"

namespace sotto {
namespace {

constexpr uint32_t kMagic = 0x6c506f53;  // "SoPl"
constexpr uint32_t kVersion1 = 1;
constexpr size_t kDigestAt = 12;
constexpr size_t kHeadSize = kDigestAt + kSha256Size;
constexpr size_t kCheckSize = 16;
static_assert(PersonalRecordBytes(0) == kHeadSize + kCheckSize);

Status MakeHead(const ModelInfo& model, uint8_t (&head)[kHeadSize]) {
  uint8_t digest[kSha256Size] = {};
  if (Status s = ModelDigest(model, digest); s != Status::kOk) return s;
  StoreU32Le(kMagic, head);
  StoreU32Le(kVersion1, head + 4);
  StoreU32Le(model.personal, head + 8);
  __builtin_memcpy(head + kDigestAt, digest, kSha256Size);
  return Status::kOk;
}

// As kept_model.cc takes it: all CPUs of the SDK are little endian.
ByteSpan BytesOf(Span<const float> values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), sizeof(float) * values.size()};
}

Status CheckOf(ByteSpan head, Span<const float> values, uint8_t (&digest)[kSha256Size]) {
  Sha256 hash;
  if (Status s = hash.Update(head); s != Status::kOk) return s;
  if (Status s = hash.Update(BytesOf(values)); s != Status::kOk) return s;
  return hash.Finish(digest);
}

// A part of the record that must be whole.
Status LoadPart(const PersistentStore& store, size_t offset, MutableByteSpan out, bool* is_whole) {
  size_t size = 0;
  if (store.load(store.context, StoreSlot::kPersonal, offset, out, &size) != Status::kOk) {
    return Status::kStoreFailed;
  }
  *is_whole = size == out.size();
  return Status::kOk;
}

// The record's values, if there is one of this model and it is whole.
Status LoadRecord(const ModelInfo& model, const PersistentStore& store, Span<float> values,
                  bool* is_kept) {
  uint8_t head[kHeadSize] = {};
  uint8_t expected[kHeadSize] = {};
  if (Status s = LoadPart(store, 0, MutableByteSpan(head), is_kept); s != Status::kOk) return s;
  if (Status s = MakeHead(model, expected); s != Status::kOk) return s;
  *is_kept = *is_kept && __builtin_memcmp(head, expected, kHeadSize) == 0;
  if (!*is_kept) return Status::kOk;
  const MutableByteSpan bytes = {reinterpret_cast<uint8_t*>(values.data()),
                                 sizeof(float) * values.size()};
  if (Status s = LoadPart(store, kHeadSize, bytes, is_kept); s != Status::kOk) return s;
  if (!*is_kept) return Status::kOk;
  uint8_t check[kCheckSize] = {};
  const size_t check_at = kHeadSize + bytes.size();
  if (Status s = LoadPart(store, check_at, MutableByteSpan(check), is_kept); s != Status::kOk) {
    return s;
  }
  uint8_t digest[kSha256Size] = {};
  if (Status s = CheckOf(head, values, digest); s != Status::kOk) return s;
  *is_kept = *is_kept && __builtin_memcmp(digest, check, kCheckSize) == 0;
  return Status::kOk;
}

}  // namespace

Status InitialPersonal(const ModelInfo& model, Span<float> values) {
  if (values.size() != model.personal) return Status::kInvalidArgument;
  static_assert(kKeySize == kSha256Size);
  uint8_t digest[kSha256Size] = {};
  if (Status s = ModelDigest(model, digest); s != Status::kOk) return s;
  Key key;
  __builtin_memcpy(key.bytes, digest, kKeySize);
  return nn::internal::DrawPersonal(model, key, values);
}

Status LoadPersonal(const ModelInfo& model, const PersistentStore& store, Span<float> values,
                    bool* is_kept) {
  if (values.size() != model.personal) return Status::kInvalidArgument;
  if (Status s = LoadRecord(model, store, values, is_kept); s != Status::kOk) return s;
  return *is_kept ? Status::kOk : InitialPersonal(model, values);
}

Status KeepPersonal(const ModelInfo& model, const PersistentStore& store,
                    Span<const float> values) {
  if (values.size() != model.personal) return Status::kInvalidArgument;
  uint8_t head[kHeadSize] = {};
  uint8_t check[kSha256Size] = {};
  if (Status s = MakeHead(model, head); s != Status::kOk) return s;
  if (Status s = CheckOf(head, values, check); s != Status::kOk) return s;
  const ByteSpan parts[] = {head, BytesOf(values), ByteSpan(check).first(kCheckSize)};
  const Status status =
      store.save(store.context, StoreSlot::kPersonal, Span<const ByteSpan>(parts));
  return status == Status::kOk ? Status::kOk : Status::kStoreFailed;
}

namespace {

Status BeginTraining(const ModelInfo& model, const PersistentStore& store, Span<float> working) {
  if (!store.is_there() || working.size() != model.trained()) return Status::kInvalidArgument;
  bool is_kept = false;
  return LoadPersonal(model, store, working.subspan(model.parameters), &is_kept);
}

Status EndTraining(const ModelInfo& model, const PersistentStore& store, Span<const float> working,
                   Status* kept) {
  const Span<const float> values = working.subspan(model.parameters);
  if (!nn::AreFinite(values)) return Status::kNotFinite;
  *kept = KeepPersonal(model, store, values);
  return Status::kOk;
}

}  // namespace

const PersonalFunctions nn::internal::kPersonalFunctions = {BeginTraining, EndTraining};

}  // namespace sotto
