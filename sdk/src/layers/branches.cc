#include "sotto/layers/branches.h"

#include "base/exact_arithmetic.h"
#include "nn/kernels.h"

namespace sotto::nn::internal {

void ForkForward(const LayerCall& call) { Copy(call.input, call.info.input.size(), call.output); }

// The input holds the delta of its branch.
void ForkInputDelta(const LayerCall& call) {
  AddScaled(Real{1}, call.output, call.info.input.size(), call.input);
}

void AddForward(const LayerCall& call) {
  AddScaled(Real{1}, call.branch, call.info.input.size(), call.input);
}

// Both terms of a sum have its delta.
void AddInputDelta(const LayerCall& call) {
  Copy(call.output, call.info.input.size(), call.branch);
}

}  // namespace sotto::nn::internal
