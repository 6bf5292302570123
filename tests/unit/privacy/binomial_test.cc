// The bound on the binomial tail, and the cap of a Poisson draw.
#include "accounting/binomial.h"

#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>

#include "unit/privacy/figures.h"

namespace sotto::privacy {
namespace {

// Pr[Bin(n, p) > limit] from the smallest term up, by the recursion of the terms from k = n down.
long double ExactTail(int n, long double p, int limit) {
  long double term = std::pow(p, static_cast<long double>(n));
  long double sum = 0;
  for (int k = n; k > limit; --k) {
    sum += term;
    term *= static_cast<long double>(k) / static_cast<long double>(n - k + 1) * (1 - p) / p;
  }
  return sum;
}

TEST(BinomialTailTest, IsABoundAndExceedsTheExactTailByNoMoreThanStirling) {
  for (const int n : {1, 2, 7, 40, 300}) {
    for (const double p : {0.003, 0.1, 0.5, 0.93}) {
      for (int limit = 0; limit < n; ++limit) {
        const double exact = static_cast<double>(std::log(ExactTail(n, p, limit)));
        const double bound = LogBinomialTail(n, p, limit);
        SCOPED_TRACE(testing::Message() << n << " " << p << " " << limit);
        EXPECT_GE(bound, exact - 1e-15);
        const double k = limit + 1;
        if (k > (n + 1) * p && k < n) {
          EXPECT_LE(bound, exact + 1 / (12 * k) + 1 / (12 * (n - k)) + 1e-11);
        }
      }
    }
  }
}

TEST(BinomialTailTest, NeverRisesWithTheLimit) {
  double last = 0;
  for (int64_t limit = 0; limit <= 2000; ++limit) {
    const double bound = LogBinomialTail(2000, 0.05, limit);
    EXPECT_LE(bound, last);
    last = bound;
  }
  EXPECT_EQ(last, -kInf);
}

TEST(BinomialTailTest, HandlesTheExtremes) {
  EXPECT_EQ(LogBinomialTail(10, 0.0, 0), -kInf);
  EXPECT_EQ(LogBinomialTail(10, 1.0, 9), 0);
  EXPECT_EQ(LogBinomialTail(10, 1.0, 10), -kInf);
  EXPECT_EQ(LogBinomialTail(10, 0.2, 1), 0);
  EXPECT_NEAR(LogBinomialTail(10, 1e-200, 9), 10 * std::log(1e-200), 1e-9);
  EXPECT_TRUE(std::isfinite(LogBinomialTail(kMaxTrials, 0.5, kMaxTrials / 2 + 1000000)));
}

TEST(BinomialTailTest, BadArgumentsThrow) {
  EXPECT_THROW(LogBinomialTail(0, 0.5, 0), std::invalid_argument);
  EXPECT_THROW(LogBinomialTail(kMaxTrials + 1, 0.5, 0), std::invalid_argument);
  EXPECT_THROW(LogBinomialTail(10, 1.5, 0), std::invalid_argument);
  EXPECT_THROW(LogBinomialTail(10, std::nan(""), 0), std::invalid_argument);
  EXPECT_THROW(LogBinomialTail(10, 0.5, -1), std::invalid_argument);
}

TEST(PoissonCapTest, IsTheSmallestCapWhoseChargeFitsTheSlice) {
  const int n = 400;
  const double slice = 1e-8;
  for (const double q : {0.01, 0.1, 0.6}) {
    for (const double epsilon : {0.0, 1.0, 8.0}) {
      const auto cap = static_cast<int>(PoissonCap(n, q, 30, epsilon, slice));
      const auto charge = [&](int limit) {
        return static_cast<double>((1 + std::exp(epsilon)) * 30 * ExactTail(n, q, limit));
      };
      SCOPED_TRACE(testing::Message() << "q " << q << " epsilon " << epsilon);
      EXPECT_LE(charge(cap), slice);
      EXPECT_GT(charge(cap - 1) * 1.1, slice);  // the bound is that close to the tail
    }
  }
}

TEST(PoissonCapTest, GrowsWithEpsilonRoundsAndRateAndNeverExceedsTheFleet) {
  const int64_t cap = PoissonCap(1000, 0.05, 30, 6, 1e-7);
  EXPECT_LE(cap, PoissonCap(1000, 0.05, 30, 8, 1e-7));
  EXPECT_LE(cap, PoissonCap(1000, 0.05, 3000, 6, 1e-7));
  EXPECT_LE(cap, PoissonCap(1000, 0.06, 30, 6, 1e-7));
  EXPECT_EQ(PoissonCap(1000, 0.05, 30, kInf, 1e-7), 1000);
  EXPECT_EQ(PoissonCap(1000, 0.05, 30, 1e5, 1e-7), 1000);
  EXPECT_EQ(PoissonCap(1000, 0.0, 30, 6, 1e-7), 0);
  EXPECT_EQ(PoissonCap(1000, 1.0, 30, 6, 1e-7), 1000);
}

TEST(PoissonCapTest, BadArgumentsThrow) {
  EXPECT_THROW(PoissonCap(0, 0.1, 1, 1, 1e-7), std::invalid_argument);
  EXPECT_THROW(PoissonCap(10, 1.1, 1, 1, 1e-7), std::invalid_argument);
  EXPECT_THROW(PoissonCap(10, 0.1, 0, 1, 1e-7), std::invalid_argument);
  EXPECT_THROW(PoissonCap(10, 0.1, 1, -1, 1e-7), std::invalid_argument);
  EXPECT_THROW(PoissonCap(10, 0.1, 1, std::nan(""), 1e-7), std::invalid_argument);
  EXPECT_THROW(PoissonCap(10, 0.1, 1, 1, 0), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::privacy
