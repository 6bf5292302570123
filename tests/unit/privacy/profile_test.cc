// Delta at an epsilon, and the trade-off curve, against closed forms. Nothing is drawn at random.
#include "accounting/profile.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>
#include <vector>

#include "accounting/accountant.h"
#include "accounting/gdp.h"
#include "accounting/log_space.h"

namespace sotto::privacy {
namespace {

std::vector<GaussianRounds> ProfileRounds(Sampling sampling, double noise, double rate,
                                          int64_t rounds) {
  return {{sampling, noise, rate, rounds}};
}

EpsilonOfDelta AnswersFor(const std::vector<GaussianRounds>& rounds, int* count = nullptr) {
  return [rounds, count](double delta) {
    if (count != nullptr) ++*count;
    return AccountFor(rounds, delta, Accountant()).epsilon;
  };
}

// delta(epsilon) of one Gaussian is a formula: at least it, and above it by the tolerance at most.
TEST(Profile, TheDeltaOfOneGaussianIsThatOfItsFormula) {
  for (const double noise : {0.5, 1.0, 4.0, 30.0}) {
    for (const double epsilon : {0.01, 0.5, 2.0, 8.0}) {
      int answers = 0;
      const double delta =
          DeltaFor(AnswersFor(ProfileRounds(Sampling::kNone, noise, 1, 1), &answers), epsilon);
      const double exact = GdpDelta(1 / noise, epsilon);
      if (exact < kLeastSoughtDelta) {
        EXPECT_EQ(delta, kLeastSoughtDelta);
        continue;
      }
      EXPECT_GE(delta, exact * (1 - 1e-9)) << noise << " " << epsilon;
      EXPECT_LE(delta, exact * (1 + 3e-7)) << noise << " " << epsilon;
      EXPECT_LE(answers, 60);
    }
  }
}

TEST(Profile, DeltaIsTheInverseOfEpsilonAndFallsWithIt) {
  for (const Sampling sampling : {Sampling::kPoisson, Sampling::kNone}) {
    const EpsilonOfDelta answers = AnswersFor(ProfileRounds(sampling, 2, 0.05, 50));
    double before = 1;
    for (const double epsilon : {0.5, 1.0, 2.0}) {
      const double delta = DeltaFor(answers, epsilon);
      EXPECT_LE(answers(delta), epsilon);
      EXPECT_LT(delta, before);
      before = delta;
      if (delta > 1e-60) {
        EXPECT_GT(answers(delta * (1 - 1e-5)), epsilon) << Name(sampling);
      }
    }
    const double there = answers(1e-5);
    EXPECT_NEAR(DeltaFor(answers, there), 1e-5, 1e-10);
  }
}

TEST(Profile, WithoutAnAnswerDeltaIsOneAndWithoutALossTheLeast) {
  EXPECT_EQ(DeltaFor([](double) { return kInfinity; }, 5), 1);
  EXPECT_EQ(DeltaFor([](double) { return 0.0; }, 0), kLeastSoughtDelta);
  EXPECT_THROW(DeltaFor([](double) { return 0.0; }, -1), std::invalid_argument);
  EXPECT_THROW(DeltaFor([](double) { return 0.0; }, kInfinity), std::invalid_argument);
  // Answers that jump: what is returned is one that holds.
  const EpsilonOfDelta steps = [](double delta) { return delta < 1e-4 ? kInfinity : 1.0; };
  EXPECT_NEAR(DeltaFor(steps, 1), 1e-4, 1e-10);
  EXPECT_LE(steps(DeltaFor(steps, 1)), 1);
}

double ExactBeta(double x, double mu) { return std::erfc((x + mu) / std::sqrt(2.0)) / 2; }

TEST(Profile, TheTradeOffCurveIsBelowTheExactOneAndNearIt) {
  for (const double mu : {0.1, 1.0, 3.0}) {
    TradeOff by_pairs;
    for (int i = 1; i <= 60; ++i) {
      const double epsilon = 0.1 * i * mu;
      by_pairs.pairs.push_back({epsilon, GdpDelta(mu, epsilon)});
    }
    by_pairs.pairs.push_back({0, GdpDelta(mu, 0)});
    by_pairs.pairs.push_back({kInfinity, 0.1});  // says nothing
    const TradeOff by_mu = {{}, mu};
    double before = 1;
    for (double x = -5; x <= 5; x += 0.25) {
      const double exact = ExactBeta(x, mu);
      for (const TradeOff& curve : {by_pairs, by_mu}) EXPECT_LE(curve.BetaAt(x), exact) << x;
      EXPECT_GE(by_mu.BetaAt(x), exact * (1 - 1e-6));
      EXPECT_GE(by_pairs.BetaAt(x), exact - 0.02) << mu << " " << x;
      EXPECT_LE(by_mu.BetaAt(x), before);
      before = by_mu.BetaAt(x);
    }
  }
}

TEST(Profile, OnePairGivesTheTwoLinesOfItsDefinition) {
  const TradeOff curve = {{{1, 0.1}}, std::nullopt};
  for (double x = -4; x <= 4; x += 0.5) {
    const double alpha = AlphaAt(x);
    const double lines =
        std::max({0.0, 1 - 0.1 - std::exp(1) * alpha, std::exp(-1) * (1 - 0.1 - alpha)});
    EXPECT_NEAR(curve.BetaAt(x), lines, 1e-13);
    EXPECT_LE(curve.BetaAt(x), lines);
  }
  EXPECT_EQ((TradeOff{{}, std::nullopt}).BetaAt(0), 0);
}

}  // namespace
}  // namespace sotto::privacy
