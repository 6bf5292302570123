// Accountants: their table, and their figures against independent values.
#include "accounting/accountant.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "accounting/gdp.h"
#include "accounting/log_space.h"
#include "unit/privacy/accountant_csv.h"

namespace sotto::privacy {
namespace {

using Rounds = std::vector<GaussianRounds>;

constexpr double kDelta = 1e-5;

Rounds Of(Sampling sampling, double z, double q, int64_t rounds) {
  return {{sampling, z, q, rounds}};
}

const std::vector<Rounds> kPlans = {
    Of(Sampling::kPoisson, 0.7, 0.05, 30),
    Of(Sampling::kPoisson, 1.5, 0.01, 1000),
    Of(Sampling::kUniform, 0.7, 0.05, 30),
    Of(Sampling::kUniform, 3.0, 0.2, 10),
    Of(Sampling::kNone, 2.0, 1.0, 20),
    Of(Sampling::kPoisson, 0.01, 0.1, 3),
    {{Sampling::kPoisson, 1.0, 0.1, 5}, {Sampling::kNone, 9.0, 1.0, 2}},
};

TEST(AccountantTest, NamesAreKnownBothWays) {
  for (const char* name : {"best", "rdp", "rdp-classic", "pld", "gdp"}) {
    EXPECT_STREQ(Accountant(name).name(), name);
  }
  EXPECT_THROW(Accountant("moments"), std::invalid_argument);
  EXPECT_THROW(Accountant(""), std::invalid_argument);
}

TEST(AccountantTest, WhatIsOfferedSaysWhatItIsGoodFor) {
  std::vector<std::string> names;
  for (const Accountant accountant : OfferedAccountants()) {
    names.emplace_back(accountant.name());
    EXPECT_EQ(accountant.StatesGuarantees(), accountant != Accountant("gdp"));
    EXPECT_TRUE(accountant.IsUpperBound(Sampling::kNone));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"best", "pld", "rdp", "rdp-classic", "gdp"}));
  EXPECT_EQ(Accountant(), Accountant("best"));
  EXPECT_EQ(Accountant().FirstGuess(), Accountant("rdp"));
  EXPECT_EQ(Accountant("pld").FirstGuess(), Accountant("pld"));
  EXPECT_THROW(Accountant("gaussian"), std::invalid_argument);
}

TEST(AccountantTest, RoundsThatAreNotSupportedHaveNoFiniteFigure) {
  const Rounds mixed = {{Sampling::kPoisson, 1.0, 0.1, 5}, {Sampling::kUniform, 1.0, 0.1, 5}};
  const AccountedEpsilon none = AccountFor(mixed, kDelta, Accountant("pld"));
  EXPECT_TRUE(std::isinf(none.epsilon));
  EXPECT_EQ(none.epsilon_lower, 0.0);
  EXPECT_STREQ(none.winner, "pld");
  EXPECT_TRUE(std::isfinite(AccountFor(mixed, kDelta).epsilon));
}

TEST(AccountantTest, BestIsNoLargerThanAnySoundOneAndNamesWhichItIs) {
  for (const Rounds& rounds : kPlans) {
    const AccountedEpsilon best = AccountFor(rounds, kDelta);
    EXPECT_TRUE(best.is_upper_bound);
    bool is_one_of_them = best.winner == std::string("gaussian");
    for (const Accountant other :
         {Accountant("rdp"), Accountant("rdp-classic"), Accountant("pld")}) {
      const AccountedEpsilon epsilon = AccountFor(rounds, kDelta, other);
      EXPECT_LE(best.epsilon, epsilon.epsilon) << other.name();
      is_one_of_them |=
          best.winner == std::string(epsilon.winner) && best.epsilon == epsilon.epsilon;
    }
    EXPECT_TRUE(is_one_of_them) << best.winner;
    EXPECT_GT(best.epsilon, 0);
  }
}

