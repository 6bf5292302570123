// A convolution of each channel alone, over height and width: no output sees two channels. A Conv2d
// with kernel 1 behind it mixes the channels. Part of sotto/nn.
//
// With multiplier m, channel c of the input gives the channels c m to c m + m - 1 of the output,
// each by its own filter (PyTorch: Conv2d with groups = channels):
//   y[c m + j] = b[c m + j] + sum over the window's pixels p of W[p][c m + j] x[p][c]
//
// Parameters: W [window height][window width][output channels], then b [output channels]. So all
// loops run along channels, which lie side by side. (TensorFlow has the same order: [height][width]
// [channels][multiplier]. PyTorch has [output channels][1][height][width].)
//
// Order of sums, padding skipped:
//   forward         from the bias, pixel by pixel of the window
//   gradient        the running sum, position by position
//   input's delta   from zero, position by position; of one position the sum over j, from zero
//
// Memory: scratch for a row of the window if m > 1, none if m = 1.
#pragma once

#include "sotto/layer.h"

namespace sotto {
namespace nn {
namespace internal {

void DepthwiseConv2dForward(const LayerCall& call);
void DepthwiseConv2dAddGradient(const LayerCall& call, Real* gradient);
void DepthwiseConv2dInputDelta(const LayerCall& call);

constexpr LayerPlan DepthwiseConv2dPlan(const Window& window, uint32_t multiplier,
                                        const Shape& input) {
  const uint32_t outputs = input.channels * multiplier;
  LayerPlan plan;
  plan.info = {LayerKind::kDepthwiseConv2d, input, window.Over(input, outputs), window};
  plan.functions = {DepthwiseConv2dForward, DepthwiseConv2dAddGradient, DepthwiseConv2dInputDelta};
  plan.weights = window.size() * outputs;
  plan.biases = outputs;
  plan.fan_in = window.size();
  plan.axes = {{window.rows.extent, window.columns.extent, outputs, 1}};
  plan.scratch = multiplier == 1 ? 0 : window.columns.extent * outputs;
  return plan;
}

}  // namespace internal

//   kernel      height and width of the window
//   padding     zeros on each of the four sides
//   multiplier  channels of the output for each of the input
template <uint32_t kernel, uint32_t stride = 1, uint32_t padding = 0, uint32_t multiplier = 1>
struct DepthwiseConv2d {
  static_assert(kernel >= 1 && stride >= 1 && multiplier >= 1, "a convolution has a size");
  static_assert(padding < kernel, "each position of the window touches the input");
  static constexpr Window kWindow = SquareWindow({kernel, stride, padding});

  static constexpr bool Fits(const Shape& input) { return kWindow.FitsInto(input); }

  static constexpr LayerPlan Plan(const Shape& input) {
    return internal::DepthwiseConv2dPlan(kWindow, multiplier, input);
  }
};

}  // namespace nn
}  // namespace sotto
