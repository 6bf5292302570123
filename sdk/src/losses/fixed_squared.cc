// Mean squared error in fixed point.
#include "base/exact_arithmetic.h"
#include "losses/fixed_squares.h"
#include "sotto/loss.h"

namespace sotto::nn::internal {

// An error is an Activation, its derivative a Delta: both saturate, which bounds the step that an
// outlier makes.
float FixedSquaredErrors(Span<float> outputs, const Target& target) {
  const auto n = static_cast<uint32_t>(outputs.size());
  const int64_t share_q30 = ((1u << 30) + n / 2) / n;
  FixedSquares squares;
  for (size_t k = 0; k < n; ++k) {
    const Activation error =
        Activation::FromRaw(LoadRaw(&outputs[k])) - Activation::FromRaw(LoadRaw(&target.vector[k]));
    squares.Add(error);
    StoreRaw(Delta::Round<53>(error.raw() * share_q30).raw(), &outputs[k]);
  }
  return squares.Mean(n);
}

}  // namespace sotto::nn::internal
