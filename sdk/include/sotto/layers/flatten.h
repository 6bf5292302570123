// Reads a tensor as a vector: nothing moves, since the order of memory stays. Part of sotto/nn.
#ifndef SOTTO_LAYERS_FLATTEN_H_
#define SOTTO_LAYERS_FLATTEN_H_

#include "sotto/layer.h"

namespace sotto {
namespace nn {

constexpr LayerPlan PlanFlatten(const Shape& input) {
  return {{LayerKind::kFlatten, input, {1, 1, input.size()}, {}},
          {nullptr, nullptr, nullptr},
          0,
          0,
          0,
          0,
          0,
          true};
}

}  // namespace nn
}  // namespace sotto

#endif  // SOTTO_LAYERS_FLATTEN_H_
