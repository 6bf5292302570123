#include "sotto/layers/dense.h"

#include "base/exact_arithmetic.h"
#include "nn/kernels.h"

namespace sotto::nn::internal {

void DenseForward(const LayerCall& call) {
  const size_t inputs = call.info.input.size();
  const size_t outputs = call.info.output.size();
  nn::DenseForward(call.parameters, call.parameters + inputs * outputs, call.input, inputs, outputs,
                   call.output);
}

void DenseAddGradient(const LayerCall& call, Real* gradient) {
  const size_t inputs = call.info.input.size();
  const size_t outputs = call.info.output.size();
  AddOuterProduct(call.output, outputs, call.input, inputs, gradient);
  AddScaled(Real{1}, call.output, outputs, gradient + inputs * outputs);
}

void DenseInputDelta(const LayerCall& call) {
  TransposedProduct(call.parameters, call.output, call.info.input.size(), call.info.output.size(),
                    call.input);
}

}  // namespace sotto::nn::internal
