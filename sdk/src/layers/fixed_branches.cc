// Fork and Add in fixed point. The ends of a sum's branches have its delta, unchanged.
#include "nn/fixed_net_kernels.h"
#include "sotto/layers/branches.h"

namespace sotto::nn::internal {

void FixedForkInputDelta(const LayerCall& call) {
  if (nn::FixedAdd(call.output, call.info.input.size(), call.input)) *call.saturated = true;
}

void FixedAddForward(const LayerCall& call) {
  if (nn::FixedAdd(call.branch, call.info.input.size(), call.input)) *call.saturated = true;
}

}  // namespace sotto::nn::internal
