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

// Windows that overlap need a copy of the input on the way back: its delta is a sum.
constexpr LayerPlan PlanMaxPool2d(const Shape& input, const Window& window) {
  const Shape output = {window.Positions(input.height, window.height),
                        window.Positions(input.width, window.width), input.channels};
  const bool overlaps = window.stride < window.height || window.stride < window.width;
  return {{LayerKind::kMaxPool2d, input, output, window},
          {internal::MaxPool2dForward, nullptr,
           overlaps ? internal::OverlappingMaxPool2dInputDelta : internal::MaxPool2dInputDelta},
          0,
          0,
          0,
          0,
          overlaps ? input.size() : 0,
          false};
}

}  // namespace nn
}  // namespace sotto

#endif  // SOTTO_LAYERS_MAX_POOL2D_H_
