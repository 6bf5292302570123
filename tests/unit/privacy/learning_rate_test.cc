// Learning rates: each schedule is its formula, and has a name.
#include "plans/learning_rate.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>
#include <string>

namespace sotto::privacy {
namespace {

constexpr int kSchedules = static_cast<int>(LearningRateSchedule::kInverseSqrtAllSteps) + 1;

TEST(LearningRate, EachScheduleIsItsFormula) {
  constexpr double kBase = 0.3;
  constexpr double kDecay = 0.98;
  const auto rate = [&](LearningRateSchedule schedule, uint64_t t, uint64_t k) {
    return LearningRate{kBase, kDecay, schedule}.Rate(t, k, 20);
  };
  for (const uint64_t t : {0, 1, 5, 400}) {
    const double decayed = kBase * std::pow(kDecay, t);
    for (const uint64_t k : {0, 1, 19}) {
      using S = LearningRateSchedule;
      const auto x = static_cast<double>(t);
      const auto y = static_cast<double>(k);
      EXPECT_DOUBLE_EQ(rate(S::kConstant, t, k), decayed);
      EXPECT_DOUBLE_EQ(rate(S::kInverseStep, t, k), decayed / (y + 1));
      EXPECT_DOUBLE_EQ(rate(S::kInverseRound, t, k), decayed / (x + 1));
      EXPECT_DOUBLE_EQ(rate(S::kInverseAllSteps, t, k), decayed / (20 * x + y + 1));
      EXPECT_DOUBLE_EQ(rate(S::kInverseSqrtRound, t, k), decayed / std::sqrt(x + 1));
      EXPECT_DOUBLE_EQ(rate(S::kInverseSqrtStep, t, k), decayed / std::sqrt(y + 1));
      EXPECT_DOUBLE_EQ(rate(S::kInverseSqrtAllSteps, t, k), decayed / std::sqrt(20 * x + y + 1));
    }
  }
}

// So a schedule by itself never exceeds the base rate.
TEST(LearningRate, EveryScheduleBeginsWithTheBaseRateAndNeverRises) {
  for (int s = 0; s < kSchedules; ++s) {
    const LearningRate rates = {0.5, 1.0, static_cast<LearningRateSchedule>(s)};
    EXPECT_EQ(rates.Rate(0, 0, 7), 0.5);
    for (uint64_t t = 0; t < 5; ++t) {
      for (uint64_t k = 0; k < 7; ++k) {
        EXPECT_LE(rates.Rate(t, k + 1, 7), rates.Rate(t, k, 7));
        EXPECT_LE(rates.Rate(t + 1, k, 7), rates.Rate(t, k, 7));
      }
    }
  }
}

TEST(LearningRate, EveryScheduleHasANameOfItsOwn) {
  std::set<std::string> names;
  for (int s = 0; s < kSchedules; ++s) names.insert(Name(static_cast<LearningRateSchedule>(s)));
  EXPECT_EQ(names.size(), static_cast<size_t>(kSchedules));
  EXPECT_EQ(names.count("unknown"), 0U);
  EXPECT_STREQ(Name(static_cast<LearningRateSchedule>(kSchedules)), "unknown");
}

}  // namespace
}  // namespace sotto::privacy