TEST(AccountantTest, WithoutSamplingBestIsTheExactGaussian) {
  const AccountedEpsilon best = AccountFor(Of(Sampling::kNone, 2.0, 1.0, 20), kDelta);
  EXPECT_STREQ(best.winner, "gaussian");
  EXPECT_EQ(best.epsilon, GdpEpsilon(std::sqrt(20.0) / 2, kDelta));
  EXPECT_EQ(best.numeric_error, 0);
  ASSERT_TRUE(best.epsilon_lower.has_value());
  EXPECT_NEAR(*best.epsilon_lower, best.epsilon, 1e-10);
  // A rate of 1 is no sampling.
  for (const Sampling sampling : {Sampling::kPoisson, Sampling::kUniform}) {
    EXPECT_EQ(AccountFor(Of(sampling, 2.0, 1.0, 20), kDelta).epsilon, best.epsilon);
  }
}

// Values by mpmath, 40 digits: ln(1 + q (e^x - 1)), where x solves
//   Phi(1/(2z) - x z) - e^x Phi(-1/(2z) - x z) = delta / q.
TEST(AccountantTest, OneRoundHasItsClosedFormHoweverSmallTheRate) {
  struct Row {
    double z, q, delta, epsilon;
  };
  for (const Row& row :
       {Row{1, 1e-6, 1e-12, 1.3148757522856484e-4}, Row{1, 1e-5, 1e-10, 7.8582171818045838e-4},
        Row{1, 1e-10, 1e-17, 2.094704778099555e-8}, Row{1.5, 0.01, 1e-9, 0.25664634297136858},
        Row{0.5, 0.05, 1e-5, 5.5168771865282073}}) {
    for (const Sampling sampling : {Sampling::kUniform, Sampling::kPoisson}) {
      const AccountedEpsilon best = AccountFor(Of(sampling, row.z, row.q, 1), row.delta);
      EXPECT_STREQ(best.winner, "per-round");
      EXPECT_GE(best.epsilon, row.epsilon);
      EXPECT_LE(best.epsilon, row.epsilon * (1 + 1e-9));
      EXPECT_LE(best.epsilon_lower.value_or(0), row.epsilon);
    }
  }
}

TEST(AccountantTest, RoundsWhoseDeviceIsHardlyEverDrawnCostNothing) {
  EXPECT_EQ(AccountFor(Of(Sampling::kUniform, 1, 1e-10, 30), 1e-8).epsilon, 0);
  // 30 rounds at 1/30 of delta each.
  const double one = AccountFor(Of(Sampling::kUniform, 1, 1e-10, 1), 1e-16 / 30).epsilon;
  const double all = AccountFor(Of(Sampling::kUniform, 1, 1e-10, 30), 1e-16).epsilon;
  EXPECT_GT(all, 0);
  EXPECT_LE(all, 30 * one * (1 + 1e-9));
}

TEST(AccountantTest, TheApproximationIsMarkedAndNeverWins) {
  for (const Rounds& rounds : kPlans) {
    const AccountedEpsilon gdp = AccountFor(rounds, kDelta, Accountant("gdp"));
    EXPECT_EQ(gdp.is_upper_bound, rounds[0].sampling == Sampling::kNone);
    EXPECT_STRNE(AccountFor(rounds, kDelta).winner, "gdp");
  }
  // It does err on the wrong side: here the true epsilon is larger.
  const Rounds rare = Of(Sampling::kPoisson, 0.5, 0.001, 100);
  EXPECT_LT(AccountFor(rare, 1e-6, Accountant("gdp")).epsilon,
            *AccountFor(rare, 1e-6, Accountant("pld")).epsilon_lower);
}

