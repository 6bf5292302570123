// Fixed-point formats, against exact arithmetic.
#include "sotto/fixed.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

#include "unit/trials.h"

namespace sotto {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// From -8 to 7.9375 in sixteenths: small enough to try everything.
using Small = Fixed<8, 4>;

std::vector<Small> AllSmall() {
  std::vector<Small> all;
  for (int32_t raw = Small::kMinRaw; raw <= Small::kMaxRaw; ++raw) {
    all.push_back(Small::FromRaw(raw));
  }
  return all;
}

double Value(Small x) { return x.raw() / 16.0; }

// The nearest number of `Small`, ties upwards, saturated.
double Nearest(double x) {
  return std::min(std::max(std::floor(x * 16 + 0.5), -128.0), 127.0) / 16;
}

TEST(Fixed, SumsAndDifferencesAreExactOrSaturated) {
  for (const Small a : AllSmall()) {
    for (const Small b : AllSmall()) {
      EXPECT_EQ(Value(a + b), Nearest(Value(a) + Value(b)));
      EXPECT_EQ(Value(a - b), Nearest(Value(a) - Value(b)));
      EXPECT_EQ(a < b, Value(a) < Value(b));
    }
  }
}

TEST(Fixed, ProductsAreRoundedOnceAndSaturated) {
  for (const Small a : AllSmall()) {
    for (const Small b : AllSmall()) {
      EXPECT_EQ(Value(Multiply<Small>(a, b)), Nearest(Value(a) * Value(b)));
    }
  }
}

TEST(Fixed, RoundGoesToTheNearestAndUpwardsOnATie) {
  for (int64_t raw = -5000; raw <= 5000; ++raw) {
    const double exact = static_cast<double>(raw) / 128;
    EXPECT_EQ(Value(Small::Round<7>(raw)), Nearest(exact)) << raw;
  }
}

TEST(Fixed, ConversionFromFloatRoundsToTheNearestAndAwayFromZeroOnATie) {
  // In steps of an eighth of a unit, past both ends.
  for (int n = -2000; n <= 2000; ++n) {
    const float x = static_cast<float>(n) / 128;
    const double away = std::copysign(std::floor(std::fabs(x) * 16 + 0.5), x);
    const double expected = std::min(std::max(away, -128.0), 127.0) / 16;
    EXPECT_EQ(Value(Small::FromFloat(x)), expected) << x;
  }
}

// Against double arithmetic, in which scaling by a power of two is exact.
template <class Number>
void ExpectConversionsOfAllMagnitudes() {
  std::mt19937 random(11);
  const double unit = std::ldexp(1.0, -Number::kFractionBits);
  for (int i = 0; i < 300000; ++i) {
    const float x = FloatFromBits(static_cast<uint32_t>(random()));
    if (std::isnan(x)) continue;
    const double units = std::copysign(std::floor(std::fabs(double{x}) / unit + 0.5), x);
    const double expected =
        std::min<double>(std::max<double>(units, Number::kMinRaw), Number::kMaxRaw);
    ASSERT_EQ(Number::FromFloat(x).raw(), expected) << x;
  }
}

TEST(Fixed, ConversionFromFloatServesEveryMagnitude) {
  ExpectConversionsOfAllMagnitudes<Fixed<31, 24>>();
  ExpectConversionsOfAllMagnitudes<Fixed<32, 28>>();
  ExpectConversionsOfAllMagnitudes<Fixed<32, 31>>();
  ExpectConversionsOfAllMagnitudes<Fixed<20, 16>>();
  ExpectConversionsOfAllMagnitudes<Fixed<2, 0>>();
}

TEST(Fixed, ConversionFromFloatSaturatesAtTheEnds) {
  using Weight = Fixed<31, 24>;
  EXPECT_EQ(Weight::FromFloat(63.99999f).raw(), (1 << 30) - 64 * 3);
  EXPECT_EQ(Weight::FromFloat(64.0f).raw(), Weight::kMaxRaw);
  EXPECT_EQ(Weight::FromFloat(-64.0f).raw(), Weight::kMinRaw);
  EXPECT_EQ(Weight::FromFloat(kInfinity).raw(), Weight::kMaxRaw);
  EXPECT_EQ(Weight::FromFloat(-kInfinity).raw(), Weight::kMinRaw);
  EXPECT_EQ(Weight::FromFloat(-0.0f).raw(), 0);
  EXPECT_EQ(Weight::FromFloat(std::numeric_limits<float>::denorm_min()).raw(), 0);
}

TEST(Fixed, ConversionToFloatIsCorrectlyRoundedAndReturns) {
  using Weight = Fixed<31, 24>;
  std::mt19937 random(12);
  for (int i = 0; i < 100000; ++i) {
    const int64_t raw = static_cast<int32_t>(random()) >> (random() % 31);
    const Weight w = Weight::FromRaw(raw);
    EXPECT_EQ(w.ToFloat(), static_cast<float>(std::ldexp(double{1} * w.raw(), -24)));
    if (std::abs(w.raw()) < 1 << 24) {
      EXPECT_EQ(Weight::FromFloat(w.ToFloat()), w);
    }
  }
}

TEST(FloorScaled, IsTheFloorAndSaturates) {
  EXPECT_EQ(FloorScaled(0.4f, 24), static_cast<uint64_t>(std::floor(std::ldexp(0.4f, 24))));
  EXPECT_EQ(FloorScaled(0.4f, 60), static_cast<uint64_t>(std::ldexp(0.4f, 60)));
  EXPECT_EQ(FloorScaled(2.99f, 0), 2u);
  EXPECT_EQ(FloorScaled(1e-30f, 24), 0u);
  EXPECT_EQ(FloorScaled(1e-44f, 127), 0u);
  EXPECT_EQ(FloorScaled(0.0f, 127), 0u);
  EXPECT_EQ(FloorScaled(1e30f, 24), static_cast<uint64_t>(INT64_MAX));
  EXPECT_EQ(FloorScaled(kInfinity, 0), static_cast<uint64_t>(INT64_MAX));
}

// All 2^25 arguments from -32 to 0 (with few trials some of them); below, the result is zero.
TEST(FixedExp, StaysWithinItsBoundForEveryArgument) {
  double worst = 0;
  int32_t previous = 0;
  bool falls = false;
  for (int32_t raw = -(32 << 20); raw <= 0; raw += kEveryTrial) {
    const int32_t y = Exp(Fixed<32, 20>::FromRaw(raw)).raw();
    worst = std::max(worst, std::fabs(std::ldexp(y, -30) - std::exp(std::ldexp(raw, -20))));
    falls = falls || y < previous;
    previous = y;
  }
  EXPECT_LE(worst, std::ldexp(1.0, -28));
  EXPECT_FALSE(falls) << "Exp() is monotone";
}

TEST(FixedExp, HandlesTheEnds) {
  EXPECT_EQ(Exp(Fixed<32, 20>()).raw(), 1 << 30);
  EXPECT_EQ(Exp(Fixed<32, 20>::FromRaw(Fixed<32, 20>::kMinRaw)).raw(), 0);
}

TEST(FixedLog, StaysWithinItsBoundOverItsRange) {
  double worst = 0;
  for (int k = 30; k < 63; ++k) {
    for (int step = 0; step < 20000; ++step) {
      const uint64_t x = (uint64_t{1} << k) + (static_cast<uint64_t>(step) << k) / 20000;
      const double exact = std::log(std::ldexp(static_cast<double>(x), -30));
      worst = std::max(worst, std::fabs(std::ldexp(LogOfSum(x).raw(), -24) - exact));
    }
  }
  EXPECT_LE(worst, std::ldexp(1.0, -23));
  EXPECT_EQ(LogOfSum(uint64_t{1} << 30).raw(), 0);
}

}  // namespace
}  // namespace sotto
