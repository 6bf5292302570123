#include "sotto/update_ledger.h"

#include "sotto/bytes.h"
#include "sotto/crypto.h"
#include "sotto/num.h"

namespace sotto {
namespace {

constexpr uint32_t kMagic = 0x70556f53;  // "SoUp"
constexpr uint32_t kVersion1 = 1;
constexpr size_t kBodySize = 20;
constexpr size_t kCheckSize = 16;
constexpr size_t kRecordSize = kBodySize + kCheckSize;

// The largest limit that the task meets: z in Q20, rounded down.
uint32_t MultiplierQ20(const TrainTask& task) {
  uint32_t z_q20 = 0;
  for (uint32_t bit = uint32_t{1} << 31; bit != 0; bit >>= 1) {
    if (task.HasPrivateNoise(z_q20 | bit)) z_q20 |= bit;
  }
  return z_q20;
}

uint64_t DivideUp(uint64_t a, uint64_t b) {
  const Division division = Divide(a, b);
  return division.quotient + (division.remainder != 0 ? 1 : 0);
}

}  // namespace

// rho 2^32 = 2^71 / Z^2 for Z = 2^20 z. 2^71 / Z is computed as 2^63 / Z and eight more bits: it is
// below 2^63 for Z > 2^8, and the remainder is below 2^32. Rounding up twice is rounding up once:
// ceil(ceil(x / Z) / Z) = ceil(x / Z^2).
uint64_t PrivateRhoQ32(const TrainTask& task) {
  const uint32_t z = MultiplierQ20(task);
  if (z <= 256) return UINT64_MAX;
  const Division first = Divide(uint64_t{1} << 63, z);
  return DivideUp((first.quotient << 8) + DivideUp(first.remainder << 8, z), z);
}

Status internal::LoadSpending(const PersistentStore& store, PrivateSpending* total) {
  uint8_t record[kRecordSize + 1];  // one more byte than a record has
  size_t size = 0;
  if (Status s = store.load(store.context, StoreSlot::kClient, 0, MutableByteSpan(record), &size);
      s != Status::kOk) {
    return Status::kStoreFailed;
  }
  if (size == 0) {
    *total = {};
    return Status::kOk;
  }
  if (size != kRecordSize) return Status::kMalformed;
  uint8_t digest[kSha256Size];
  if (Status s = Sha256Digest({record, kBodySize}, digest); s != Status::kOk) return s;
  const bool is_whole = __builtin_memcmp(digest, record + kBodySize, kCheckSize) == 0 &&
                        LoadU32Le(record) == kMagic && LoadU32Le(record + 4) == kVersion1;
  if (!is_whole) return Status::kMalformed;
  *total = {LoadU32Le(record + 8), LoadU64Le(record + 12)};
  return Status::kOk;
}

Status internal::ChargeSpending(const PersistentStore& store, const TrainTask& task,
                                PrivateSpending* total) {
  if (total->updates == UINT32_MAX) return Status::kOutOfRange;
  ++total->updates;
  const uint64_t rho = PrivateRhoQ32(task);
  total->rho_q32 += rho < UINT64_MAX - total->rho_q32 ? rho : UINT64_MAX - total->rho_q32;

  uint8_t record[kBodySize + kSha256Size];
  StoreU32Le(kMagic, record);
  StoreU32Le(kVersion1, record + 4);
  StoreU32Le(total->updates, record + 8);
  StoreU64Le(total->rho_q32, record + 12);
  uint8_t digest[kSha256Size];
  if (Status s = Sha256Digest({record, kBodySize}, digest); s != Status::kOk) return s;
  __builtin_memcpy(record + kBodySize, digest, kSha256Size);
  const ByteSpan part = ByteSpan(record).first(kRecordSize);
  const Status status = store.save(store.context, StoreSlot::kClient, {&part, 1});
  return status == Status::kOk ? Status::kOk : Status::kStoreFailed;
}

}  // namespace sotto
