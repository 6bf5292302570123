// The vector kernels of training in fixed point. Part of sotto/nn; private to the SDK.
//
// Numbers are stored in the memory of floats, as the bits of their raw integers. Sums are exact, so
// their order does not matter. Pure functions, safe in any thread; the caller owns the arrays,
// n >= 1.
#pragma once

#include <cstddef>

#include "base/exact_arithmetic.h"
#include "sotto/fixed.h"
#include "sotto/num.h"
#include "sotto/span.h"

namespace sotto::nn {

// Below 64 in magnitude, in units of 6e-8. One bit short of 32, so that a sum of two fits.
using Weight = Fixed<31, 24>;
// Features, below 8 in magnitude. For the scores they have few bits, so sums of products fit into
// 64 bits.
using Feature = Fixed<20, 16>;
// For the update they have so many bits that the upper word of a product is in the weights' units.
using FineFeature = Fixed<32, 28>;
using Score = Fixed<32, 20>;
// Error of one class: softmax - one-hot.
using Error = Fixed<32, 30>;
// Minus the learning rate divided by the batch size, or this rate times an error.
using Rate = Fixed<32, 28>;
// The distance of two weights.
using Offset = Fixed<32, Weight::kFractionBits>;

// The most inputs of a layer. A score is the sum of at most so many products and a bias.
constexpr size_t kMaxFixedInputs = size_t{1} << 13;
static_assert(Weight::kBits - 1 + Feature::kBits - 1 + 13 < 63,
              "sums of products fit into 64 bits");
static_assert(Rate::kFractionBits + FineFeature::kFractionBits - 32 == Weight::kFractionBits,
              "the upper word of rate * feature is in the weights' units");

inline int32_t LoadRaw(const float* p) {
  int32_t raw = 0;
  __builtin_memcpy(&raw, p, sizeof(raw));
  return raw;
}

inline void StoreRaw(int32_t raw, float* p) { __builtin_memcpy(p, &raw, sizeof(raw)); }

// The nearest Number to each of n floats, in place. False if one is not finite; p is then
// unspecified.
template <class Number>
bool ConvertFromFloats(size_t n, float* p) {
  uint32_t beyond = 0;  // its highest bit is set by a float whose exponent is all ones
  for (size_t i = 0; i < n; ++i) {
    beyond |= (FloatBits(p[i]) & 0x7fffffff) + 0x00800000;
    StoreRaw(Number::FromFloat(p[i]).raw(), p + i);
  }
  return beyond >> 31 == 0;
}

// The same. *saturated is set if a float is as large as the format's range.
template <class Number>
bool ConvertFromFloats(size_t n, float* p, bool* saturated) {
  constexpr uint32_t kInfinity = 0x7f800000;
  constexpr uint32_t kLimit = (127u + Number::kBits - 1 - Number::kFractionBits) << 23;
  uint32_t infinite = 0;  // the highest bits are set by floats of such size
  uint32_t beyond = 0;
  for (size_t i = 0; i < n; ++i) {
    const uint32_t magnitude = FloatBits(p[i]) & 0x7fffffff;
    infinite |= magnitude + (0x80000000 - kInfinity);
    beyond |= magnitude + (0x80000000 - kLimit);
    StoreRaw(Number::FromFloat(p[i]).raw(), p + i);
  }
  *saturated |= beyond >> 31 != 0;
  return infinite >> 31 == 0;
}

// y[o] = bias[o] + sum_i weights[o * n + i] * x[i] for o < outputs, n <= kMaxFixedInputs.
//   weights, bias  Weight
//   x              Feature
//   y              Score
void FixedDenseForward(const float* weights, const float* bias, const float* x, size_t n,
                       size_t outputs, float* y);

// y += scale * x. Returns whether a y was out of range.
//   x  FineFeature
//   y  Weight
bool FixedAddScaled(Rate scale, const float* x, size_t n, float* y);

// Scores to errors in place: Score to Error. Returns the loss in units of 2^-24.
int64_t FixedSoftmaxErrors(Span<float> scores, uint32_t label);

// y += scale, for one Weight. Returns whether y was out of range.
bool FixedAdd(Rate scale, float* y);

// y *= scale, Weight.
void FixedScale(Error scale, size_t n, float* y);

// The sum of (y[i] - center[i])^2 in units of 2^-48.
//   center  float32, below 64 in magnitude, each taken as the nearest Weight
//   y       Weight
Wide FixedSquaredDistance(const float* center, const float* y, size_t n);

// y = center + ratio * (y - center), for 0 <= ratio < 1; center and y as in FixedSquaredDistance().
void FixedPullTowards(const float* center, Fixed<32, 31> ratio, size_t n, float* y);

}  // namespace sotto::nn
