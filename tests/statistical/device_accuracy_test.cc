// Statistical test of evaluation on devices: the bar holds the truth as often as it says.
#include "plans/device_accuracy.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "sotto/random.h"

namespace sotto::privacy {
namespace {

// A standard normal number: twelve uniform ones would do, but the tails matter here.
double Normal(RandomStream& random) {
  const double u = (random.NextU32() + 0.5) * 0x1p-32;
  const double v = (random.NextU32() + 0.5) * 0x1p-32;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * 3.14159265358979 * v);
}

// The sum of a round: the drawn devices' accuracies and the noise.
double DrawSum(const Plan& plan, std::vector<double> accuracies, RandomStream& random) {
  double sum = AccuracySumDeviation(plan) * Normal(random);
  if (plan.sampling == Sampling::kPoisson) {
    for (const double p : accuracies) {
      if (random.NextU32() * 0x1p-32 < plan.SamplingRate()) sum += p - 0.5;
    }
    return sum;
  }
  for (int64_t i = 0; i < plan.cohort; ++i) {
    const auto left = static_cast<uint32_t>(plan.devices - i);
    std::swap(accuracies[static_cast<size_t>(i)],
              accuracies[static_cast<size_t>(i) + random.Below(left)]);
    sum += accuracies[static_cast<size_t>(i)] - 0.5;
  }
  return sum;
}

// Over 2,000 rounds a bar that fails in 5 % of them fails in more than 7 % with a probability below
// 5e-5 (binomial: 100 expected, deviation 9.7; 140 is 4.1 deviations above). Seed: a key of zeros.
TEST(DeviceAccuracy, TheBarHoldsTheTruthAsOftenAsItSays) {
  constexpr int kRounds = 2000;
  RandomStream random(Key(), 0);
  for (const Sampling sampling : {Sampling::kUniform, Sampling::kPoisson}) {
    for (const double best : {0.05, 0.5, 0.97}) {  // devices are right in all, or in this share
      for (const double share : {0.02, 0.1}) {
        Plan plan;
        plan.sampling = sampling;
        plan.devices = 400;
        plan.cohort = 40;
        plan.planned_reports = sampling == Sampling::kPoisson ? 80 : 40;
        plan.rounds = 1;
        plan.dimension = 10;
        plan.clip_l2 = 0.4;
        plan.delta = 1e-3;
        plan.noise_sigma = 0.1;
        plan = WithExtras(plan, 0, share);
        std::vector<double> accuracies(400);
        double truth = 0;
        for (size_t i = 0; i < accuracies.size(); ++i) {
          accuracies[i] = i % 3 == 0 ? 1 : best;
          truth += accuracies[i] / 400;
        }
        int missed = 0;
        for (int round = 0; round < kRounds; ++round) {
          const AccuracyEstimate estimate =
              EstimateAccuracy(plan, DrawSum(plan, accuracies, random));
          // What was cut off at the ends of [0, 1] came no farther from the truth.
          missed += std::fabs(estimate.accuracy - truth) > estimate.bar ? 1 : 0;
        }
        EXPECT_LT(missed, 0.07 * kRounds) << Name(sampling) << " " << best << " " << share;
      }
    }
  }
}

}  // namespace
}  // namespace sotto::privacy