TEST(AccountantTest, ASoundAccountantIsNeverBelowTheReferencesLowerBound) {
  int rows = 0;
  for (const AccountantRow& row : ReadAccountantRows("poisson_gaussian")) {
    if (row.conversion != "pld_optimistic_lower_bound" || row.rounds.at(0) > 20'000) continue;
    ++rows;
    const Rounds rounds = Of(Sampling::kPoisson, row.noise_multipliers.at(0), row.rates.at(0),
                             std::lround(row.rounds.at(0)));
    for (const Accountant sound :
         {Accountant("best"), Accountant("rdp"), Accountant("rdp-classic")}) {
      EXPECT_GE(AccountFor(rounds, row.delta, sound).epsilon, row.value) << row.id << sound.name();
    }
  }
  EXPECT_EQ(rows, 39);
}

TEST(AccountantTest, RdpRowsOfTheReferenceComeOutThroughTheAccountant) {
  int rows = 0;
  for (const AccountantRow& row : ReadAccountantRows("poisson_gaussian")) {
    if (row.quantity != "epsilon" || row.orders_set != "continuous") continue;
    ++rows;
    const Rounds rounds = Of(Sampling::kPoisson, row.noise_multipliers.at(0), row.rates.at(0),
                             std::lround(row.rounds.at(0)));
    const Accountant accountant =
        row.conversion == "classic" ? Accountant("rdp-classic") : Accountant("rdp");
    const double value = std::max(row.value, 0.0);
    // The reference's orders end at 3001: an epsilon may be smaller than that.
    EXPECT_LE(AccountFor(rounds, row.delta, accountant).epsilon, value * (1 + 1e-6) + 1e-9)
        << row.id;
  }
  EXPECT_EQ(rows, 82);
}

TEST(AccountantTest, ALowerBoundIsBelowItsUpperAndOnlyThereWhereItIsTrue) {
  for (const Rounds& rounds : kPlans) {
    for (const Accountant accountant : {Accountant("best"), Accountant("pld")}) {
      const AccountedEpsilon epsilon = AccountFor(rounds, kDelta, accountant);
      EXPECT_EQ(epsilon.epsilon_lower.has_value(), rounds[0].sampling != Sampling::kUniform);
      EXPECT_LE(epsilon.epsilon_lower.value_or(0), epsilon.epsilon);
      EXPECT_GE(epsilon.numeric_error, 0);
    }
  }
}

TEST(AccountantTest, EpsilonIsMonotoneInNoiseRateRoundsAndDelta) {
  for (const Accountant accountant : {Accountant("best"), Accountant("rdp"), Accountant("pld")}) {
    for (const Sampling sampling : {Sampling::kPoisson, Sampling::kUniform}) {
      const auto epsilon = [&](double z, double q, int64_t rounds, double delta) {
        return AccountFor(Of(sampling, z, q, rounds), delta, accountant).epsilon;
      };
      const double before = epsilon(0.9, 0.05, 50, 1e-5);
      SCOPED_TRACE(testing::Message() << accountant.name() << " " << Name(sampling));
      EXPECT_LT(epsilon(0.91, 0.05, 50, 1e-5), before);
      EXPECT_LT(epsilon(0.9, 0.049, 50, 1e-5), before);
      EXPECT_LT(epsilon(0.9, 0.05, 49, 1e-5), before);
      EXPECT_LT(epsilon(0.9, 0.05, 50, 1.1e-5), before);
    }
  }
}

TEST(AccountantTest, NothingReleasedCostsNothingAndNoNoiseCostsEverything) {
  for (const Accountant accountant :
       {Accountant("best"), Accountant("rdp"), Accountant("pld"), Accountant("gdp")}) {
    EXPECT_EQ(AccountFor({}, kDelta, accountant).epsilon, 0) << accountant.name();
    EXPECT_EQ(AccountFor(Of(Sampling::kPoisson, 0.0, 0.0, 9), kDelta, accountant).epsilon, 0);
    EXPECT_EQ(AccountFor(Of(Sampling::kPoisson, 0.0, 0.1, 9), kDelta, accountant).epsilon,
              kInfinity);
  }
}

TEST(AccountantTest, BadArgumentsThrow) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Accountant accountant :
       {Accountant("best"), Accountant("rdp"), Accountant("rdp-classic"), Accountant("pld"),
        Accountant("gdp")}) {
    for (const Rounds& bad :
         {Of(Sampling::kPoisson, -1, 0.1, 1), Of(Sampling::kPoisson, nan, 0.1, 1),
          Of(Sampling::kPoisson, 1, 1.1, 1), Of(Sampling::kPoisson, 1, nan, 1),
          Of(Sampling::kPoisson, 1, 0.1, -1)}) {
      EXPECT_THROW(AccountFor(bad, kDelta, accountant), std::invalid_argument);
    }
    for (const double delta : {0.0, 1.0, -1.0, nan}) {
      EXPECT_THROW(AccountFor(kPlans[0], delta, accountant), std::invalid_argument);
    }
  }
}

}  // namespace
}  // namespace sotto::privacy
