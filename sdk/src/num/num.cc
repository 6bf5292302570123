#include "sotto/num.h"

#include "base/exact_arithmetic.h"

namespace sotto {
namespace {

constexpr uint32_t kInfinityBits = 0x7f800000;
constexpr uint32_t kNanBits = 0x7fc00000;

// ln 2 in two parts: the first has 16 bits, so its product with an exponent is exact.
constexpr float kLn2High = 0.693145751953125f;
constexpr float kLn2Low = 1.42860682031e-6f;

// 2^k for -126 <= k <= 127.
float PowerOfTwo(int32_t k) { return FloatFromBits(static_cast<uint32_t>(k + 127) << 23); }

}  // namespace

float Exp(float x) {
  if (x != x) return x;
  if (x < -87.0f) return 0.0f;
  if (x > 88.0f) return FloatFromBits(kInfinityBits);
  // x = k ln 2 + r with |r| <= ln(2)/2.
  const float scaled = x * 1.44269504f;
  const auto k = static_cast<int32_t>(scaled + (scaled < 0 ? -0.5f : 0.5f));
  const auto kf = static_cast<float>(k);
  const float r = (x - kf * kLn2High) - kf * kLn2Low;
  // (e^r - 1 - r) / r^2, interpolated at Chebyshev nodes: relative error of e^r below 2^-26.
  float p = 0.0013926926614f;
  p = p * r + 0.00836377387441f;
  p = p * r + 0.0416665501103f;
  p = p * r + 0.166665733819f;
  p = p * r + 0.5f;
  const float e = (p * (r * r) + r) + 1.0f;
  // k may be 127 with e > 1: two factors keep 2^k in range.
  return e * PowerOfTwo(k / 2) * PowerOfTwo(k - k / 2);
}

float Log(float x) {
  if (x != x || x < 0.0f) return FloatFromBits(kNanBits);
  const uint32_t bits = FloatBits(x);
  if (bits == kInfinityBits) return x;
  if (bits < 0x00800000) return FloatFromBits(0xff800000);
  // x = 2^k m with m in [sqrt(1/2), sqrt(2)).
  int32_t k = static_cast<int32_t>(bits >> 23) - 127;
  float m = FloatFromBits((bits & 0x007fffff) | 0x3f800000);
  if (m > 1.41421356f) {
    m *= 0.5f;
    ++k;
  }
  // log m = 2 atanh(s) = 2s + s^3 Q(s^2), s = (m - 1)/(m + 1): relative error below 2^-28.
  const float s = (m - 1.0f) / (m + 1.0f);
  const float z = s * s;
  float q = 0.29582023562f;
  q = q * z + 0.399887348202f;
  q = q * z + 0.666666851515f;
  const float log_m = (s + s) + (s * z) * q;
  const auto kf = static_cast<float>(k);
  return kf * kLn2High + (log_m + kf * kLn2Low);
}

float HyperbolicTangent(float x) {
  const float magnitude = x < 0.0f ? -x : x;
  if (magnitude < 0.55f) {
    // (tanh x - x) / x^3 in x^2, interpolated at Chebyshev nodes: relative error of tanh below
    // 2^-28.
    const float z = x * x;
    float p = -0.00661022783111f;
    p = p * z + 0.0213093886644f;
    p = p * z - 0.0539094288275f;
    p = p * z + 0.13333113729f;
    p = p * z - 0.33333332008f;
    return x + (x * z) * p;
  }
  const float y = 1.0f - 2.0f / (Exp(magnitude + magnitude) + 1.0f);
  return x < 0.0f ? -y : y;
}

float Logistic(float x) {
  if (x < 0.0f) {
    const float e = Exp(x);
    return e / (1.0f + e);
  }
  return 1.0f / (1.0f + Exp(-x));
}

bool IsProductAtLeast(uint64_t a, float x, uint64_t b, float y) {
  const FloatParts px = SplitFloat(x);
  const FloatParts py = SplitFloat(y);
  const uint64_t left = a * px.mantissa;
  const uint64_t right = b * py.mantissa;
  // left * 2^shift >= right. Both are below 2^64.
  const int32_t shift = px.exponent - py.exponent;
  if (left == 0 || right == 0) return right == 0;
  if (shift >= 0) return shift > 63 || ((right - 1) >> shift) < left;
  return shift > -64 && (left >> -shift) >= right;
}

Division Divide(uint64_t a, uint64_t b) {
  if (a < b) return {0, a};
  int shift = CountLeadingZeros(b) - CountLeadingZeros(a);
  b <<= shift;
  uint64_t quotient = 0;
  for (; shift >= 0; --shift) {
    quotient <<= 1;
    if (a >= b) {
      a -= b;
      quotient |= 1;
    }
    b >>= 1;
  }
  return {quotient, a};
}

uint32_t IntegerSqrt(uint64_t n) {
  uint64_t root = 0;
  for (uint64_t bit = uint64_t{1} << 62; bit != 0; bit >>= 2) {
    const uint64_t trial = root + bit;
    root >>= 1;
    if (n >= trial) {
      n -= trial;
      root += bit;
    }
  }
  return static_cast<uint32_t>(root);
}

}  // namespace sotto
