// The figure against an observer who watches who takes part.
#include "accounting/known_draws.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "accounting/accountant.h"
#include "accounting/gdp.h"
#include "plans/calibration.h"
#include "plans/claim_kinds.h"
#include "plans/statement.h"
#include "unit/privacy/fleet_plan.h"

namespace sotto::privacy {
namespace {

using Rounds = std::vector<GaussianRounds>;

double Watcher(const Statement& statement) {
  return statement.EpsilonOf(Adversary::kWatcher, View::kReleasesAndParticipants);
}

double Network(const Statement& statement) {
  return statement.EpsilonOf(Adversary::kNetwork, View::kReleasesAndParticipants);
}

// Values by mpmath, 30 digits: the root in epsilon of
//   sum over k of C(T, k) q^k (1-q)^(T-k) delta(sqrt(k)/z, epsilon) = delta, where
//   delta(mu, e) = Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu).
TEST(KnownDrawsTest, ItIsTheMeanOverTheDraws) {
  struct Row {
    double z, q;
    int64_t rounds;
    double delta, epsilon, tolerance;
  };
  for (const Row& row : {Row{0.6, 0.05, 30, 5e-4, 14.2808656312816, 1e-7},
                         Row{5, 0.5, 40, 1e-5, 4.05368955036973, 1e-7},
                         Row{1, 0.01, 1000, 1e-6, 26.1946497204805, 1e-2}}) {
    for (const Sampling sampling : {Sampling::kUniform, Sampling::kPoisson}) {
      const Rounds rounds = {{sampling, row.z, row.q, row.rounds}};
      const AccountedEpsilon figure = ComposeKnownDraws(rounds, row.delta)(row.delta);
      EXPECT_STREQ(figure.winner, "known-draws");
      EXPECT_GE(figure.epsilon, row.epsilon * (1 - 1e-14));
      EXPECT_LE(figure.epsilon, row.epsilon * (1 + row.tolerance));
    }
  }
}

TEST(KnownDrawsTest, ItIsBetweenHiddenDrawsAndEveryRound) {
  for (const double z : {0.4, 1.0, 6.0}) {
    for (const double q : {1e-6, 0.02, 0.7}) {
      for (const int64_t rounds : {1, 30, 5000}) {
        const Rounds sampled = {{Sampling::kPoisson, z, q, rounds}};
        const Accountant best;
        const double hidden = AccountFor(sampled, 1e-5).epsilon_lower.value_or(0);
        const double watched = AccountFor(sampled, 1e-5, best.WithKnownDraws()).epsilon;
        EXPECT_LE(hidden, watched);
        EXPECT_LE(watched, GdpEpsilon(UnsampledMu(sampled), 1e-5));
      }
    }
  }
}

TEST(KnownDrawsTest, UnsampledRoundsAddTheirOwn) {
  const Rounds both = {{Sampling::kUniform, 1.0, 1e-9, 3}, {Sampling::kNone, 2.0, 1.0, 5}};
  const double alone = AccountFor({both[1]}, 1e-5).epsilon;
  const double watched = ComposeKnownDraws(both, 1e-5)(1e-5).epsilon;
  EXPECT_GE(watched, alone * (1 - 1e-12));
  EXPECT_LE(watched, alone * 1.001);
  const Accountant knowing = Accountant().WithKnownDraws();
  EXPECT_EQ(AccountFor({both[1]}, 1e-5, knowing).epsilon, alone);
}

TEST(KnownDrawsTest, DifferentRoundsHaveTheSmallestOfThreeBounds) {
  const Rounds mixed = {{Sampling::kUniform, 1.0, 0.05, 10}, {Sampling::kUniform, 2.0, 0.05, 20}};
  const double watched = ComposeKnownDraws(mixed, 1e-5)(1e-5).epsilon;
  const auto of = [](double z) {
    return ComposeKnownDraws({{Sampling::kUniform, z, 0.05, 30}}, 1e-5)(1e-5).epsilon;
  };
  EXPECT_GT(watched, of(2.0));
  EXPECT_LE(watched, of(1.0));
}

TEST(KnownDrawsTest, AFilterIsTheCurveAtItsOrder) {
  const Rounds rounds = {{Sampling::kUniform, 1.0, 0.05, 30}};
  const double order = BestKnownDrawsOrder(rounds, 1e-5);
  const AccountedEpsilon filtered = ComposeKnownDrawsAtOrder(rounds, order)(1e-5);
  const double watched = ComposeKnownDraws(rounds, 1e-5)(1e-5).epsilon;
  EXPECT_STREQ(filtered.winner, "rdp-filter");
  EXPECT_GE(filtered.epsilon, watched);
  EXPECT_LE(filtered.epsilon, 1.3 * watched);
  EXPECT_LE(filtered.epsilon, ComposeKnownDrawsAtOrder(rounds, 1.2 * order)(1e-5).epsilon);
}

TEST(KnownDrawsTest, NoNoiseHasNoFigure) {
  const Rounds bare = {{Sampling::kUniform, 0.0, 0.05, 30}};
  EXPECT_GT(ComposeKnownDraws(bare, 1e-5)(1e-5).epsilon, 1e300);
}

TEST(KnownDrawsTest, TheDefaultPlanSplitsItsNetworkFigure) {
  const Plan plan = PlanForEpsilon(FleetPlan(Sampling::kUniform, 0), 6.0);
  const Statement statement = Account(plan, plan.rounds);
  EXPECT_NEAR(Watcher(statement), 15.6, 0.2);
  EXPECT_NEAR(Network(statement), 78, 0.5);
  const Claim* claim = statement.Find(Adversary::kWatcher, View::kReleasesAndParticipants);
  ASSERT_NE(claim, nullptr);
  EXPECT_EQ(claim->accountant, "known-draws");
}

TEST(KnownDrawsTest, WhereAllTakePartThereIsNothingToSplit) {
  Plan plan = FleetPlan(Sampling::kUniform, 0);
  plan.noise_sigma = 0.2;
  plan.participants_known = true;
  EXPECT_EQ(Account(plan, 30).Find(Adversary::kWatcher, View::kReleasesAndParticipants), nullptr);
}

// More rounds and jobs never cost less, and two jobs go by the filter.
TEST(KnownDrawsTest, SeveralJobsComposeByTheFilter) {
  Plan plan = FleetPlan(Sampling::kUniform, 0);
  plan.noise_sigma = 0.2;
  const Statement one = Account(plan, 30);
  const Statement two = Account(plan, 30, {{plan, 30, 30}});
  EXPECT_GT(Watcher(two), Watcher(one));
  EXPECT_LT(Watcher(two), Network(two));
  EXPECT_EQ(two.Find(Adversary::kWatcher, View::kReleasesAndParticipants)->accountant,
            "rdp-filter");
}

}  // namespace
}  // namespace sotto::privacy
