// The largest value beneath a window, for each channel. Part of sotto/nn.
//
// Of equal values the first one, in the order of memory, passes the delta on. No index is stored.
// Padding is never the largest: a window that lies in the padding alone does not exist.
#pragma once

#include "sotto/layer.h"

namespace sotto {
namespace nn {
namespace internal {

void MaxPool2dForward(const LayerCall& call);
void MaxPool2dInputDelta(const LayerCall& call);
void OverlappingMaxPool2dInputDelta(const LayerCall& call);

void FixedMaxPool2dForward(const LayerCall& call);
void FixedMaxPool2dInputDelta(const LayerCall& call);
void FixedOverlappingMaxPool2dInputDelta(const LayerCall& call);

constexpr LayerPlan MaxPool2dPlan(const Window& window, const Shape& input) {
  LayerPlan plan;
  plan.info = {LayerKind::kMaxPool2d, input, window.Over(input, input.channels), window};
  plan.functions.forward = MaxPool2dForward;
  plan.functions.input_delta = MaxPool2dInputDelta;
  plan.scratch = input.channels;
  if (window.Overlaps()) {
    plan.functions.input_delta = OverlappingMaxPool2dInputDelta;
    plan.scratch = input.size();
  }
  return plan;
}

// In fixed point: see FixedPoint in nn.h.
constexpr LayerPlan FixedMaxPool2d(LayerPlan plan) {
  const bool overlaps = plan.info.window.Overlaps();
  plan.functions.forward = FixedMaxPool2dForward;
  plan.functions.input_delta =
      overlaps ? FixedOverlappingMaxPool2dInputDelta : FixedMaxPool2dInputDelta;
  plan.scratch = overlaps ? plan.info.input.size() : 0;
  return plan;
}

}  // namespace internal

//   size     height and width of the window
//   stride   by default the windows lie side by side; windows that overlap need a copy of the input
template <uint32_t size, uint32_t stride = size, uint32_t padding = 0>
struct MaxPool2d {
  static_assert(size >= 1 && stride >= 1 && padding < size, "each window touches the input");
  static constexpr Window kWindow = SquareWindow({size, stride, padding});

  static constexpr bool Fits(const Shape& input) { return kWindow.FitsInto(input); }

  static constexpr LayerPlan Plan(const Shape& input) {
    return internal::MaxPool2dPlan(kWindow, input);
  }
  static constexpr LayerPlan FixedPlan(const Shape& input) {
    return internal::FixedMaxPool2d(Plan(input));
  }
};

}  // namespace nn
}  // namespace sotto
