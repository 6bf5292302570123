// The mean of the values beneath a window, for each channel. Part of sotto/nn.
//
// Padding does not count: at the edges it is the mean of the window's values within the input, so
// equal values stay equal. (PyTorch: count_include_pad=False, which is not its default.
// TensorFlow's average_pool is the same.) A window that lies in the padding alone does not exist.
//
// y = s * sum of x, s = 1 / count. The sum runs from zero, row by row; then it is multiplied by s,
// rounded. Back: each x beneath the window gets s * delta; what lies beneath several windows adds
// theirs in the order of the windows. The input's values are not needed, so there is no scratch.
#pragma once

#include "sotto/layer.h"

namespace sotto {
namespace nn {
namespace internal {

void AveragePool2dForward(const LayerCall& call);
void AveragePool2dInputDelta(const LayerCall& call);

void FixedAveragePool2dForward(const LayerCall& call);
void FixedAveragePool2dInputDelta(const LayerCall& call);

constexpr LayerPlan AveragePool2dPlan(const Window& window, const Shape& input) {
  LayerPlan plan;
  plan.info = {LayerKind::kAveragePool2d, input, window.Over(input, input.channels), window};
  plan.functions.forward = AveragePool2dForward;
  plan.functions.input_delta = AveragePool2dInputDelta;
  return plan;
}

// In fixed point: see FixedPoint in nn.h.
constexpr LayerPlan FixedAveragePool2d(LayerPlan plan) {
  plan.functions.forward = FixedAveragePool2dForward;
  plan.functions.input_delta = FixedAveragePool2dInputDelta;
  return plan;
}

constexpr LayerPlan GlobalAverage2dPlan(const Shape& input) {
  return AveragePool2dPlan({{input.height, 1, 0}, {input.width, 1, 0}}, input);
}

}  // namespace internal

//   size     height and width of the window
//   stride   by default the windows lie side by side
//   padding  on each of the four sides; see above
template <uint32_t size, uint32_t stride = size, uint32_t padding = 0>
struct AveragePool2d {
  static_assert(size >= 1 && stride >= 1 && padding < size, "each window touches the input");
  static constexpr Window kWindow = SquareWindow({size, stride, padding});

  static constexpr bool Fits(const Shape& input) { return kWindow.FitsInto(input); }

  static constexpr LayerPlan Plan(const Shape& input) {
    return internal::AveragePool2dPlan(kWindow, input);
  }
  static constexpr LayerPlan FixedPlan(const Shape& input) {
    return internal::FixedAveragePool2d(Plan(input));
  }
};

// One window over the whole input, of any height and width: a vector of the channels' means. Over a
// sequence, the mean over its length.
struct GlobalAverage2d {
  static constexpr bool Fits(const Shape&) { return true; }

  static constexpr LayerPlan Plan(const Shape& input) {
    return internal::GlobalAverage2dPlan(input);
  }
  static constexpr LayerPlan FixedPlan(const Shape& input) {
    return internal::FixedAveragePool2d(Plan(input));
  }
};

}  // namespace nn
}  // namespace sotto
