#include "plans/device_accuracy.h"

#include <algorithm>
#include <cmath>

#include "accounting/arguments.h"

namespace sotto::privacy {
namespace {

// A share of kAccuracyConfidence of a normal distribution lies within this many deviations.
constexpr double kDeviations = 1.96;
static_assert(kAccuracyConfidence == 0.95, "the number above is for this confidence");

// The largest variance that drawing the cohort gives the mean.
//   p  the value in the interval that is nearest to 1/2
double SamplingVariance(const Plan& plan, double p) {
  const double cohort = plan.ExpectedCohort();
  const double left_out = 1 - plan.SamplingRate();
  if (plan.sampling == Sampling::kPoisson) return left_out / (4 * cohort);
  if (left_out <= 0) return 0;  // all devices: there is no draw
  const auto devices = static_cast<double>(plan.devices);
  return p * (1 - p) * devices / (devices - 1) / cohort * left_out;
}

double Bar(const Plan& plan, double noise_deviation, double p) {
  return kDeviations * std::hypot(noise_deviation, std::sqrt(SamplingVariance(plan, p)));
}

}  // namespace

AccuracyEstimate EstimateAccuracy(const Plan& plan, double noisy_sum) {
  Require(std::isfinite(noisy_sum), "noisy sum", noisy_sum, "finite");
  const double cohort = plan.ExpectedCohort();
  const double mean = 0.5 + noisy_sum / cohort;
  AccuracyEstimate estimate;
  estimate.accuracy = std::clamp(mean, 0.0, 1.0);
  estimate.noise_deviation = AccuracySumDeviation(plan) / cohort;
  // The variance depends on the mean that is sought. The largest one bounds it; within that bar the
  // mean nearest to 1/2 has the largest variance.
  const double widest = Bar(plan, estimate.noise_deviation, 0.5);
  const double nearest = std::clamp(0.5, mean - widest, mean + widest);
  estimate.bar = Bar(plan, estimate.noise_deviation, std::clamp(nearest, 0.0, 1.0));
  return estimate;
}

}  // namespace sotto::privacy
