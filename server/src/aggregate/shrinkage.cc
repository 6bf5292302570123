// The estimators `james-stein`, `james-stein-plus` and `soft-threshold`: the mean, with each tensor
// shrunk on its own by what the deviation s of its noise tells. Part of sotto::server/aggregate.
//
// Let v be a tensor of d elements of the mean update, each with noise of deviation s.
//   james-stein       v (1 - (d - 2) s^2 / |v|^2) for d >= 3; else v. The factor may be negative,
//                     as in the code of DP-Fed-LS.
//   james-stein-plus  the same with a factor of at least 0, which is never worse
//   soft-threshold    sign(v) max(|v| - s sqrt(2 ln d), 0), element by element
// Without noise each of them is the mean. Sums are in double, in the order of the elements.
//
// Source: Balle and Wang, "Improving the Gaussian Mechanism for Differential Privacy" (2018), which
// DP-Fed-LS compares with (Table 6).
#include <algorithm>
#include <cmath>
#include <memory>

#include "aggregate/estimator.h"
#include "aggregate/options.h"

namespace sotto::server {
namespace {

// What a tensor is multiplied by; at least `floor`.
double JamesSteinFactor(Span<const float> values, double sigma, double floor) {
  double energy = 0;
  for (const float value : values) {
    energy += static_cast<double>(value) * static_cast<double>(value);
  }
  if (values.size() < 3 || !(energy > 0)) return 1;
  const double noise = static_cast<double>(values.size() - 2) * sigma * sigma;
  return std::max(1 - noise / energy, floor);
}

class JamesStein : public Estimator {
 public:
  explicit JamesStein(double floor) : floor_(floor) {}

  std::vector<float> Estimate(const NoisySum& noisy) const override {
    return MeanChanged(noisy, [&](const TrainedTensor&, Span<float> values) {
      const double factor = JamesSteinFactor(values, noisy.noise_sigma, floor_);
      for (float& value : values) value = static_cast<float>(static_cast<double>(value) * factor);
    });
  }

 private:
  double floor_;
};

class SoftThreshold : public Estimator {
 public:
  std::vector<float> Estimate(const NoisySum& noisy) const override {
    return MeanChanged(noisy, [&](const TrainedTensor&, Span<float> values) {
      const double threshold =
          noisy.noise_sigma * std::sqrt(2 * std::log(static_cast<double>(values.size())));
      for (float& value : values) {
        const double magnitude = std::fabs(static_cast<double>(value)) - threshold;
        value = static_cast<float>(std::copysign(std::max(magnitude, 0.0), value));
      }
    });
  }
};

}  // namespace

std::unique_ptr<const Estimator> MakeJamesStein(const AggregationOptions&) {
  return std::make_unique<JamesStein>(-HUGE_VAL);
}

std::unique_ptr<const Estimator> MakeJamesSteinPlus(const AggregationOptions&) {
  return std::make_unique<JamesStein>(0.0);
}

std::unique_ptr<const Estimator> MakeSoftThreshold(const AggregationOptions&) {
  return std::make_unique<SoftThreshold>();
}

}  // namespace sotto::server
