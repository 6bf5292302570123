// Reads a tensor as a vector: nothing moves, since the order of memory stays. Part of sotto/nn.
#pragma once

#include "sotto/layer.h"

namespace sotto::nn {

namespace internal {

constexpr LayerPlan FlattenPlan(const Shape& input) {
  LayerPlan plan;
  plan.info = {LayerKind::kFlatten, input, {1, 1, input.size()}, {}};
  plan.is_in_place = true;
  return plan;
}

}  // namespace internal

struct Flatten {
  static constexpr bool Fits(const Shape&) { return true; }

  static constexpr LayerPlan Plan(const Shape& input) { return internal::FlattenPlan(input); }
  static constexpr LayerPlan FixedPlan(const Shape& input) { return Plan(input); }
};

}  // namespace sotto::nn
