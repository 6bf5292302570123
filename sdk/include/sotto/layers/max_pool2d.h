// The largest value beneath a window, for each channel. Part of sotto/nn.
//
// Of equal values the first one, in the order of memory, passes the delta on. No index is stored.
// Padding is never the largest: a window that lies in the padding alone does not exist.
#ifndef SOTTO_LAYERS_MAX_POOL2D_H_
#define SOTTO_LAYERS_MAX_POOL2D_H_

#include "sotto/layer.h"

namespace sotto {
namespace nn {
namespace internal {

void MaxPool2dForward(const LayerCall& call);
void MaxPool2dInputDelta(const LayerCall& call);
void OverlappingMaxPool2dInputDelta(const LayerCall& call);

}  // namespace internal

//   size     height and width of the window
//   stride   by default the windows lie side by side; windows that overlap need a copy of the input
template <uint32_t size, uint32_t stride = size, uint32_t padding = 0>
struct MaxPool2d {
  static_assert(size >= 1 && stride >= 1 && padding < size, "each window touches the input");
  static constexpr Window kWindow = {size, size, stride, padding};

  static constexpr bool Fits(const Shape& input) { return kWindow.FitsInto(input); }

  static constexpr LayerPlan Plan(const Shape& input) {
    LayerPlan plan;
    plan.info = {LayerKind::kMaxPool2d, input, kWindow.Over(input, input.channels), kWindow};
    plan.functions.forward = internal::MaxPool2dForward;
    plan.functions.input_delta = internal::MaxPool2dInputDelta;
    if constexpr (stride < size) {
      plan.functions.input_delta = internal::OverlappingMaxPool2dInputDelta;
      plan.scratch = input.size();
    }
    return plan;
  }
};

}  // namespace nn
}  // namespace sotto

#endif  // SOTTO_LAYERS_MAX_POOL2D_H_
