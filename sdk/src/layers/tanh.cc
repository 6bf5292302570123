#include "sotto/layers/tanh.h"

#include "base/exact_arithmetic.h"
#include "nn/functions.h"
#include "nn/kernels.h"

namespace sotto::nn::internal {

void TanhForward(const LayerCall& call) {
  const size_t n = call.info.input.size();
  for (size_t i = 0; i < n; ++i) call.input[i] = HyperbolicTangent(call.input[i]);
  Copy(call.input, n, call.kept);
}

void TanhInputDelta(const LayerCall& call) {
  const Real* y = call.kept;
  const size_t n = call.info.input.size();
  for (size_t i = 0; i < n; ++i) call.input[i] *= Real{1} - y[i] * y[i];
}

}  // namespace sotto::nn::internal
