// Dense in fixed point.
#include "base/exact_arithmetic.h"
#include "nn/fixed_net_kernels.h"
#include "sotto/layers/dense.h"

namespace sotto::nn::internal {

void FixedDenseForward(const LayerCall& call) {
  const size_t inputs = call.info.input.size();
  const size_t outputs = call.info.output.size();
  FixedShift(call.input, inputs, OperandShift(inputs), call.scratch);
  *call.saturated |= FixedRowProducts(call.parameters, call.parameters + inputs * outputs,
                                      call.scratch, inputs, outputs, call.output);
}

void FixedDenseAddGradient(const LayerCall& call, float* gradient) {
  const size_t inputs = call.info.input.size();
  const size_t outputs = call.info.output.size();
  *call.saturated |= FixedAddOuterProduct(call.output, outputs, call.input, inputs, gradient);
  *call.saturated |= FixedAddDeltas(call.output, outputs, gradient + inputs * outputs);
}

void FixedDenseInputDelta(const LayerCall& call) {
  const size_t inputs = call.info.input.size();
  const size_t outputs = call.info.output.size();
  FixedShift(call.output, outputs, OperandShift(outputs), call.output);
  *call.saturated |=
      FixedTransposedProduct(call.parameters, call.output, inputs, outputs, call.input);
}

}  // namespace sotto::nn::internal
