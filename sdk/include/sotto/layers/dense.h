// Fully connected: y = W x + b. Part of sotto/nn.
//
// Parameters: W row-major [outputs][inputs], then b [outputs].
#ifndef SOTTO_LAYERS_DENSE_H_
#define SOTTO_LAYERS_DENSE_H_

#include "sotto/layer.h"

namespace sotto {
namespace nn {
namespace internal {

void DenseForward(const LayerCall& call);
void DenseAddGradient(const LayerCall& call, Real* gradient);
void DenseInputDelta(const LayerCall& call);

}  // namespace internal

constexpr LayerPlan PlanDense(const Shape& input, uint32_t outputs) {
  const uint32_t weights = input.size() * outputs;
  return {{LayerKind::kDense, input, {1, 1, outputs}, {}},
          {internal::DenseForward, internal::DenseAddGradient, internal::DenseInputDelta},
          weights + outputs,
          weights,
          input.size(),
          0,
          0,
          false};
}

}  // namespace nn
}  // namespace sotto

#endif  // SOTTO_LAYERS_DENSE_H_
