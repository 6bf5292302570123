// y = tanh(x), in place. Part of sotto/nn.
//
// Back: input delta = output delta * (1 - y^2), with y the output. The next layer overwrites the
// output by its delta, so a copy is kept: one number an element.
//
// Initial weights of the layer before it: Glorot.
#pragma once

#include "sotto/layer.h"

namespace sotto {
namespace nn {
namespace internal {

void TanhForward(const LayerCall& call);
void TanhInputDelta(const LayerCall& call);

constexpr LayerPlan TanhPlan(const Shape& input) {
  LayerPlan plan;
  plan.info = {LayerKind::kTanh, input, input, {}};
  plan.functions.forward = TanhForward;
  plan.functions.input_delta = TanhInputDelta;
  plan.kept = input.size();
  plan.is_in_place = true;
  return plan;
}

}  // namespace internal

struct Tanh {
  static constexpr bool Fits(const Shape&) { return true; }

  static constexpr LayerPlan Plan(const Shape& input) { return internal::TanhPlan(input); }
};

}  // namespace nn
}  // namespace sotto
