// The largest value of each channel beneath a window over a sequence [length][channels]: MaxPool2d
// with a window of one row. Part of sotto/nn.
//
// Functions, memory, kind and what happens to equal values and padding: see max_pool2d.h.
#pragma once

#include "sotto/layers/max_pool2d.h"

namespace sotto::nn {

//   size     steps beneath the window
//   stride   by default the windows lie side by side; windows that overlap need a copy of the input
template <uint32_t size, uint32_t stride = size, uint32_t padding = 0>
struct MaxPool1d {
  static_assert(size >= 1 && stride >= 1 && padding < size, "each window touches the input");
  static constexpr Window kWindow = SequenceWindow({size, stride, padding});

  static constexpr bool Fits(const Shape& input) {
    return input.height == 1 && kWindow.FitsInto(input);
  }

  static constexpr LayerPlan Plan(const Shape& input) {
    return internal::MaxPool2dPlan(kWindow, input);
  }
  static constexpr LayerPlan FixedPlan(const Shape& input) {
    return internal::FixedMaxPool2d(Plan(input));
  }
};

}  // namespace sotto::nn
