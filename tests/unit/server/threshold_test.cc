// Thresholds for prediction errors.
#include "evaluation/threshold.h"

#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace sotto::server {
namespace {

TEST(ErrorQuantile, IsTheSmallestErrorThatTheShareDoesNotExceed) {
  const std::vector<float> errors = {5, 1, 4, 2, 3};
  EXPECT_EQ(ErrorQuantile(errors, 1e-9), 1);
  EXPECT_EQ(ErrorQuantile(errors, 0.2), 1);
  EXPECT_EQ(ErrorQuantile(errors, 0.21), 2);
  EXPECT_EQ(ErrorQuantile(errors, 0.8), 4);
  EXPECT_EQ(ErrorQuantile(errors, 0.99), 5);
  EXPECT_EQ(ErrorQuantile(errors, 1), 5);
  EXPECT_EQ(ErrorQuantile({7}, 0.5), 7);
}

TEST(Detection, CountsErrorsAboveTheThreshold) {
  const KnownErrors errors = {{1, 2, 2, 3}, {2, 3, 4}};
  const Detection at = Detect(errors, 2);
  EXPECT_EQ(at.alarms, 3u);
  EXPECT_EQ(at.true_alarms, 2u);
  EXPECT_EQ(at.anomalies, 3u);
  EXPECT_DOUBLE_EQ(at.precision(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(at.recall(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(at.f1(), 2.0 / 3);
  EXPECT_EQ(Detect(errors, 4).precision(), 0);
}

TEST(BestThreshold, SeparatesWhatCanBeSeparated) {
  EXPECT_EQ(BestThreshold({{1, 2, 3}, {4, 9}}), 3);
  EXPECT_EQ(Detect({{1, 2, 3}, {4, 9}}, 3).f1(), 1);
}

TEST(BestThreshold, MayCallEverySampleAnAnomaly) {
  const KnownErrors errors = {{1}, {0, 0, 0, 0}};
  const float threshold = BestThreshold(errors);
  EXPECT_LT(threshold, 0);
  EXPECT_EQ(Detect(errors, threshold).alarms, 5u);
}

// Coarse errors, so that many are equal.
KnownErrors RandomErrors(uint32_t seed) {
  std::mt19937 random(seed);
  KnownErrors errors;
  for (int i = 0; i < 40; ++i) errors.normal.push_back(static_cast<float>(random() % 12));
  for (int i = 0; i < 15; ++i) errors.anomalous.push_back(static_cast<float>(random() % 12 + 4));
  return errors;
}

TEST(BestThreshold, IsTheBestOfAllAndTheHighestOfEqualOnes) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    const KnownErrors errors = RandomErrors(seed);
    const float best = BestThreshold(errors);
    for (int other = -1; other < 20; ++other) {
      const auto threshold = static_cast<float>(other);
      const double f1 = Detect(errors, threshold).f1();
      EXPECT_LE(f1, Detect(errors, best).f1());
      if (threshold > best && f1 == Detect(errors, best).f1()) {
        EXPECT_EQ(Detect(errors, threshold).alarms, Detect(errors, best).alarms);
      }
    }
  }
}

TEST(AreaUnderCurve, IsTheShareOfPairsInOrder) {
  EXPECT_EQ(AreaUnderCurve({{1, 2}, {3, 4}}), 1);
  EXPECT_EQ(AreaUnderCurve({{3, 4}, {1, 2}}), 0);
  EXPECT_EQ(AreaUnderCurve({{1, 1}, {1}}), 0.5);
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    const KnownErrors errors = RandomErrors(seed);
    double pairs = 0;
    for (const float normal : errors.normal) {
      for (const float anomalous : errors.anomalous) {
        pairs += anomalous > normal ? 1 : anomalous == normal ? 0.5 : 0;
      }
    }
    EXPECT_NEAR(AreaUnderCurve(errors), pairs / (40 * 15), 1e-12);
  }
}

}  // namespace
}  // namespace sotto::server
