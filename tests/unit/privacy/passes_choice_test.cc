// The rule that ranks plans agrees with measured runs, and what it recommends is what was measured
// to be good.
#include "plans/passes_choice.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>

#include "accounting/gdp.h"
#include "plans/turns.h"

namespace sotto::privacy {
namespace {

constexpr int64_t kDimension = 7850;
constexpr double kDelta = 1e-5;

struct Measured {
  int64_t devices;
  double epsilon;
  int64_t cohort;
  int64_t participations;
  double accuracy;
};

// Mean accuracies of softmax-784-10 on Fashion-MNIST.
constexpr Measured kMeasured[] = {
    {1000, 1, 50, 1, .596},    {1000, 1, 50, 5, .527},   {1000, 1, 100, 3, .672},
    {1000, 1, 200, 4, .717},   {1000, 1, 250, 10, .698}, {1000, 2, 50, 2, .701},
    {1000, 2, 100, 3, .746},   {1000, 2, 200, 4, .742},  {1000, 3, 50, 5, .709},
    {1000, 6, 50, 2, .777},    {1000, 6, 100, 1, .703},  {1000, 6, 100, 4, .786},
    {1000, 8, 50, 5, .791},    {10000, 1, 500, 2, .786}, {10000, 2, 100, 1, .8045},
    {10000, 2, 1000, 2, .758}, {10000, 6, 500, 2, .794},
};

TEST(PassesChoiceTest, TheYardstickAgreesWithMeasuredRuns) {
  for (const Measured& run : kMeasured) {
    const double ratio =
        SignalToNoise(GdpMu(run.epsilon, kDelta), run.devices, run.cohort, kDimension);
    const int64_t rounds = RoundsFor(run.participations, run.cohort, run.devices);
    EXPECT_NEAR(YardstickAccuracy(ratio, rounds), run.accuracy, 0.035)
        << run.devices << " " << run.epsilon << " " << run.cohort << " " << run.participations;
  }
  EXPECT_LT(YardstickAccuracy(0.03, 30), 0.15) << "noise alone is chance";
  EXPECT_THROW(YardstickAccuracy(0, 1), std::invalid_argument);
}

TEST(PassesChoiceTest, TheDefaultFleetGetsTheBestMeasuredPlan) {
  const auto choices = BestChoices(GdpMu(6, kDelta), 1000, kDimension, {});
  const PassesChoice& best = choices[Recommended(choices)];
  EXPECT_EQ(best.cohort, 100);
  EXPECT_EQ(best.participations, 4);
  EXPECT_EQ(best.rounds, 40);
  EXPECT_EQ(UsefulnessOf(best.ratio), Usefulness::kGood);
}

TEST(PassesChoiceTest, ALargerFleetTakesPartLessOften) {
  const auto choices = BestChoices(GdpMu(2, kDelta), 10000, kDimension, {});
  EXPECT_LE(choices[Recommended(choices)].participations, 2);
}

TEST(PassesChoiceTest, KeepsWhatIsFixedAndLeavesRoomForColluders) {
  const double mu = GdpMu(6, kDelta);
  for (const PassesChoice& choice : BestChoices(mu, 1000, kDimension, {30, {}, 1})) {
    EXPECT_EQ(choice.cohort, 30);
  }
  const auto seven = BestChoices(mu, 1000, kDimension, {{}, 7, 1});
  ASSERT_EQ(seven.size(), 1U);
  EXPECT_EQ(seven[0].participations, 7);
  for (const PassesChoice& choice : BestChoices(mu, 8, kDimension, {{}, {}, 3})) {
    EXPECT_GT(choice.cohort, 3);
  }
  EXPECT_TRUE(BestChoices(mu, 3, kDimension, {{}, {}, 3}).empty());
  const auto many = BestChoices(mu, 1'000'000, kDimension, {});
  EXPECT_TRUE(std::all_of(many.begin(), many.end(), [](const PassesChoice& choice) {
    return choice.rounds <= kMostProposedRounds;
  }));
}

TEST(PassesChoiceTest, SixDevicesAreToldWhatWouldHelp) {
  const double mu = GdpMu(6, kDelta);
  const auto choices = BestChoices(mu, 6, kDimension, {});
  const PassesChoice& best = choices[Recommended(choices)];
  EXPECT_EQ(UsefulnessOf(best.ratio), Usefulness::kNone);
  const Needs needs = NeedsForUse(mu, kDelta, 6, best.cohort, kDimension);
  EXPECT_NEAR(static_cast<double>(needs.devices * needs.devices) / 2, 18'300, 400);
  EXPECT_NEAR(SignalToNoise(mu, needs.devices, needs.devices / 2, kDimension), 1, 0.01);
  EXPECT_GE(SignalToNoise(mu, 6, best.cohort, needs.dimension), 1);
  EXPECT_NEAR(SignalToNoise(GdpMu(needs.epsilon, kDelta), 6, best.cohort, kDimension), 1, 1e-6);
}

}  // namespace
}  // namespace sotto::privacy
