// Tests of the random shares of partitions. Keys are fixed, so no test can fail by chance.
#include "data/src/skew.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

namespace sotto {
namespace {

TEST(Skew, LogarithmAndExponentialAreAccurate) {
  for (double x = 1e-300; x < 1e300; x *= 1.37) {
    const double exact = std::log(x);
    EXPECT_NEAR(LogOf(x), exact, 1e-15 * std::abs(exact) + 1e-16) << x;
  }
  for (double x = 0; x > -700; x -= 0.731) {
    EXPECT_NEAR(ExpOf(x) / std::exp(x), 1, 1e-13) << x;
  }
  EXPECT_EQ(LogOf(1), 0);
  EXPECT_EQ(ExpOf(0), 1);
  EXPECT_EQ(ExpOf(-1e300), 0);
}

TEST(Skew, SharesSumToOneForEveryAlpha) {
  RandomStream random(Key(), 1);
  for (double alpha = kLeastAlpha; alpha <= kMostAlpha; alpha *= 10) {
    const std::vector<double> shares = DrawDirichlet(100, alpha, random);
    double sum = 0;
    for (const double share : shares) {
      ASSERT_GE(share, 0) << alpha;
      sum += share;
    }
    EXPECT_NEAR(sum, 1, 1e-12) << alpha;
  }
}

// The variance of a share is (n - 1) / (n^2 (n alpha + 1)).
TEST(Skew, SharesHaveTheVarianceOfTheDirichletDistribution) {
  RandomStream random(Key(), 2);
  constexpr double kCount = 10;
  for (const double alpha : {0.05, 0.5, 1.0, 3.0, 50.0}) {
    double squares = 0;
    constexpr int kDraws = 4000;
    for (int i = 0; i < kDraws; ++i) {
      for (const double share : DrawDirichlet(10, alpha, random)) {
        squares += (share - 1 / kCount) * (share - 1 / kCount);
      }
    }
    const double variance = (kCount - 1) / (kCount * kCount * (kCount * alpha + 1));
    EXPECT_NEAR(squares / (kDraws * kCount) / variance, 1, 0.06) << alpha;
  }
}

TEST(Skew, BitsAreTheSameOnEveryMachine) {
  RandomStream random(Key(), 3);
  uint64_t hash = 0xCBF29CE484222325U;
  for (const double alpha : {0.001, 0.3, 1.0, 1000.0}) {
    for (const double share : DrawDirichlet(50, alpha, random)) {
      uint64_t bits = 0;
      std::memcpy(&bits, &share, sizeof(bits));
      hash = (hash ^ bits) * 0x100000001B3U;
    }
  }
  EXPECT_EQ(hash, 11099637942981834624U);
}

}  // namespace
}  // namespace sotto
