// max(0, x), in place. Part of sotto/nn.
//
// The next layer overwrites the activation by its delta, so the signs are kept: one bit an element.
#pragma once

#include "sotto/layer.h"

namespace sotto {
namespace nn {
namespace internal {

void ReluForward(const LayerCall& call);
void ReluInputDelta(const LayerCall& call);

void FixedReluForward(const LayerCall& call);
void FixedReluInputDelta(const LayerCall& call);

constexpr LayerPlan ReluPlan(const Shape& input) {
  LayerPlan plan;
  plan.info = {LayerKind::kRelu, input, input, {}};
  plan.functions.forward = ReluForward;
  plan.functions.input_delta = ReluInputDelta;
  plan.kept = (input.size() + 31) / 32;
  plan.is_in_place = true;
  return plan;
}

// In fixed point: see FixedPoint in nn.h.
constexpr LayerPlan FixedRelu(LayerPlan plan) {
  plan.functions.forward = FixedReluForward;
  plan.functions.input_delta = FixedReluInputDelta;
  return plan;
}

}  // namespace internal

struct Relu {
  static constexpr bool Fits(const Shape&) { return true; }

  static constexpr LayerPlan Plan(const Shape& input) { return internal::ReluPlan(input); }
  static constexpr LayerPlan FixedPlan(const Shape& input) {
    return internal::FixedRelu(Plan(input));
  }
};

}  // namespace nn
}  // namespace sotto
