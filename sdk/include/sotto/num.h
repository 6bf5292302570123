// Small functions that give the same bits on every CPU. Part of sotto/num.
//
// libm differs between C libraries in the last place, so the SDK has its own exp and log: IEEE 754
// binary32 additions, multiplications and divisions in a fixed order, compiled without fused
// multiply-add. Pure functions, safe in any thread or interrupt.
#ifndef SOTTO_NUM_H_
#define SOTTO_NUM_H_

#include <cstdint>

namespace sotto {

// e^x. Error at most 2 units in the last place for -87 <= x <= 88; 0 below, +infinity above.
// NaN gives NaN.
float Exp(float x);

// Natural logarithm. Error at most 2 units in the last place, and at most 1e-7 absolute near 1, for
// normal x > 0. x = 0 or subnormal gives -infinity; x < 0 or NaN gives NaN; +infinity gives itself.
float Log(float x);

// floor(sqrt(n)).
uint32_t IntegerSqrt(uint64_t n);

// Whether a * x >= b * y, without rounding. a, b < 2^40; x and y finite and not negative.
bool IsProductAtLeast(uint64_t a, float x, uint64_t b, float y);

// The largest integer not above a / b. b > 0.
constexpr int64_t FloorDivide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return quotient - (a % b < 0 ? 1 : 0);
}

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
};

}  // namespace sotto

#endif  // SOTTO_NUM_H_
