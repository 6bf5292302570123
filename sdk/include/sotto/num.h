// Small functions that give the same bits on every CPU. Part of sotto/num.
//
// C libraries' exp and log differ in the last place, so the SDK has its own: IEEE 754 binary32
// additions, multiplications and divisions in a fixed order, compiled without fused multiply-add.
// Pure functions, safe in any thread or interrupt.
#pragma once

#include <cstdint>

#include "sotto/bytes.h"

namespace sotto {

// e^x. Error at most 2 units in the last place for -87 <= x <= 88; 0 below, +infinity above.
// NaN gives NaN.
float Exp(float x);

// Natural logarithm. Error at most 2 units in the last place, and at most 1e-7 absolute near 1, for
// normal x > 0. x = 0 or subnormal gives -infinity; x < 0 or NaN gives NaN; +infinity gives itself.
float Log(float x);

// Hyperbolic tangent. Error at most 2 units in the last place. NaN gives NaN.
float HyperbolicTangent(float x);

// 1 / (1 + e^-x). Error at most 3 units in the last place for x >= -87; 0 below. NaN gives NaN.
float Logistic(float x);

// floor(sqrt(n)).
uint32_t IntegerSqrt(uint64_t n);

// Neither NaN nor infinite.
inline bool IsFinite(float x) { return (FloatBits(x) & 0x7f800000) != 0x7f800000; }

// Above zero, finite, and not subnormal.
inline bool IsPositiveNormal(float x) {
  const uint32_t bits = FloatBits(x);
  return bits >= 0x00800000 && bits < 0x7f800000;
}

// |x| = mantissa * 2^(exponent - 150), mantissa below 2^24, exponent >= 1. x is finite.
struct FloatParts {
  uint32_t mantissa;
  int32_t exponent;
};
inline FloatParts SplitFloat(float x) {
  const uint32_t bits = FloatBits(x);
  const auto exponent = static_cast<int32_t>((bits >> 23) & 0xff);
  const uint32_t fraction = bits & 0x007fffff;
  if (exponent == 0) return {fraction, 1};  // zero or subnormal
  return {fraction | 0x00800000, exponent};
}

// Whether a * x >= b * y, without rounding. a, b < 2^40; x and y finite and not negative.
bool IsProductAtLeast(uint64_t a, float x, uint64_t b, float y);

// a = quotient * b + remainder, 0 <= remainder < b.
struct Division {
  uint64_t quotient;
  uint64_t remainder;
};

// b > 0. Takes as many steps as the quotient has bits. It replaces the operator / where quotients
// are small or divisions are rare: a Cortex-M has no instruction for 64-bit division, and the
// compiler's library function takes 1 kB of code.
Division Divide(uint64_t a, uint64_t b);

// Leading zero bits of a nonzero integer.
constexpr int CountLeadingZeros(uint32_t n) { return __builtin_clz(n); }
constexpr int CountLeadingZeros(uint64_t n) { return __builtin_clzll(n); }

// An unsigned integer of 128 bits, for sums that 64 bits cannot hold. Cortex-M has no such type.
struct Wide {
  uint64_t high = 0;
  uint64_t low = 0;

  void Add(uint64_t value) {
    low += value;
    high += low < value ? 1 : 0;
  }
  bool IsBelow(const Wide& other) const {
    return high != other.high ? high < other.high : low < other.low;
  }
};

}  // namespace sotto
