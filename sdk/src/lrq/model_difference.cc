#include "sotto/model_difference.h"

#include "base/exact_arithmetic.h"
#include "sotto/bytes.h"
#include "sotto/crypto.h"
#include "sotto/num.h"

namespace sotto {
namespace {

constexpr int32_t kMostNearestUnits = 1 << 30;
constexpr int kFractionBits = 23;  // of a float's bits
constexpr int kBias = 127;         // of its exponent
constexpr uint32_t kDifferenceDigits = 31;

bool IsGridExponent(int exponent) {
  return exponent >= kLeastGridExponent && exponent <= kMostGridExponent;
}

bool IsOnGrid(float parameter, int exponent) {
  const int32_t n = NearestGridUnits(parameter, exponent);
  return n <= kMostGridUnits && n >= -kMostGridUnits &&
         FloatBits(GridParameter(n, exponent)) == FloatBits(parameter);
}

// Writes a code without the zeros at its end.
struct Sink {
  MutableByteSpan out;
  size_t size = 0;    // up to the last byte that is not 0
  size_t passed = 0;  // bytes

  void Put(ByteSpan bytes) {
    for (const uint8_t byte : bytes) {
      if (passed < out.size()) out[passed] = byte;
      ++passed;
      if (byte != 0) size = passed;
    }
  }
};

}  // namespace

int32_t NearestGridUnits(float value, int exponent) {
  const FloatParts parts = SplitFloat(value);
  const int shift = parts.exponent - 150 - exponent;  // |value| = mantissa 2^shift units
  const bool is_negative = (FloatBits(value) >> 31) != 0;
  uint32_t units = kMostNearestUnits;
  if (shift < -24) {
    units = 0;  // less than a half
  } else if (shift < 0) {
    // floor(-x + 1/2) = -ceil(x - 1/2): a tie goes down in magnitude.
    const uint32_t half = (uint32_t{1} << (-shift - 1)) - (is_negative ? 1 : 0);
    units = (parts.mantissa + half) >> -shift;
  } else if (shift < 7) {
    units = parts.mantissa << shift;  // at most 2^30
  }
  const auto result = static_cast<int32_t>(units);
  return is_negative ? -result : result;
}

// By shifts of a float's bits: a CPU without floats needs no library.
float GridParameter(int32_t n, int exponent) {
  if (n == 0) return 0.0f;
  const auto magnitude = static_cast<uint32_t>(n < 0 ? -n : n);
  const int zeros = CountLeadingZeros(magnitude);
  const uint32_t mantissa = magnitude << zeros >> 8;  // with its first bit, 2^23
  const auto biased = static_cast<uint32_t>(kBias + 31 - zeros + exponent);
  const uint32_t bits = ((biased - 1) << kFractionBits) + mantissa;
  return FloatFromBits(bits | (n < 0 ? uint32_t{1} << 31 : 0));
}

Status ModelCheck(Span<const float> parameters, uint8_t (&check)[kModelCheckSize]) {
  Sha256 hash;
  uint8_t block[64];
  size_t filled = 0;
  Status status = Status::kOk;
  for (const float parameter : parameters) {
    StoreU32Le(FloatBits(parameter), block + filled);
    filled += 4;
    if (filled < sizeof(block)) continue;
    if (status == Status::kOk) status = hash.Update(block);
    filled = 0;
  }
  if (status == Status::kOk) status = hash.Update({block, filled});
  uint8_t digest[kSha256Size] = {};
  if (status == Status::kOk) status = hash.Finish(digest);
  if (status == Status::kOk) __builtin_memcpy(check, digest, sizeof(check));
  return status;
}

Status EncodeDifference(Span<const float> held, Span<const float> wanted, int exponent,
                        MutableByteSpan out, size_t* size) {
  if (!IsGridExponent(exponent)) return Status::kInvalidArgument;
  if (!held.empty() && held.size() != wanted.size()) return Status::kInvalidArgument;
  Sink sink = {out};
  IntegerEncoder<kDifferenceDigits, Sink> encoder(&sink);
  bool is_all_zero = true;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!IsOnGrid(wanted[i], exponent)) return Status::kInvalidArgument;
    const int32_t base = held.empty() ? 0 : NearestGridUnits(held[i], exponent);
    const int32_t d = NearestGridUnits(wanted[i], exponent) - base;
    is_all_zero = is_all_zero && d == 0;
    encoder.Add(d);
  }
  encoder.Finish();
  const size_t result = is_all_zero ? 0 : sink.size;
  if (result > out.size()) return Status::kBufferTooSmall;
  *size = result;
  return Status::kOk;
}

