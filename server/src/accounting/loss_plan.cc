#include "accounting/loss_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "accounting/log_space.h"

namespace sotto::privacy {
namespace {

// K of one round from its samples.
Cumulants CumulantsAt(const std::vector<LossSample>& samples, double lambda) {
  double peak = -kInfinity;
  for (const LossSample& s : samples) peak = std::max(peak, s.log_mass + lambda * s.loss);
  double total = 0.0;
  double first = 0.0;
  double second = 0.0;
  for (const LossSample& s : samples) {
    const double weight = std::exp(s.log_mass + lambda * s.loss - peak);
    total += weight;
    first += weight * s.loss;
    second += weight * s.loss * s.loss;
  }
  const double mean = first / total;
  return {peak + std::log(total), mean, std::max(second / total - mean * mean, 0.0)};
}

}  // namespace

LossPlan::LossPlan(const std::vector<LossGroup>& groups, LossSamples samples) {
  for (const LossGroup& group : groups) {
    Part part = {SampleLoss(group.loss), static_cast<double>(group.rounds), 0.0, 0.0};
    parts_.push_back(samples == LossSamples::kRaw ? std::move(part) : Normalised(std::move(part)));
  }
}

LossPlan::Part LossPlan::Normalised(Part part) const {
  const Cumulants raw = CumulantsAt(part.samples, 0);
  part.log_total = raw.value;
  const double half_cell = std::abs(raw.mean) / (4 * kCellsPerOctave);
  part.cell_variance = half_cell * half_cell;
  return part;
}

Cumulants LossPlan::At(double lambda) const {
  Cumulants sum;
  for (const Part& part : parts_) {
    const Cumulants one = CumulantsAt(part.samples, lambda);
    const double spread = part.cell_variance;
    sum.value += part.rounds * (one.value - part.log_total + spread * lambda * lambda / 2);
    sum.mean += part.rounds * (one.mean + spread * lambda);
    sum.variance += part.rounds * (one.variance + spread);
  }
  return sum;
}

double LossPlan::BestTilt(double log_delta) const {
  constexpr double kGolden = 0.61803398874989484820;
  const auto bound = [&](double t) { return (At(std::exp(t)).value - log_delta) * std::exp(-t); };
  const double log_deviation = std::log(At(0).variance) / 2;
  double low = std::log(0.01) - log_deviation;
  double high = std::log(200.0) - log_deviation;
  double left = high - kGolden * (high - low);
  double right = low + kGolden * (high - low);
  double at_left = bound(left);
  double at_right = bound(right);
  while (high - low > 0.02) {  // 13 steps; none if the variance is 0
    if (at_left <= at_right) {
      high = right;
      right = left;
      at_right = at_left;
      at_left = bound(left = high - kGolden * (high - low));
    } else {
      low = left;
      left = right;
      at_left = at_right;
      at_right = bound(right = low + kGolden * (high - low));
    }
  }
  return std::exp((low + high) / 2);
}

double LossPlan::BestExponent(double lambda, double sign, double log_outside) const {
  const Cumulants tilted = At(lambda);
  const double guess = std::sqrt(2 * log_outside / tilted.variance);
  double best = guess;
  double closest = kInfinity;
  for (const double factor : {0.06, 0.12, 0.25, 0.4, 0.6, 0.8, 1.0, 1.25}) {
    const double mu = factor * guess;
    const double end = (At(lambda + sign * mu).value - tilted.value + log_outside) / mu;
    if (end < closest) {
      closest = end;
      best = mu;
    }
  }
  return sign * best;
}

}  // namespace sotto::privacy
