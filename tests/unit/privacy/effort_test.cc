// Figures that take little work: still upper bounds, and the same where the full ones are cheap.
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "accounting/accountant.h"
#include "accounting/pld.h"
#include "accounting/rdp.h"
#include "accounting/rdp_sum.h"
#include "plans/calibration.h"

namespace sotto::privacy {
namespace {

using Rounds = std::vector<GaussianRounds>;

constexpr double kDelta = 1e-6;

// Rows of noise multipliers from 1 to 2.
Rounds Rows(Sampling sampling, int rows, int64_t rounds) {
  Rounds schedule;
  for (int i = 0; i < rows; ++i) {
    schedule.push_back({sampling, std::exp2(static_cast<double>(i) / rows), 0.01, rounds});
  }
  return schedule;
}

TEST(EffortTest, AQuickFigureOfFewRoundsIsTheFullOne) {
  for (const Sampling sampling : {Sampling::kPoisson, Sampling::kUniform, Sampling::kNone}) {
    for (const Accountant accountant : OfferedAccountants()) {
      const Rounds rounds = {{sampling, 1.3, 0.02, 10}};
      EXPECT_EQ(AccountFor(rounds, kDelta, accountant.Quick()).epsilon,
                AccountFor(rounds, kDelta, accountant).epsilon)
          << accountant.name();
    }
  }
}

TEST(EffortTest, AQuickFigureOfManySettingsIsAnUpperBound) {
  for (const Sampling sampling : {Sampling::kPoisson, Sampling::kUniform}) {
    const Rounds rounds = Rows(sampling, 30, 10);
    const double exact = Pld(rounds, kDelta).Epsilon(kDelta, Bound::kLower);
    EXPECT_GT(exact, 0);
    for (const char* name : {"best", "pld", "rdp", "rdp-classic"}) {
      EXPECT_GE(AccountFor(rounds, kDelta, Accountant(name).Quick()).epsilon, exact) << name;
    }
    EXPECT_LE(AccountFor(rounds, kDelta, Accountant("pld").Quick()).epsilon, 2 * exact);
  }
}

// A sum of curves that has no terms left answers with the curve of unsampled rounds.
TEST(EffortTest, AnOrderThatIsNotAffordableHasTheUnsampledBound) {
  const Rounds rounds = {{Sampling::kPoisson, 1.0, 0.01, 3}};
  RdpSum unlimited(rounds);
  EXPECT_DOUBLE_EQ(unlimited(8.0), ComposedRdp(rounds, 8.0));
  EXPECT_FALSE(unlimited.is_exhausted());
  RdpSum none(rounds, 0.0);
  EXPECT_NEAR(none(8.0), 3 * RdpUnsampled(1.0, 8.0), 1e-8);
  EXPECT_GE(none(8.0), unlimited(8.0));
  EXPECT_TRUE(none.is_exhausted());
}

// Five hundred settings of unsampled rounds, together with less noise than PLD handles in one
// round.
TEST(EffortTest, ManyUnsampledRoundsHaveAFigure) {
  Rounds rounds;
  for (int i = 0; i < 500; ++i) rounds.push_back({Sampling::kNone, 9.0 + 1e-6 * i, 1.0, 20'000});
  const double exact = AccountFor(rounds, kDelta, Accountant("gdp")).epsilon;
  const double pld = AccountFor(rounds, kDelta, Accountant("pld")).epsilon;
  EXPECT_GE(pld, exact);
  EXPECT_LE(pld, 1.05 * exact);
}

TEST(EffortTest, TheFactorOfManySettingsIsEnoughAndNotFarFromTheSmallest) {
  for (const Sampling sampling : {Sampling::kPoisson, Sampling::kUniform}) {
    const double target = 3.0;
    Rounds rounds = Rows(sampling, 40, 20);
    const double factor = NoiseFactor(rounds, target, kDelta, Accountant());
    for (GaussianRounds& r : rounds) r.noise_multiplier *= factor;
    const double epsilon = AccountFor(rounds, kDelta).epsilon;
    EXPECT_LE(epsilon, target);
    EXPECT_GE(epsilon, 0.95 * target);
  }
}

TEST(EffortTest, ATargetThatOnlyHighOrdersReachIsNotRefused) {
  const double factor =
      NoiseFactor(Rows(Sampling::kUniform, 48, 20), 0.009, 1e-100, Accountant("rdp-classic"));
  EXPECT_GT(factor, 0);
  EXPECT_LT(factor, 1e5);  // what unsampled rounds need
}

}  // namespace
}  // namespace sotto::privacy
