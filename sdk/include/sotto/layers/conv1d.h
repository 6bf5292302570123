// A convolution over a sequence [length][channels]: Conv2d with a window of one row.
// Part of sotto/nn.
//
//   using Net = sotto::nn::Sequential<
//       sotto::nn::Input<128, 3>,  // 128 steps of 3 channels
//       sotto::nn::Conv1d<8, 5, 2>, sotto::nn::Relu, sotto::nn::MaxPool1d<2>,
//       sotto::nn::Flatten, sotto::nn::Dense<248, 4>>;
//
// Parameters: W row-major [outputs][kernel][input channels], then b [outputs]. Functions, order of
// sums, memory and kind are the same as of Conv2d: see conv2d.h.
#pragma once

#include "sotto/layers/conv2d.h"

namespace sotto::nn {

//   outputs  channels of the output
//   kernel   steps beneath the window
//   padding  zeros at each of the two ends
template <uint32_t outputs, uint32_t kernel, uint32_t stride = 1, uint32_t padding = 0>
struct Conv1d {
  static_assert(outputs >= 1 && kernel >= 1 && stride >= 1, "a convolution has a size");
  static_assert(padding < kernel, "each position of the window touches the input");
  static constexpr Window kWindow = SequenceWindow({kernel, stride, padding});

  static constexpr bool Fits(const Shape& input) {
    return input.height == 1 && kWindow.FitsInto(input);
  }

  static constexpr LayerPlan Plan(const Shape& input) {
    return internal::Conv2dPlan(outputs, kWindow, input);
  }
  static constexpr LayerPlan FixedPlan(const Shape& input) {
    return internal::FixedConv2d(Plan(input));
  }
};

}  // namespace sotto::nn
