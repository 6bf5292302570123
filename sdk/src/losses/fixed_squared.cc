// Mean squared error in fixed point.
#include "base/exact_arithmetic.h"
#include "nn/fixed_net_kernels.h"
#include "sotto/loss.h"

namespace sotto::nn::internal {

// An error is an Activation, its derivative a Delta: both saturate, which bounds the step that an
// outlier makes.
float FixedSquaredErrors(Span<float> outputs, const Target& target) {
  const auto n = static_cast<uint32_t>(outputs.size());
  const int64_t share_q30 = ((1u << 30) + n / 2) / n;
  uint64_t sum = 0;  // in units of 2^-32
  for (size_t k = 0; k < n; ++k) {
    const Activation error =
        Activation::FromRaw(LoadRaw(&outputs[k])) - Activation::FromRaw(LoadRaw(&target.vector[k]));
    sum += static_cast<uint64_t>(int64_t{error.raw()} * error.raw()) >> 16;
    StoreRaw(Delta::Round<53>(error.raw() * share_q30).raw(), &outputs[k]);
  }
  return static_cast<float>(sum) * 0x1p-32f / static_cast<float>(n);
}

}  // namespace sotto::nn::internal
