#include "sotto/fixed.h"

#include "base/exact_arithmetic.h"
#include "sotto/num.h"

namespace sotto {
namespace {

// Coefficients of polynomials are in units of 2^-30, lowest power first.

// (2^f - 1) / f on [0, 1): relative error of 2^f below 2^-34 (minimax).
constexpr int32_t kPowerOfTwo[] = {744261122, 257941138, 59598065, 10323258,
                                   1440856,   154374,    23011};

// log(1 + t) / t on [0, 1): error of the logarithm below 2^-27 (minimax).
constexpr int32_t kLogarithm[] = {1073741258, -536843593, 357481329, -265092841, 199856654,
                                  -137014457, 73811820,   -25977425, 4298379};

constexpr int64_t kLog2OfEQ30 = 1549082005;
constexpr int64_t kLn2Q30 = 744261118;

// x * polynomial(x) in units of 2^-30, for x in [0, 1) in units of 2^-31. Every partial sum fits
// into 32 bits, because the coefficients alternate in sign or fall.
template <size_t n>
int32_t TimesPolynomial(const int32_t (&coefficients)[n], int32_t x_q31) {
  int32_t sum = coefficients[n - 1];
  for (size_t i = n - 1; i-- > 0;) {
    sum = coefficients[i] + static_cast<int32_t>((int64_t{sum} * x_q31) >> 31);
  }
  return static_cast<int32_t>(RoundingShift(int64_t{sum} * x_q31, 31));
}

}  // namespace

uint64_t FloorScaled(float value, int fraction_bits) {
  const uint32_t bits = FloatBits(value);
  const auto exponent = static_cast<int32_t>((bits >> 23) & 0xff);
  if (exponent == 0) return 0;  // below 2^-126, or zero
  const uint64_t mantissa = (bits & 0x007fffff) | 0x00800000;
  const int32_t shift = exponent - 150 + fraction_bits;
  if (shift > 39) return INT64_MAX;
  if (shift < -23) return 0;
  return shift >= 0 ? mantissa << shift : mantissa >> -shift;
}

Fixed<32, 30> Exp(Fixed<32, 20> x) {
  // e^x = 2^y = 2^k 2^f with y = x log2(e), k whole and f in [0, 1).
  const int64_t y_q50 = x.raw() * kLog2OfEQ30;
  const auto k = static_cast<int32_t>(y_q50 >> 50);
  if (k < -32) return {};
  const auto f_q31 = static_cast<int32_t>((y_q50 >> 19) & INT32_MAX);
  const int64_t power_q30 = (int64_t{1} << 30) + TimesPolynomial(kPowerOfTwo, f_q31);
  return Fixed<32, 30>::FromRaw(RoundingShift(power_q30 << 1, 1 - k));
}

Fixed<32, 24> LogOfSum(uint64_t x) {
  // x = 2^k (1 + t).
  const int zeros = CountLeadingZeros(x);
  const auto t_q31 = static_cast<int32_t>(((x << zeros) >> 32) & INT32_MAX);
  const int64_t whole_q30 = (33 - zeros) * kLn2Q30;
  return Fixed<32, 24>::Round<30>(whole_q30 + TimesPolynomial(kLogarithm, t_q31));
}

}  // namespace sotto
