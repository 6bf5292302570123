// max(0, x), in place. Part of sotto/nn.
//
// The next layer overwrites the activation by its delta, so the signs are kept: one bit an element.
#ifndef SOTTO_LAYERS_RELU_H_
#define SOTTO_LAYERS_RELU_H_

#include "sotto/layer.h"

namespace sotto {
namespace nn {
namespace internal {

void ReluForward(const LayerCall& call);
void ReluInputDelta(const LayerCall& call);

}  // namespace internal

constexpr LayerPlan PlanRelu(const Shape& input) {
  return {{LayerKind::kRelu, input, input, {}},
          {internal::ReluForward, nullptr, internal::ReluInputDelta},
          0,
          0,
          0,
          (input.size() + 31) / 32,
          0,
          true};
}

}  // namespace nn
}  // namespace sotto

#endif  // SOTTO_LAYERS_RELU_H_
