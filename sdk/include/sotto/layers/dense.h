// Fully connected: y = W x + b. Part of sotto/nn.
//
// Parameters: W row-major [outputs][inputs], then b [outputs].
#pragma once

#include "sotto/layer.h"

namespace sotto {
namespace nn {
namespace internal {

void DenseForward(const LayerCall& call);
void DenseAddGradient(const LayerCall& call, Real* gradient);
void DenseInputDelta(const LayerCall& call);

void FixedDenseForward(const LayerCall& call);
void FixedDenseAddGradient(const LayerCall& call, Real* gradient);
void FixedDenseInputDelta(const LayerCall& call);

constexpr LayerPlan DensePlan(uint32_t outputs, const Shape& input) {
  LayerPlan plan;
  plan.info = {LayerKind::kDense, input, {1, 1, outputs}, {}};
  plan.functions = {DenseForward, DenseAddGradient, DenseInputDelta};
  plan.weights = input.size() * outputs;
  plan.biases = outputs;
  plan.fan_in = input.size();
  plan.is_outer_product = true;
  return plan;
}

// In fixed point: see FixedPoint in nn.h.
constexpr LayerPlan FixedDense(LayerPlan plan) {
  plan.functions = {FixedDenseForward, FixedDenseAddGradient, FixedDenseInputDelta};
  plan.scratch = plan.info.input.size();
  return plan;
}

}  // namespace internal

template <uint32_t inputs, uint32_t outputs>
struct Dense {
  static_assert(inputs >= 1 && outputs >= 1, "a layer has at least one input and one output");

  // A tensor of any shape with as many elements.
  static constexpr bool Fits(const Shape& input) { return input.size() == inputs; }

  static constexpr LayerPlan Plan(const Shape& input) {
    return internal::DensePlan(outputs, input);
  }
  static constexpr LayerPlan FixedPlan(const Shape& input) {
    return internal::FixedDense(Plan(input));
  }
};

}  // namespace nn
}  // namespace sotto
