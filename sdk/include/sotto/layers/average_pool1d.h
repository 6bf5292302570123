// The mean of each channel beneath a window over a sequence [length][channels]: AveragePool2d with
// a window of one row. Part of sotto/nn.
//
// Padding does not count in the mean. Functions, order of sums and kind: see average_pool2d.h,
// which also has the mean over the whole length.
#pragma once

#include "sotto/layers/average_pool2d.h"

namespace sotto::nn {

//   size     steps beneath the window
//   stride   by default the windows lie side by side
template <uint32_t size, uint32_t stride = size, uint32_t padding = 0>
struct AveragePool1d {
  static_assert(size >= 1 && stride >= 1 && padding < size, "each window touches the input");
  static constexpr Window kWindow = SequenceWindow({size, stride, padding});

  static constexpr bool Fits(const Shape& input) {
    return input.height == 1 && kWindow.FitsInto(input);
  }

  static constexpr LayerPlan Plan(const Shape& input) {
    return internal::AveragePool2dPlan(kWindow, input);
  }
  static constexpr LayerPlan FixedPlan(const Shape& input) {
    return internal::FixedAveragePool2d(Plan(input));
  }
};

}  // namespace sotto::nn
