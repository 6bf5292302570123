// Divides each number by a power of the energy of its neighbours: those at the same position, in
// the `size` channels around its own. Part of sotto/nn.
//
//   y[c] = x[c] s[c]^-0.75,   s[c] = 1 + 1e-4 / size * (sum of x[i]^2, |i - c| <= size / 2)
//
// Channels that do not exist count as zeros. These are the formula and the constants of PyTorch's
// nn.LocalResponseNorm (alpha 1e-4, beta 0.75, k 1). AlexNet's own (Krizhevsky, Sutskever, Hinton,
// NIPS 2012, section 3.3) has 1e-4 without the division by size, and k = 2.
//
// No parameters. The power is 1 / (sqrt(s) sqrt(sqrt(s))): IEEE 754 rounds square roots correctly,
// so every CPU gets the same bits. Sums run over the channels in their order.
//
// Memory: the way back needs the input, so the output is a separate tensor; nothing is kept.
// Scratch: two numbers a channel, since a delta depends on inputs that deltas have replaced.
#pragma once

#include "sotto/layer.h"

namespace sotto {
namespace nn {
namespace internal {

void LocalResponseNormForward(const LayerCall& call);
void LocalResponseNormInputDelta(const LayerCall& call);

constexpr LayerPlan LocalResponseNormPlan(uint32_t size, const Shape& input) {
  LayerPlan plan;
  plan.info = {LayerKind::kLocalResponseNorm, input, input, {}, size};
  plan.functions.forward = LocalResponseNormForward;
  plan.functions.input_delta = LocalResponseNormInputDelta;
  plan.scratch = 2 * input.channels;
  return plan;
}

}  // namespace internal

// LayerInfo::size is `size`.
template <uint32_t size>
struct LocalResponseNorm {
  static_assert(size % 2 == 1, "the window has as many channels on either side");

  static constexpr bool Fits(const Shape&) { return true; }

  static constexpr LayerPlan Plan(const Shape& input) {
    return internal::LocalResponseNormPlan(size, input);
  }
};

}  // namespace nn
}  // namespace sotto
