#include "base/exact_arithmetic.h"
#include "sotto/loss.h"

namespace sotto::nn::internal {

Real SquaredErrors(Span<Real> outputs, const Target& target) {
  const Real share = Real{1} / static_cast<Real>(outputs.size());
  Real sum{0};
  for (size_t k = 0; k < outputs.size(); ++k) {
    const Real error = outputs[k] - target.vector[k];
    sum += error * error;
    outputs[k] = Real{2} * share * error;
  }
  return share * sum;
}

}  // namespace sotto::nn::internal
