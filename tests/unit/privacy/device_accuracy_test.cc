// Tests of the arithmetic of evaluation on devices: the estimate, its bar, and what it costs.
#include "plans/device_accuracy.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <stdexcept>

#include "unit/privacy/fleet_plan.h"

namespace sotto::privacy {
namespace {

Plan NoisyPlan(Sampling sampling) {
  Plan plan = FleetPlan(sampling, 100);
  plan.noise_sigma = 0.1;
  return plan;
}

Plan UniformPlan() { return NoisyPlan(Sampling::kUniform); }
Plan PoissonPlan() { return NoisyPlan(Sampling::kPoisson); }

Plan WithAccuracy(Plan plan, double share = 0.1) { return WithExtras(plan, 0, share); }

TEST(DeviceAccuracy, TheExtraCoordinatesCostNothingInEpsilonAndNoiseInUpdates) {
  for (const Plan& plan : {UniformPlan(), PoissonPlan()}) {
    const Plan both = WithExtras(plan, 0.1, 0.2);
    EXPECT_NEAR(both.NoiseMultiplier(), plan.NoiseMultiplier(), 1e-12 * plan.NoiseMultiplier());
    EXPECT_NEAR(both.noise_sigma, plan.noise_sigma / std::sqrt(0.7), 1e-12 * both.noise_sigma);
    const double norm = std::hypot(both.clip_l2, both.clip_bit_scale / 2, both.accuracy_scale / 2);
    EXPECT_NEAR(both.ClipWithExtras(), norm, 1e-12 * norm);
    // A ledger keeps one scale for both.
    Plan folded = both;
    folded.clip_bit_scale = both.ExtraScale();
    folded.accuracy_scale = 0;
    EXPECT_NEAR(folded.Sensitivity(), both.Sensitivity(), 1e-12 * norm);
  }
}

TEST(DeviceAccuracy, TheSensitivityIsThatOfTheWorstPairOfDevices) {
  // Replace-one: update, bit and accuracy all turn round. Add/remove: all appear.
  const Plan uniform = WithExtras(UniformPlan(), 0.1, 0.1);
  EXPECT_GE(uniform.Sensitivity(),
            std::hypot(2 * uniform.clip_l2, uniform.clip_bit_scale, uniform.accuracy_scale) *
                (1 - 1e-14));
  const Plan poisson = WithExtras(PoissonPlan(), 0.1, 0.1);
  EXPECT_GE(poisson.Sensitivity(),
            std::hypot(poisson.clip_l2, poisson.clip_bit_scale / 2, poisson.accuracy_scale / 2) *
                (1 - 1e-14));
}

TEST(DeviceAccuracy, TheEstimateIsTheSumOverThePlannedCohortAndCutOff) {
  const Plan plan = WithAccuracy(UniformPlan());
  const auto cohort = static_cast<double>(plan.cohort);
  EXPECT_EQ(EstimateAccuracy(plan, 0).accuracy, 0.5);
  EXPECT_NEAR(EstimateAccuracy(plan, 0.3 * cohort).accuracy, 0.8, 1e-15);
  EXPECT_EQ(EstimateAccuracy(plan, 9 * cohort).accuracy, 1);
  EXPECT_EQ(EstimateAccuracy(plan, -9 * cohort).accuracy, 0);
  EXPECT_THROW(EstimateAccuracy(plan, std::numeric_limits<double>::quiet_NaN()),
               std::invalid_argument);
}

TEST(DeviceAccuracy, TheNoiseOnTheMeanIsTheNoiseOfTheSum) {
  const Plan plan = WithAccuracy(UniformPlan());
  const double deviation = std::sqrt(static_cast<double>(plan.planned_reports)) * plan.noise_sigma /
                           plan.accuracy_scale / static_cast<double>(plan.cohort);
  EXPECT_NEAR(EstimateAccuracy(plan, 0).noise_deviation, deviation, 1e-14);
}

TEST(DeviceAccuracy, TheBarShrinksTowardsTheEndsAndWithoutADraw) {
  const Plan plan = WithAccuracy(UniformPlan());
  const auto cohort = static_cast<double>(plan.cohort);
  const double middle = EstimateAccuracy(plan, 0).bar;
  const double end = EstimateAccuracy(plan, 0.5 * cohort).bar;
  EXPECT_LT(end, middle);
  EXPECT_GE(end, 1.96 * EstimateAccuracy(plan, 0).noise_deviation);
  Plan all = UniformPlan();
  all.sampling = Sampling::kNone;
  all.cohort = all.planned_reports = all.devices;
  const AccuracyEstimate estimate = EstimateAccuracy(WithAccuracy(all), 0);
  EXPECT_NEAR(estimate.bar, 1.96 * estimate.noise_deviation, 1e-15);
}

TEST(DeviceAccuracy, SharesThatLeaveNothingAreRefused) {
  EXPECT_THROW(WithExtras(UniformPlan(), 0.5, 0.5), std::invalid_argument);
  EXPECT_THROW(WithExtras(UniformPlan(), -0.1, 0.5), std::invalid_argument);
  EXPECT_THROW(WithExtras(UniformPlan(), 0.1, -0.5), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::privacy
