// Normalises the channels of a sample in groups, then gives each channel a gain and a bias.
// Part of sotto/nn.
//
//   y = gain[c] (x - mean) / sqrt(variance + 1e-5) + bias[c]
//
// Mean and variance are over all positions and channels of the group, the variance without Bessel's
// correction. They are of one sample: no device has to keep running figures. One group is layer
// normalisation over the whole tensor; as many groups as channels are instance normalisation.
// Source: Wu and He, arXiv:1803.08494, Eq. (1), (2), (6), (7).
//
// Parameters: gain [channels], which starts at 1, then bias [channels], which starts at 0.
//
// Sums: of each channel over the positions in the order of memory, then over the channels of the
// group. The variance is the mean of squared differences from the mean.
//
// Memory: the way back needs the input, so the output is a separate tensor. Kept are the moments
// of each group, mean and 1 / sqrt(variance + 1e-5): with them the input turns into its delta
// number by number, without a copy. Scratch: two numbers a channel.
#pragma once

#include "sotto/layer.h"

namespace sotto {
namespace nn {
namespace internal {

void GroupNormForward(const LayerCall& call);
void GroupNormAddGradient(const LayerCall& call, Real* gradient);
void GroupNormInputDelta(const LayerCall& call);

constexpr LayerPlan GroupNormPlan(uint32_t groups, const Shape& input) {
  LayerPlan plan;
  plan.info = {LayerKind::kGroupNorm, input, input, {}, groups};
  plan.functions = {GroupNormForward, GroupNormAddGradient, GroupNormInputDelta};
  plan.weights = input.channels;
  plan.biases = input.channels;
  plan.fan_in = 1;
  plan.start = {0, input.channels, 1.0f};
  plan.kept = 2 * groups;
  plan.scratch = 2 * input.channels;
  return plan;
}

}  // namespace internal

// LayerInfo::size is `groups`, which divides the channels.
template <uint32_t groups>
struct GroupNorm {
  static_assert(groups >= 1, "there is at least one group");

  static constexpr bool Fits(const Shape& input) { return input.channels % groups == 0; }

  static constexpr LayerPlan Plan(const Shape& input) {
    return internal::GroupNormPlan(groups, input);
  }
};

}  // namespace nn
}  // namespace sotto
