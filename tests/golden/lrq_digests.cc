#include "device/cells.h"
#include "golden/check.h"
#include "golden/digests.h"
#include "sotto/bytes.h"
#include "sotto/random.h"
#include "sotto/update_codec.h"

namespace sotto::golden {
namespace {

Status HashCells(const Dither& dither, uint32_t count, Sha256* hash) {
  for (uint32_t first = 0; first < count; first += kDitherBatch) {
    DitherCell cells[kDitherBatch];
    if (Status s = GenerateCells(dither, first, cells); s != Status::kOk) return s;
    uint8_t bytes[12 * kDitherBatch];
    for (uint32_t i = 0; i < kDitherBatch; ++i) {
      int32_t offset = 0;
      if (Status s = dither.ExactOffset(first + i, cells[i], &offset); s != Status::kOk) return s;
      StoreU32Le(static_cast<uint32_t>(cells[i].step_q27), bytes + 12 * i);
      StoreU32Le(static_cast<uint32_t>(cells[i].left_q27), bytes + 12 * i + 4);
      StoreU32Le(static_cast<uint32_t>(offset), bytes + 12 * i + 8);
    }
    if (Status s = hash->Update(bytes); s != Status::kOk) return s;
  }
  return Status::kOk;
}

Status Cells(DitherKind kind, uint32_t count, Digest digest) {
  Sha256 hash;
  if (Status s = HashCells(Dither(TestKey(2), kind), count, &hash); s != Status::kOk) return s;
  return hash.Finish(digest);
}

Status HashScale(const UpdateScale& scale, Sha256* hash) {
  const uint32_t fields[] = {static_cast<uint32_t>(scale.max_exponent),
                             scale.multiplier,
                             scale.shift,
                             static_cast<uint32_t>(scale.max_value_q20),
                             static_cast<uint32_t>(scale.rms_q20),
                             scale.clipped ? 1u : 0u};
  for (const uint32_t field : fields) {
    if (Status s = hash->UpdateU32(field); s != Status::kOk) return s;
  }
  return Status::kOk;
}

constexpr uint32_t kUpdates = 25;
constexpr uint32_t kLargestUpdate = 4096;
constexpr float kClip = 0.4f;

// Another kind of update for each index: size, magnitude, noise and dither differ.
struct UpdateCase {
  uint32_t index;
  uint32_t size() const { return kLargestUpdate - index; }
  DitherKind kind() const { return index % 5 == 4 ? DitherKind::kUniform : DitherKind::kGaussian; }
  UpdateFormat format(Coding coding) const { return {coding, kind(), 16 * (index % 3)}; }
  // Norms from far below to far above the bound.
  float magnitude() const { return FloatFromBits((112 + index) << 23); }
  float unit() const {
    const uint32_t halvings = kind() == DitherKind::kUniform ? 10 : index % 8;
    return kClip * FloatFromBits((127 - halvings) << 23);
  }
};

float g_update[kLargestUpdate];
int32_t g_noisy[kLargestUpdate];
uint8_t g_encoded[4 * kLargestUpdate];

// Values of 24 bits, most of them small: exact in binary32.
Status FillUpdate(const UpdateCase& update_case) {
  RandomStream random(TestKey(3), update_case.index);
  for (uint32_t j = 0; j < update_case.size(); ++j) {
    const uint32_t bits = random.NextU32();
    const int32_t mantissa = static_cast<int32_t>(bits) >> (8 + (bits & 15));
    g_update[j] = static_cast<float>(mantissa) * (1.0f / 8388608) * update_case.magnitude();
  }
  return random.status();
}

UpdateEncoder g_encoder;

Status HashUpdate(const UpdateCase& update_case, Coding coding, Sha256* hash) {
  if (Status s = FillUpdate(update_case); s != Status::kOk) return s;
  const Key key = TestKey(static_cast<uint8_t>(10 + update_case.index));
  const UpdateFormat format = update_case.format(coding);
  UpdateEncoder& encoder = g_encoder;
  if (Status s =
          encoder.Begin(key, format, {g_update, update_case.size()}, kClip, update_case.unit());
      s != Status::kOk) {
    return s;
  }
  if (Status s = HashScale(encoder.scale(), hash); s != Status::kOk) return s;
  size_t size = 0;
  if (Status s = encoder.Read(g_encoded, &size); s != Status::kOk) return s;
  if (!encoder.is_done()) return Status::kBufferTooSmall;
  const ByteSpan encoded(g_encoded, size);
  if (Status s = hash->Update(encoded); s != Status::kOk) return s;
  const Span<int32_t> noisy(g_noisy, update_case.size());
  if (Status s = DecodeUpdate(key, format, encoded, noisy); s != Status::kOk) return s;
  for (const int32_t value : noisy) {
    if (Status s = hash->UpdateU32(static_cast<uint32_t>(value)); s != Status::kOk) return s;
  }
  return Status::kOk;
}

Status EncodedUpdates(Coding coding, Digest digest) {
  Sha256 hash;
  for (uint32_t index = 0; index < kUpdates; ++index) {
    if (Status s = HashUpdate({index}, coding, &hash); s != Status::kOk) return s;
  }
  return hash.Finish(digest);
}

}  // namespace

Status FirstCells(Digest digest) { return Cells(DitherKind::kGaussian, 1 << 14, digest); }
Status AllCells(Digest digest) { return Cells(DitherKind::kGaussian, 1 << 20, digest); }
Status UniformCells(Digest digest) { return Cells(DitherKind::kUniform, 1 << 14, digest); }

Status UpdateScales(Digest digest) {
  // Patterns of binary32: zeros, subnormals, ones, neighbours of powers of two, the largest.
  constexpr uint32_t kPatterns[] = {0x00000000, 0x80000000, 0x00000001, 0x807fffff, 0x00800000,
                                    0x33800001, 0xbf7fffff, 0x3f800000, 0xbf800001, 0x4b800000,
                                    0x5f000000, 0xff7fffff, 0x7f7fffff};
  constexpr float kUnits[] = {1e-35f, 0.00390625f, 0.4f, 1.0f, 3e30f};
  constexpr float kRatios[] = {0.015625f, 1.0f, 1000.0f};
  Sha256 hash;
  for (const uint32_t first : kPatterns) {
    for (const uint32_t second : kPatterns) {
      const float update[] = {FloatFromBits(first), FloatFromBits(second), FloatFromBits(first)};
      for (const float unit : kUnits) {
        for (const float ratio : kRatios) {
          UpdateScale scale;
          if (Status s = ComputeUpdateScale(update, unit * ratio, unit, &scale); s != Status::kOk) {
            return s;
          }
          if (Status s = HashScale(scale, &hash); s != Status::kOk) return s;
          const int32_t v = ScaleToQ20(update[1], scale);
          if (Status s = hash.UpdateU32(static_cast<uint32_t>(v)); s != Status::kOk) return s;
        }
      }
    }
  }
  return hash.Finish(digest);
}

Status FixedUpdates(Digest digest) { return EncodedUpdates(Coding::kFixed, digest); }
Status RangeUpdates(Digest digest) { return EncodedUpdates(Coding::kRange, digest); }

}  // namespace sotto::golden
