// Elementary functions, against the C library and exact integers.
#include "sotto/num.h"

#include <algorithm>
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

TEST(HyperbolicTangent, StaysWithinTwoUlp) {
  std::mt19937 random(4);
  std::uniform_real_distribution<float> uniform(-10.0f, 10.0f);
  double worst = 0;
  for (int i = 0; i < 1000000; ++i) {
    // From 1e-9 to 10: tanh x is near x for small x.
    const float x = uniform(random) * static_cast<float>(std::pow(10.0, -(i % 10)));
    worst = std::max(worst, UlpError(HyperbolicTangent(x), std::tanh(static_cast<double>(x))));
  }
  EXPECT_LE(worst, 2.0);
}

TEST(HyperbolicTangent, HandlesTheEnds) {
  EXPECT_EQ(HyperbolicTangent(0.0f), 0.0f);
  EXPECT_EQ(HyperbolicTangent(100.0f), 1.0f);
  EXPECT_EQ(HyperbolicTangent(kInfinity), 1.0f);
  EXPECT_EQ(HyperbolicTangent(-kInfinity), -1.0f);
  EXPECT_EQ(HyperbolicTangent(-0.7f), -HyperbolicTangent(0.7f));
  EXPECT_TRUE(std::isnan(HyperbolicTangent(kNan)));
}

TEST(Logistic, StaysWithinThreeUlp) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(-87.0f, 87.0f);
  double worst = 0;
  for (int i = 0; i < 1000000; ++i) {
    const float x = uniform(random) / static_cast<float>(1 << (i % 8));
    worst = std::max(worst, UlpError(Logistic(x), 1 / (1 + std::exp(-static_cast<double>(x)))));
  }
  EXPECT_LE(worst, 3.0);
}

TEST(Logistic, HandlesTheEnds) {
  EXPECT_EQ(Logistic(0.0f), 0.5f);
  EXPECT_EQ(Logistic(kInfinity), 1.0f);
  EXPECT_EQ(Logistic(-kInfinity), 0.0f);
  EXPECT_TRUE(std::isnan(Logistic(kNan)));
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

TEST(IsProductAtLeast, AgreesWithExactProducts) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 100000; ++i) {
    const uint64_t a = random() >> (24 + random() % 40);
    const uint64_t b = random() >> (24 + random() % 40);
    const auto x = static_cast<uint32_t>(random() >> (40 + random() % 24));
    const auto y = static_cast<uint32_t>(random() >> (40 + random() % 24));
    // 24 bits are exact as binary32, and so are their multiples by powers of two.
    const int power = static_cast<int>(random() % 200) - 100;
    EXPECT_EQ(IsProductAtLeast(a, std::ldexp(static_cast<float>(x), power), b,
                               std::ldexp(static_cast<float>(y), power)),
              a * x >= b * y)
        << a << " " << x << " " << b << " " << y;
  }
}

TEST(IsProductAtLeast, SeesTheLastBit) {
  for (const int power : {-140, -60, -10, 0, 10, 60}) {
    const float x = std::ldexp(5.0f, power);
    EXPECT_TRUE(IsProductAtLeast(3 << 10, x, 15, std::ldexp(1024.0f, power)));
    EXPECT_FALSE(IsProductAtLeast((3 << 10) - 1, x, 15, std::ldexp(1024.0f, power)));
    EXPECT_TRUE(IsProductAtLeast(15, std::ldexp(1024.0f, power), 3 << 10, x));
    EXPECT_FALSE(IsProductAtLeast(15, std::ldexp(1024.0f, power), (3 << 10) + 1, x));
  }
}

TEST(IsProductAtLeast, TakesZeroAndTheEndsOfTheRange) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  const float huge = std::numeric_limits<float>::max();
  EXPECT_TRUE(IsProductAtLeast(0, huge, 1, 0.0f));
  EXPECT_FALSE(IsProductAtLeast(0, huge, 1, tiny));
  EXPECT_TRUE(IsProductAtLeast(1, tiny, 0, huge));
  EXPECT_TRUE(IsProductAtLeast(1, huge, (uint64_t{1} << 40) - 1, tiny));
  EXPECT_FALSE(IsProductAtLeast((uint64_t{1} << 40) - 1, tiny, 1, huge));
}

TEST(Divide, AgreesWithTheOperators) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 100000; ++i) {
    const uint64_t a = random() >> (random() % 64);
    const uint64_t b = std::max<uint64_t>(random() >> (random() % 64), 1);
    const Division division = Divide(a, b);
    EXPECT_EQ(division.quotient, a / b);
    EXPECT_EQ(division.remainder, a % b);
  }
  for (const uint64_t b : {uint64_t{1}, uint64_t{2}, UINT64_MAX - 1, UINT64_MAX}) {
    EXPECT_EQ(Divide(UINT64_MAX, b).quotient, UINT64_MAX / b);
    EXPECT_EQ(Divide(UINT64_MAX, b).remainder, UINT64_MAX % b);
    EXPECT_EQ(Divide(0, b).quotient, 0u);
  }
}

TEST(SplitFloat, GivesTheMagnitude) {
  for (const float x : {0.0f, 1.0f, -1.5f, 3e-39f, std::numeric_limits<float>::max()}) {
    const FloatParts parts = SplitFloat(x);
    EXPECT_EQ(std::ldexp(static_cast<double>(parts.mantissa), parts.exponent - 150), std::fabs(x));
  }
}

TEST(Wide, CarriesIntoTheHighHalf) {
  Wide sum;
  for (int i = 0; i < 5; ++i) sum.Add(UINT64_MAX);
  EXPECT_EQ(sum.high, 4u);
  EXPECT_EQ(sum.low, UINT64_MAX - 4);
}

}  // namespace
}  // namespace sotto
