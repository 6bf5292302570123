// Fixed-point numbers, for cores without a floating-point unit. Part of sotto/num.
//
// A format is a type: Fixed<31, 24> is a signed integer of 31 bits in units of 2^-24, so its range
// is -64 to 64 - 2^-24. All arithmetic is on integers, conversion from float included, so every CPU
// gets the same bits. A result out of range saturates to the nearest number in range. A result
// between two numbers is rounded to the nearest, ties upwards if not said otherwise. Pure
// functions, safe in any thread or interrupt.
#pragma once

#include <cstdint>

#include "sotto/bytes.h"

namespace sotto {

// value / 2^shift to the nearest integer, ties upwards. 1 <= shift <= 63.
constexpr int64_t RoundingShift(int64_t value, int shift) {
  return ((value >> (shift - 1)) + 1) >> 1;
}

// The number raw() / 2^fraction_bits. raw() has `bits` bits, its sign included.
template <int bits, int fraction_bits>
class Fixed {
  static_assert(bits >= 2 && bits <= 32, "a number fits into 32 bits");
  static_assert(fraction_bits >= 0 && fraction_bits <= 32, "from 2^-32 to 1, the unit");

 public:
  static constexpr int kBits = bits;
  static constexpr int kFractionBits = fraction_bits;
  static constexpr int32_t kMaxRaw = static_cast<int32_t>((int64_t{1} << (bits - 1)) - 1);
  static constexpr int32_t kMinRaw = -kMaxRaw - 1;

  constexpr Fixed() = default;

  // raw / 2^fraction_bits, saturated.
  static constexpr Fixed FromRaw(int64_t raw) {
    Fixed result;
    result.raw_ = static_cast<int32_t>(raw > kMaxRaw ? kMaxRaw : raw < kMinRaw ? kMinRaw : raw);
    return result;
  }

  // The same for a raw number of 32 bits: one instruction on a Cortex-M.
  static constexpr Fixed FromRaw(int32_t raw) {
    Fixed result;
    result.raw_ = raw > kMaxRaw ? kMaxRaw : raw < kMinRaw ? kMinRaw : raw;
    return result;
  }

  // raw / 2^raw_fraction_bits, rounded and saturated. raw_fraction_bits > fraction_bits.
  template <int raw_fraction_bits>
  static constexpr Fixed Round(int64_t raw) {
    static_assert(raw_fraction_bits > fraction_bits, "there is something to round");
    return FromRaw(RoundingShift(raw, raw_fraction_bits - fraction_bits));
  }

  // `value` rounded, ties away from zero, and saturated; infinities saturate, too. Not for NaN.
  static Fixed FromFloat(float value) {
    const uint32_t float_bits = FloatBits(value);
    const auto exponent = static_cast<int32_t>((float_bits >> 23) & 0xff);
    // |value| is the mantissa with its leading bit at bit 31, over 2^(shift + 1), in units of
    // 2^-fraction_bits.
    const uint32_t mantissa = float_bits << 8 | 0x80000000;
    const int32_t shift = 157 - fraction_bits - exponent;
    int32_t magnitude = 0;
    if (static_cast<uint32_t>(shift) <= 31) {
      const uint32_t rounded = ((mantissa >> shift) + 1) >> 1;
      magnitude = rounded > INT32_MAX ? INT32_MAX : static_cast<int32_t>(rounded);
    } else if (shift < 0) {
      return FromRaw(float_bits >> 31 != 0 ? INT64_MIN : INT64_MAX);
    }
    return FromRaw(float_bits >> 31 != 0 ? -magnitude : magnitude);
  }

  // The nearest float32, ties to even. Exact if raw() has at most 24 significant bits.
  float ToFloat() const {
    return static_cast<float>(raw_) * (1.0f / static_cast<float>(int64_t{1} << fraction_bits));
  }

  constexpr int32_t raw() const { return raw_; }

  friend constexpr Fixed operator+(Fixed a, Fixed b) { return FromRaw(int64_t{a.raw_} + b.raw_); }
  friend constexpr Fixed operator-(Fixed a, Fixed b) { return FromRaw(int64_t{a.raw_} - b.raw_); }
  friend constexpr bool operator==(Fixed a, Fixed b) { return a.raw_ == b.raw_; }
  friend constexpr bool operator<(Fixed a, Fixed b) { return a.raw_ < b.raw_; }

 private:
  int32_t raw_ = 0;
};

// a * b: the exact product, rounded once, then saturated.
template <class Result, int a_bits, int a_fraction, int b_bits, int b_fraction>
constexpr Result Multiply(Fixed<a_bits, a_fraction> a, Fixed<b_bits, b_fraction> b) {
  return Result::template Round<a_fraction + b_fraction>(int64_t{a.raw()} * b.raw());
}

// floor(value * 2^fraction_bits), saturated at 2^63 - 1. value >= 0, not NaN;
// 0 <= fraction_bits <= 127.
uint64_t FloorScaled(float value, int fraction_bits);

// e^x, for x <= 0. Error at most 2^-28; Exp(0) is 1.
Fixed<32, 30> Exp(Fixed<32, 20> x);

// The natural logarithm of x / 2^30, for x >= 2^30. x is a sum of raw results of Exp(). Error at
// most 2^-23.
Fixed<32, 24> LogOfSum(uint64_t x);

}  // namespace sotto
