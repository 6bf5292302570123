#include "sotto/num.h"

#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <random>

#include "sotto/bytes.h"

namespace sotto {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The distance of `value` from the exact result, in units in the last place of the latter.
double UlpError(float value, double exact) {
  const float rounded = static_cast<float>(exact);
  const double ulp = std::nextafter(std::fabs(rounded), kInfinity) - std::fabs(rounded);
  return std::fabs(value - exact) / ulp;
}

TEST(Exp, StaysWithinTwoUlp) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-87.0f, 88.0f);
  double worst = 0;
  for (int i = 0; i < 1000000; ++i) {
    const float x = uniform(random);
    worst = std::max(worst, UlpError(Exp(x), std::exp(static_cast<double>(x))));
  }
  EXPECT_LE(worst, 2.0);
}

TEST(Exp, HandlesTheEnds) {
  EXPECT_EQ(Exp(0.0f), 1.0f);
  EXPECT_EQ(Exp(-1000.0f), 0.0f);
  EXPECT_EQ(Exp(-kInfinity), 0.0f);
  EXPECT_EQ(Exp(1000.0f), kInfinity);
  EXPECT_TRUE(std::isnan(Exp(kNan)));
  EXPECT_GT(Exp(88.0f), 1e38f);
  EXPECT_LT(Exp(88.0f), kInfinity);
}

TEST(Log, StaysWithinTwoUlpAwayFromOne) {
  std::mt19937 random(2);
  std::uniform_int_distribution<uint32_t> bits(0x00800000, 0x7f7fffff);
  double worst = 0;
  double worst_near_one = 0;
  for (int i = 0; i < 1000000; ++i) {
    const float x = FloatFromBits(bits(random));
    worst = std::max(worst, UlpError(Log(x), std::log(static_cast<double>(x))));
    const float y = 0.9f + 0.2f * static_cast<float>(i) * 1e-6f;
    worst_near_one = std::max(worst_near_one, std::fabs(Log(y) - std::log(static_cast<double>(y))));
  }
  EXPECT_LE(worst, 2.0);
  EXPECT_LE(worst_near_one, 1e-7);
}

TEST(Log, HandlesTheEnds) {
  EXPECT_EQ(Log(1.0f), 0.0f);
  EXPECT_EQ(Log(0.0f), -kInfinity);
  EXPECT_EQ(Log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(Log(-1.0f)));
  EXPECT_TRUE(std::isnan(Log(kNan)));
}

TEST(IntegerSqrt, IsTheFloor) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100000; ++i) {
    const uint64_t n = random() >> (random() % 64);
    const uint64_t root = IntegerSqrt(n);
    EXPECT_LE(root * root, n);
    if (root < 0xffffffffu) {
      EXPECT_GT((root + 1) * (root + 1), n);
    }
  }
  EXPECT_EQ(IntegerSqrt(0), 0u);
  EXPECT_EQ(IntegerSqrt(UINT64_MAX), 0xffffffffu);
  EXPECT_EQ(IntegerSqrt(uint64_t{0xffffffff} * 0xffffffff - 1), 0xfffffffeu);
}

TEST(FloorDivide, RoundsTowardsMinusInfinity) {
  EXPECT_EQ(FloorDivide(7, 2), 3);
  EXPECT_EQ(FloorDivide(-7, 2), -4);
  EXPECT_EQ(FloorDivide(-8, 2), -4);
  EXPECT_EQ(FloorDivide(0, 5), 0);
}

TEST(Wide, CarriesIntoTheHighHalf) {
  Wide sum;
  for (int i = 0; i < 5; ++i) sum.Add(UINT64_MAX);
  EXPECT_EQ(sum.high, 4u);
  EXPECT_EQ(sum.low, UINT64_MAX - 4);
}

}  // namespace
}  // namespace sotto
