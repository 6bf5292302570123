#include "plans/adaptive_clip.h"

#include <algorithm>
#include <cmath>

#include "accounting/arguments.h"

namespace sotto::privacy {
namespace {

constexpr double kMinClip = 1e-30;
constexpr double kMaxClip = 1e30;

// Of the sum of the +-1/2 bits.
double BitSensitivity(Adjacency adjacency) { return SensitivityFactor(adjacency) / 2; }

}  // namespace

NoiseSplit SplitNoise(Adjacency adjacency, double noise_multiplier, double bit_share) {
  RequirePositive(noise_multiplier, "noise multiplier");
  Require(bit_share > 0 && bit_share < 1, "bit share", bit_share, "in (0, 1)");
  NoiseSplit split;
  split.update_noise_multiplier = noise_multiplier / std::sqrt(1 - bit_share);
  split.bit_noise_multiplier = noise_multiplier / std::sqrt(bit_share);
  split.bit_sum_deviation = split.bit_noise_multiplier * BitSensitivity(adjacency);
  split.bit_scale_per_clip = 2 * std::sqrt(bit_share / (1 - bit_share));
  return split;
}

double BitShare(Adjacency adjacency, double noise_multiplier, double bit_sum_deviation) {
  RequirePositive(noise_multiplier, "noise multiplier");
  RequirePositive(bit_sum_deviation, "deviation of the bit sum");
  const double ratio = noise_multiplier * BitSensitivity(adjacency) / bit_sum_deviation;
  const double share = ratio * ratio;
  Require(share < 1, "deviation of the bit sum", bit_sum_deviation,
          "above the noise multiplier times the bits' sensitivity");
  return share;
}

double JointClip(double clip_l2, double bit_scale) {
  RequirePositive(clip_l2, "clip_l2");
  RequirePositive(bit_scale, "bit scale");
  return std::hypot(clip_l2, bit_scale / 2);
}

double UnclippedFraction(double noisy_bit_sum, double planned_reports) {
  Require(std::isfinite(noisy_bit_sum), "noisy bit sum", noisy_bit_sum, "finite");
  RequirePositive(planned_reports, "planned reports");
  return std::clamp(0.5 + noisy_bit_sum / planned_reports, 0.0, 1.0);
}

void ClipSchedule::Validate() const {
  Require(quantile >= 0 && quantile <= 1, "clip quantile", quantile, "in [0, 1]");
  Require(learning_rate > 0 && learning_rate <= 10, "clip learning rate", learning_rate,
          "in (0, 10]");
}

double NextClip(double clip_l2, double fraction, const ClipSchedule& schedule) {
  schedule.Validate();
  Require(clip_l2 >= kMinClip && clip_l2 <= kMaxClip, "clip_l2", clip_l2, "in [1e-30, 1e30]");
  Require(fraction >= 0 && fraction <= 1, "unclipped fraction", fraction, "in [0, 1]");
  const double exponent = -schedule.learning_rate * (fraction - schedule.quantile);
  return std::clamp(clip_l2 * std::exp(exponent), kMinClip, kMaxClip);
}

}  // namespace sotto::privacy
