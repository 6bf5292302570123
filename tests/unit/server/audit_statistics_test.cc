// The statistics of `sotto-lab audit`: confidence bounds, measured epsilons, areas under ROC
// curves.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <stdexcept>
#include <vector>

#include "accounting/gdp.h"
#include "audit/epsilon_bound.h"
#include "audit/statistics.h"

namespace sotto::server {
namespace {

Span<const double> View(const std::vector<double>& values) {
  return {values.data(), values.size()};
}

double BinomialMass(int64_t n, int64_t k, double p) {
  const auto a = static_cast<double>(n);
  const auto b = static_cast<double>(k);
  return std::exp(std::lgamma(a + 1) - std::lgamma(b + 1) - std::lgamma(a - b + 1) +
                  b * std::log(p) + (a - b) * std::log1p(-p));
}

struct KnownInterval {
  int64_t trials;
  int64_t successes;
  double lower;
  double upper;
};

// The exact two-sided 95 % intervals, from sums of binomial masses.
constexpr KnownInterval kKnown[] = {
    {20, 0, 0.0, 0.16843347},
    {100, 5, 0.01643188, 0.11283491},
    {100, 50, 0.39832113, 0.60167887},
    {20, 20, 0.83156653, 1.0},
};

TEST(BinomialInterval, IsClopperAndPearsonsAndNeverTighter) {
  for (const KnownInterval& known : kKnown) {
    const double lower = LowerProbability(known.trials, known.successes, 0.025);
    const double upper = UpperProbability(known.trials, known.successes, 0.025);
    EXPECT_LE(lower, known.lower + 1e-8) << known.successes;
    EXPECT_GE(upper, known.upper - 1e-8) << known.successes;
    EXPECT_NEAR(lower, known.lower, 0.01 * known.lower) << known.successes;
    EXPECT_NEAR(upper, known.upper, 0.01 * known.upper) << known.successes;
  }
}

// Exactly: the sum over all counts whose bound does not hold.
TEST(BinomialInterval, CoversEachProbabilityOnBothSides) {
  constexpr int64_t kTrials = 40;
  for (const double error : {0.05, 1e-3}) {
    for (double p = 0.01; p < 1; p += 0.07) {
      double below = 0;
      double above = 0;
      for (int64_t k = 0; k <= kTrials; ++k) {
        if (LowerProbability(kTrials, k, error) > p) below += BinomialMass(kTrials, k, p);
        if (UpperProbability(kTrials, k, error) < p) above += BinomialMass(kTrials, k, p);
      }
      EXPECT_LE(below, error) << p;
      EXPECT_LE(above, error) << p;
    }
  }
}

TEST(BinomialInterval, RefusesImpossibleCounts) {
  EXPECT_THROW(LowerProbability(0, 0, 0.1), std::invalid_argument);
  EXPECT_THROW(LowerProbability(10, 11, 0.1), std::invalid_argument);
  EXPECT_THROW(UpperProbability(10, -1, 0.1), std::invalid_argument);
  EXPECT_THROW(UpperProbability(10, 1, 0.0), std::invalid_argument);
}

// Draws of N(mean, 1).
std::vector<double> Draws(size_t count, double mean, uint32_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(mean, 1);
  std::vector<double> draws(count);
  for (double& draw : draws) draw = normal(random);
  return draws;
}

constexpr size_t kDraws = 40000;
const std::vector<double> kDeltas = {1e-5, 0.01, 0.1};

// False-failure probability 1e-9: the error that is allowed.
TEST(MeasuredEpsilon, IsBelowThatOfGaussiansAndNearIt) {
  for (const double mu : {0.5, 1.0, 2.0}) {
    const std::vector<double> p = Draws(kDraws, mu, 1);
    const std::vector<double> q = Draws(kDraws, 0, 2);
    for (const MeasuredEpsilon& row : MeasureEpsilon(View(p), View(q), kDeltas, 1e-9)) {
      const double exact = privacy::GdpEpsilon(mu, row.delta);
      EXPECT_LE(row.epsilon_lower, exact) << mu << " " << row.delta;
      if (row.delta >= 0.01) {
        EXPECT_GE(row.epsilon_lower, 0.4 * exact) << mu << " " << row.delta;
      }
    }
  }
}

TEST(MeasuredEpsilon, OfOneDistributionIsZero) {
  const std::vector<double> p = Draws(kDraws, 0, 3);
  const std::vector<double> q = Draws(kDraws, 0, 4);
  for (const MeasuredEpsilon& row : MeasureEpsilon(View(p), View(q), kDeltas, 1e-9)) {
    EXPECT_EQ(row.epsilon_lower, 0);
    EXPECT_EQ(row.event.trials, static_cast<int64_t>(kDraws / 2));
  }
}

TEST(MeasuredEpsilon, SeesBothDirections) {
  // A value that only Q has: P(S) is 0 there, Q(S) a tenth.
  std::vector<double> p(kDraws, 0.0);
  std::vector<double> q(kDraws, 0.0);
  for (size_t i = 0; i < q.size(); i += 10) q[i] = -1;
  const std::vector<MeasuredEpsilon> rows = MeasureEpsilon(View(p), View(q), {0.01}, 1e-3);
  EXPECT_GT(rows[0].epsilon_lower, 4);
  EXPECT_FALSE(rows[0].event.is_above);
  EXPECT_EQ(rows[0].event.unlikely_hits, 0);
}

TEST(MeasuredEpsilon, RefusesUnequalSides) {
  const std::vector<double> four(4);
  const std::vector<double> three(3);
  EXPECT_THROW(MeasureEpsilon(View(four), View(three), {0.1}, 1e-3), std::invalid_argument);
  EXPECT_THROW(MeasureEpsilon(View(three), View(three), {0.1}, 1e-3), std::invalid_argument);
  EXPECT_THROW(MeasureEpsilon(View(four), View(four), {0.1}, 0.7), std::invalid_argument);
}

double AreaByPairs(const std::vector<double>& members, const std::vector<double>& others) {
  double sum = 0;
  for (const double m : members) {
    for (const double o : others) sum += m > o ? 1 : m == o ? 0.5 : 0;
  }
  return sum / static_cast<double>(members.size() * others.size());
}

TEST(Auc, IsTheShareOfPairsInOrderTiesHalf) {
  std::mt19937 random(5);
  for (const uint32_t values : {2U, 5U, 1000U}) {
    std::vector<double> members(137);
    std::vector<double> others(90);
    for (double& m : members) m = static_cast<double>(random() % values + random() % 2);
    for (double& o : others) o = static_cast<double>(random() % values);
    const Auc auc = MeasureAuc(View(members), View(others));
    EXPECT_NEAR(auc.area, AreaByPairs(members, others), 1e-12) << values;
    EXPECT_LE(auc.lower, auc.area);
    EXPECT_GE(auc.upper, auc.area);
  }
}

TEST(Auc, OfScoresThatTellAllApartIsOne) {
  const Auc auc = MeasureAuc(View({3, 4, 5}), View({0, 1, 2}));
  EXPECT_EQ(auc.area, 1);
  EXPECT_EQ(auc.advantage, 1);
  EXPECT_EQ(MeasureAuc(View({1, 1, 1}), View({1, 1, 1})).area, 0.5);
  EXPECT_EQ(MeasureAuc(View({1, 1, 1}), View({1, 1, 1})).advantage, 0);
}

// By hand: the placements of the members are 1/2, 1, 1, of the others 0, 1/3.
TEST(Auc, HasDeLongsDeviation) {
  const Auc auc = MeasureAuc(View({1, 3, 4}), View({0, 2}));
  EXPECT_NEAR(auc.area, 5.0 / 6, 1e-12);
  const double deviation = std::sqrt(1.0 / 12 / 3 + 1.0 / 18 / 2);
  EXPECT_NEAR(auc.lower, 5.0 / 6 - 1.959963984540054 * deviation, 1e-12);
  EXPECT_EQ(auc.upper, 1);
}

// The interval misses 1/2 in about 5 % of 400 draws: 20, and more than 45 with a probability below
// 1e-6; too few would show an interval that is too wide.
TEST(Auc, CoversAsItSays) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  int missed = 0;
  for (int i = 0; i < 400; ++i) {
    std::vector<double> members(100);
    std::vector<double> others(100);
    for (double& m : members) m = normal(random);
    for (double& o : others) o = normal(random);
    const Auc auc = MeasureAuc(View(members), View(others));
    missed += auc.lower > 0.5 || auc.upper < 0.5 ? 1 : 0;
  }
  EXPECT_LE(missed, 45);
  EXPECT_GE(missed, 4);
}

TEST(Auc, RefusesScoresThatAreNoNumbers) {
  EXPECT_THROW(MeasureAuc(View({1}), View({1, 2})), std::invalid_argument);
  EXPECT_THROW(MeasureAuc(View({1, std::nan("")}), View({1, 2})), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::server
