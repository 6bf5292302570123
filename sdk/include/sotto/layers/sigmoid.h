// y = 1 / (1 + e^-x), in place. Part of sotto/nn.
//
// Back: input delta = output delta * y (1 - y), with y the output. The next layer overwrites the
// output by its delta, so a copy is kept: one number an element.
//
// Initial weights of the layer before it: Glorot.
#pragma once

#include "sotto/layer.h"

namespace sotto {
namespace nn {
namespace internal {

void SigmoidForward(const LayerCall& call);
void SigmoidInputDelta(const LayerCall& call);

constexpr LayerPlan SigmoidPlan(const Shape& input) {
  LayerPlan plan;
  plan.info = {LayerKind::kSigmoid, input, input, {}};
  plan.functions.forward = SigmoidForward;
  plan.functions.input_delta = SigmoidInputDelta;
  plan.kept = input.size();
  plan.is_in_place = true;
  return plan;
}

}  // namespace internal

struct Sigmoid {
  static constexpr bool Fits(const Shape&) { return true; }

  static constexpr LayerPlan Plan(const Shape& input) { return internal::SigmoidPlan(input); }
};

}  // namespace nn
}  // namespace sotto
