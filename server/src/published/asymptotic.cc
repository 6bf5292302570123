#include "published/asymptotic.h"

#include <cmath>

#include "accounting/arguments.h"
#include "accounting/log_space.h"

namespace sotto::privacy {
namespace {

// 2 C sqrt(B ln(1/delta)) / N.
double Unit(const AsymptoticPlan& plan) {
  return 2 * plan.clip_l2 * std::sqrt(static_cast<double>(plan.cohort) * -std::log(plan.delta)) /
         static_cast<double>(plan.devices);
}

}  // namespace

void AsymptoticPlan::Validate() const {
  RequirePositive(clip_l2, "clip_l2");
  Require(devices >= 1, "devices", devices, "at least 1");
  Require(cohort >= 1 && cohort <= devices, "cohort", cohort, "in [1, devices]");
  RequireDelta(delta);
}

AsymptoticNoise AsymptoticConstantNoise(const AsymptoticPlan& plan, int64_t rounds,
                                        double epsilon) {
  plan.Validate();
  Require(rounds >= 1, "number of rounds", rounds, "at least 1");
  RequirePositive(epsilon, "epsilon");
  return {Unit(plan) * std::sqrt(static_cast<double>(rounds)) / epsilon};
}

AsymptoticEpsilon AsymptoticEpsilonOf(const AsymptoticPlan& plan,
                                      const std::vector<double>& sigmas) {
  plan.Validate();
  Require(!sigmas.empty(), "number of sigmas", sigmas.size(), "at least 1");
  double sum = 0.0;
  for (const double sigma : sigmas) {
    RequirePositive(sigma, "noise_sigma");
    sum += 1 / (sigma * sigma);
  }
  return {Unit(plan) * std::sqrt(sum)};
}

std::vector<double> DynamicNoiseFactors(int64_t rounds, double tau) {
  Require(rounds >= 1 && rounds <= 1000000, "number of rounds", rounds, "in [1, 10^6]");
  Require(tau > 0 && tau <= 1, "tau", tau, "in (0, 1]");
  const double log_tau = std::log(tau);
  LogSum sum;  // S may not fit a double although the factors do
  for (int64_t i = 0; i < rounds; ++i) sum.Add(-static_cast<double>(i) / 2 * log_tau);
  const double log_first = (sum.Log() - std::log(static_cast<double>(rounds))) / 2;
  const double log_last = log_first + static_cast<double>(rounds - 1) / 4 * log_tau;
  Require(log_first < 700 && log_last > -700, "tau", tau, "larger for so many rounds");
  std::vector<double> factors;
  for (int64_t k = 0; k < rounds; ++k) {
    factors.push_back(std::exp(log_first + static_cast<double>(k) / 4 * log_tau));
  }
  return factors;
}

}  // namespace sotto::privacy