Status DifferenceReader::Begin(int exponent, uint32_t size) {
  if (!IsGridExponent(exponent)) return Status::kInvalidArgument;
  position_ = 0;
  missing_ = size;
  exponent_ = static_cast<int8_t>(exponent);
  has_bytes_ = size != 0;
  has_begun_ = false;
  kept_size_ = 0;
  digits_ = {};
  return Status::kOk;
}

Status DifferenceReader::Feed(ByteSpan bytes, Span<const float> held, Span<float> model) {
  if (bytes.size() > missing_) return Status::kInvalidArgument;
  missing_ -= static_cast<uint32_t>(bytes.size());
  do {
    Keep(&bytes);
    const bool is_end = missing_ == 0 && bytes.empty();
    if (Status s = DecodeSome(is_end, held, model); s != Status::kOk) return s;
  } while (!bytes.empty());
  return Status::kOk;
}

// Moves as many bytes as there is room for, once those that are decoded are gone.
void DifferenceReader::Keep(ByteSpan* bytes) {
  const size_t read = has_begun_ ? decoder_.position() : 0;
  const size_t left = read < kept_size_ ? kept_size_ - read : 0;
  __builtin_memmove(kept_, kept_ + kept_size_ - left, left);
  const size_t room = sizeof(kept_) - left;
  const size_t count = bytes->size() < room ? bytes->size() : room;
  if (count != 0) __builtin_memcpy(kept_ + left, bytes->data(), count);
  *bytes = bytes->subspan(count);
  kept_size_ = static_cast<uint8_t>(left + count);
  decoder_.Continue({kept_, kept_size_});
}

Status DifferenceReader::DecodeSome(bool is_end, Span<const float> held, Span<float> model) {
  if (!has_begun_ && (is_end || kept_size_ >= kEnough)) {
    decoder_ = RangeDecoder({kept_, kept_size_});
    has_begun_ = true;
  }
  RangeDecoder decoder = decoder_;  // in registers, as far as there are
  uint32_t i = position_;
  for (; i < model.size() && (is_end || decoder.position() + kEnough <= kept_size_); ++i) {
    const int32_t d = has_bytes_ ? DecodeInteger(&decoder, &digits_) : 0;
    const int32_t base = held.empty() ? 0 : NearestGridUnits(held[i], exponent_);
    // No sum that wraps around comes so close to zero: |base| + |d| < 2^31 + 2^30.
    const uint32_t n = static_cast<uint32_t>(base) + static_cast<uint32_t>(d);
    constexpr auto kMost = static_cast<uint32_t>(kMostGridUnits);
    if (n + kMost > 2 * kMost) return Status::kMalformed;
    model[i] = GridParameter(static_cast<int32_t>(n), exponent_);
  }
  decoder_ = decoder;
  position_ = i;
  return i < model.size() || DropPadding() ? Status::kOk : Status::kMalformed;
}

// Of the bytes that nothing has read. False if one of them is not 0.
bool DifferenceReader::DropPadding() {
  const size_t read = has_begun_ ? decoder_.position() : 0;
  for (size_t i = read; i < kept_size_; ++i) {
    if (kept_[i] != 0) return false;
  }
  kept_size_ = 0;
  decoder_.Continue({});
  return true;
}

}  // namespace sotto
