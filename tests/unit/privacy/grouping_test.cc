// Schedules of many different rows are charged in groups that dominate them.
#include "accounting/grouping.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "accounting/accountant.h"
#include "accounting/pld.h"
#include "plans/calibration.h"
#include "unit/trials.h"

namespace sotto::privacy {
namespace {

using Rounds = std::vector<GaussianRounds>;

// Rows around a noise multiplier of 2 and a rate of 1 %, each different.
Rounds Schedule(Sampling sampling, int rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> share(-1, 1);
  Rounds rounds;
  for (int i = 0; i < rows; ++i) {
    rounds.push_back(
        {sampling, 2 * std::exp(0.3 * share(random)), 0.01 * std::exp(0.3 * share(random)), 1});
  }
  return rounds;
}

TEST(GroupingTest, EveryRoundIsDominatedByAGroup) {
  for (const Sampling sampling : {Sampling::kPoisson, Sampling::kUniform}) {
    const Rounds rounds = Schedule(sampling, 500, 1);
    const Rounds groups = Grouped(rounds, 20);
    EXPECT_LE(groups.size(), 20U);
    EXPECT_GT(groups.size(), 5U);
    int64_t total = 0;
    for (const GaussianRounds& group : groups) total += group.rounds;
    EXPECT_EQ(total, 500);
    for (const GaussianRounds& r : rounds) {
      int dominating = 0;
      for (const GaussianRounds& group : groups) {
        if (group.noise_multiplier <= r.noise_multiplier && group.sampling_rate >= r.sampling_rate)
          ++dominating;
      }
      EXPECT_GE(dominating, 1);
    }
  }
}

TEST(GroupingTest, FewRoundsStayAsTheyAre) {
  const Rounds rounds = Canonical(Schedule(Sampling::kPoisson, 20, 2));
  const Rounds same = Grouped(rounds, 20);
  ASSERT_EQ(same.size(), rounds.size());
  for (size_t i = 0; i < same.size(); ++i) {
    EXPECT_EQ(same[i].noise_multiplier, rounds[i].noise_multiplier);
    EXPECT_EQ(same[i].sampling_rate, rounds[i].sampling_rate);
  }
}

TEST(GroupingTest, UnsampledRoundsAreOneGroup) {
  Rounds rounds;
  double square = 0;
  for (int i = 1; i <= 100; ++i) {
    rounds.push_back({Sampling::kNone, static_cast<double>(i), 1.0, i});
    square += 1.0 / i;
  }
  const Rounds groups = Grouped(rounds, 4);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_NEAR(groups[0].noise_multiplier, 1 / std::sqrt(square), 1e-9);
  EXPECT_LE(groups[0].noise_multiplier, 1 / std::sqrt(square));
}

TEST(GroupingTest, OddSettingsFindTheirGroups) {
  Rounds rounds = Schedule(Sampling::kPoisson, 50, 3);
  rounds.push_back({Sampling::kPoisson, 0.0, 0.5, 1});
  rounds.push_back({Sampling::kPoisson, 1e300, 1e-300, 1});
  rounds.push_back({Sampling::kUniform, 5e-324, 1.0, 1});
  EXPECT_LE(Grouped(rounds, 8).size(), 8U);
}

// The accountants group from 64 different settings on. Groups cost more than the rounds, but not
// much.
TEST(GroupingTest, AScheduleOfThousandsOfRowsHasAFigureNearTheExactOne) {
  for (const Sampling sampling : {Sampling::kPoisson, Sampling::kUniform}) {
    const Rounds rounds = Schedule(sampling, Trials(3000), 4);
    const double exact = Epsilon(rounds, 1e-5).Guarantee();
    const double rdp = AccountFor(rounds, 1e-5, Accountant("rdp")).epsilon;
    EXPECT_GE(rdp, exact * (1 - 1e-9));
    EXPECT_LE(rdp, exact * 1.02);
    const Pld pld(rounds, 1e-5);
    EXPECT_LE(pld.Epsilon(1e-5), exact * 1.3);
    EXPECT_FALSE(pld.HasLowerBound());
    EXPECT_EQ(pld.Epsilon(1e-5, Bound::kLower), 0);
    const double factor = NoiseFactor(rounds, exact / 2, 1e-5, Accountant());
    Rounds noisier = rounds;
    for (GaussianRounds& r : noisier) r.noise_multiplier *= factor;
    EXPECT_LE(AccountFor(noisier, 1e-5).epsilon, exact / 2);
  }
}

}  // namespace
}  // namespace sotto::privacy
