#include "sotto/update_scale.h"

#include "base/exact_arithmetic.h"
#include "sotto/bytes.h"
#include "sotto/num.h"
#include "sotto/quantizer.h"

namespace sotto {
namespace {

constexpr int32_t kInfinityExponent = 255;

// |value| as an integer multiple of 2^(max_exponent - 156), rounded toward zero; below 2^30.
constexpr int kGuardBits = 6;
uint32_t Align(float value, int32_t max_exponent) {
  const FloatParts parts = SplitFloat(value);
  const int32_t distance = max_exponent - parts.exponent;
  return distance > 31 ? 0 : (parts.mantissa << kGuardBits) >> distance;
}

// The positive factor multiplier / 2^shift, multiplier in [2^31, 2^32).
struct Factor {
  uint32_t multiplier;
  int32_t shift;
};

// value / 2^shift, rounded down. value > 0.
Factor Normalise(uint64_t value, int32_t shift) {
  const int zeros = CountLeadingZeros(value);
  return {static_cast<uint32_t>((value << zeros) >> 32), shift + zeros - 32};
}

bool IsSmaller(const Factor& a, const Factor& b) {
  return a.shift > b.shift || (a.shift == b.shift && a.multiplier < b.multiplier);
}

// 2^20 / quantizer_scale in units of the alignment.
Factor UnclippedFactor(float quantizer_scale, int32_t max_exponent) {
  const FloatParts q = SplitFloat(quantizer_scale);
  return Normalise(Divide(uint64_t{1} << 63, q.mantissa).quotient, q.exponent - max_exponent + 49);
}

// At most (clip * 2^20 / quantizer_scale) / norm, rounded down; norm is rounded up.
Factor ClippingFactor(float clip_l2, float quantizer_scale, uint64_t norm_mantissa,
                      int norm_exponent) {
  const FloatParts c = SplitFloat(clip_l2);
  const FloatParts q = SplitFloat(quantizer_scale);
  // Below 2^40.
  const uint64_t ratio = Divide(static_cast<uint64_t>(c.mantissa) << 39, q.mantissa).quotient;
  return Normalise(Divide(ratio << 24, norm_mantissa).quotient,
                   q.exponent - c.exponent + 43 + norm_exponent);
}

uint64_t CeilSqrt(uint64_t n) {
  const uint64_t root = IntegerSqrt(n);
  return root * root < n ? root + 1 : root;
}

// An upper bound of sqrt(n), n > 0, as mantissa * 2^exponent; above it by at most 2^-29 of its
// value when n >= 2^60.
void SqrtUp(Wide n, uint64_t* mantissa, int* exponent) {
  *exponent = 0;
  bool lost = false;
  while (n.high != 0) {
    lost = lost || (n.low & 3) != 0;
    n.low = n.low >> 2 | n.high << 62;
    n.high >>= 2;
    ++*exponent;
  }
  // The shifts lost less than one unit of n.low, so less than one unit of its root.
  *mantissa = CeilSqrt(n.low) + (lost ? 1 : 0);
}

// The root mean square, from the norm of `count` coordinates. The norm is below 2^43.
uint32_t RootMeanSquare(uint64_t norm_mantissa, int norm_exponent, size_t count) {
  const uint64_t root_q16 = IntegerSqrt(static_cast<uint64_t>(count) << 32);
  return static_cast<uint32_t>(Divide(norm_mantissa << (norm_exponent + 16), root_q16).quotient);
}

Status LargestExponent(Span<const float> update, int32_t* max_exponent) {
  // The bits of floats without a sign have the same order as the floats.
  int32_t largest = 1 << 23;
  for (const float value : update) {
    const auto magnitude = static_cast<int32_t>(FloatBits(value) & 0x7fffffff);
    largest = magnitude > largest ? magnitude : largest;
  }
  if (largest >> 23 == kInfinityExponent) return Status::kNotFinite;
  *max_exponent = largest >> 23;
  return Status::kOk;
}

// |v|, rounded down and in the box. The product is below 2^62.
int32_t Apply(uint32_t aligned, const UpdateScale& scale) {
  if (scale.shift > 63) return 0;
  const uint64_t v = (static_cast<uint64_t>(aligned) * scale.multiplier) >> scale.shift;
  return v < kMaxValueQ20 ? static_cast<int32_t>(v) : kMaxValueQ20;
}

}  // namespace

Status ComputeUpdateScale(Span<const float> update, float clip_l2, float quantizer_scale,
                          UpdateScale* scale) {
  if (update.empty() || update.size() > kMaxParameters) return Status::kInvalidArgument;
  if (!IsPositiveNormal(clip_l2) || !IsPositiveNormal(quantizer_scale))
    return Status::kInvalidArgument;
  // Multiplication by a power of two is exact or overflows to infinity. The comparison is right in
  // both cases.
  if (clip_l2 > quantizer_scale * kMaxClipInScales) return Status::kInvalidArgument;
  UpdateScale result;
  if (Status s = LargestExponent(update, &result.max_exponent); s != Status::kOk) return s;

  Wide sum_of_squares;
  uint32_t largest = 0;
  for (const float value : update) {
    const uint64_t aligned = Align(value, result.max_exponent);
    sum_of_squares.Add(aligned * aligned);
    if (aligned > largest) largest = static_cast<uint32_t>(aligned);
  }
  if (largest != 0) {
    uint64_t norm = 0;
    int norm_exponent = 0;
    SqrtUp(sum_of_squares, &norm, &norm_exponent);
    const Factor clipping = ClippingFactor(clip_l2, quantizer_scale, norm, norm_exponent);
    Factor factor = UnclippedFactor(quantizer_scale, result.max_exponent);
    result.clipped = IsSmaller(clipping, factor);
    if (result.clipped) factor = clipping;
    result.multiplier = factor.multiplier;
    // The factor takes a value of 2^29 or more to at most 2^40, so its shift is at least 20.
    result.shift = static_cast<uint32_t>(factor.shift);
    result.max_value_q20 = Apply(largest, result);
    const uint32_t rms = RootMeanSquare(norm, norm_exponent, update.size());
    result.rms_q20 = Apply(rms < largest ? rms : largest, result);
  }
  *scale = result;
  return Status::kOk;
}

int32_t ScaleToQ20(float value, const UpdateScale& scale) {
  const int32_t magnitude = Apply(Align(value, scale.max_exponent), scale);
  return FloatBits(value) >> 31 != 0 ? -magnitude : magnitude;
}

void ScaleAllToQ20(Span<const float> values, const UpdateScale& scale, Span<int32_t> v_q20) {
  const UpdateScale copy = scale;  // a copy cannot overlap with v_q20
  for (size_t i = 0; i < values.size(); ++i) v_q20[i] = ScaleToQ20(values[i], copy);
}

}  // namespace sotto
