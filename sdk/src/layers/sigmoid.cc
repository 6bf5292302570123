#include "sotto/layers/sigmoid.h"

#include "base/exact_arithmetic.h"
#include "nn/functions.h"
#include "nn/kernels.h"

namespace sotto::nn::internal {

void SigmoidForward(const LayerCall& call) {
  const size_t n = call.info.input.size();
  for (size_t i = 0; i < n; ++i) call.input[i] = Logistic(call.input[i]);
  Copy(call.input, n, call.kept);
}

void SigmoidInputDelta(const LayerCall& call) {
  const Real* y = call.kept;
  const size_t n = call.info.input.size();
  for (size_t i = 0; i < n; ++i) call.input[i] *= y[i] * (Real{1} - y[i]);
}

}  // namespace sotto::nn::internal
