// A convolution over height and width: at each position of the window, y = W patch + b.
// Part of sotto/nn.
//
// Parameters: W row-major [outputs][window height][window width][input channels], then b [outputs].
// So a patch, the input's values beneath the window, is one row's vector, and a convolution is a
// fully connected layer over gathered patches; only its sums have another order: from the bias on,
// in the order of the patch. (PyTorch has [outputs][channels][height][width].)
#pragma once

#include "sotto/layer.h"

namespace sotto {
namespace nn {
namespace internal {

void Conv2dForward(const LayerCall& call);
void Conv2dAddGradient(const LayerCall& call, Real* gradient);
void Conv2dInputDelta(const LayerCall& call);

void FixedConv2dForward(const LayerCall& call);
void FixedConv2dAddGradient(const LayerCall& call, Real* gradient);
void FixedConv2dInputDelta(const LayerCall& call);

constexpr uint32_t kPositionsAtOnce = 4;  // whose patches Conv2dForward() gathers in scratch

constexpr LayerPlan Conv2dPlan(uint32_t outputs, const Window& window, const Shape& input) {
  const uint32_t patch = window.size() * input.channels;
  LayerPlan plan;
  plan.info = {LayerKind::kConv2d, input, window.Over(input, outputs), window};
  plan.functions = {Conv2dForward, Conv2dAddGradient, Conv2dInputDelta};
  plan.weights = outputs * patch;
  plan.biases = outputs;
  plan.fan_in = patch;
  plan.axes = {{outputs, window.rows.extent, window.columns.extent, input.channels}};
  plan.scratch = patch * kPositionsAtOnce;
  return plan;
}

// In fixed point: see FixedPoint in nn.h.
constexpr LayerPlan FixedConv2d(LayerPlan plan) {
  plan.functions = {FixedConv2dForward, FixedConv2dAddGradient, FixedConv2dInputDelta};
  plan.scratch = plan.fan_in;
  return plan;
}

}  // namespace internal

//   outputs  channels of the output
//   kernel   height and width of the window
//   padding  zeros on each of the four sides
template <uint32_t outputs, uint32_t kernel, uint32_t stride = 1, uint32_t padding = 0>
struct Conv2d {
  static_assert(outputs >= 1 && kernel >= 1 && stride >= 1, "a convolution has a size");
  static_assert(padding < kernel, "each position of the window touches the input");
  static constexpr Window kWindow = SquareWindow({kernel, stride, padding});

  static constexpr bool Fits(const Shape& input) { return kWindow.FitsInto(input); }

  static constexpr LayerPlan Plan(const Shape& input) {
    return internal::Conv2dPlan(outputs, kWindow, input);
  }
  static constexpr LayerPlan FixedPlan(const Shape& input) {
    return internal::FixedConv2d(Plan(input));
  }
};

}  // namespace nn
}  // namespace sotto
