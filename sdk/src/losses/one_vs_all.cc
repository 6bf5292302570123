#include "base/exact_arithmetic.h"
#include "nn/functions.h"
#include "sotto/loss.h"

namespace sotto::nn::internal {

// log(1 + e^y) = max(y, 0) + log(1 + e^-|y|), which does not overflow.
Real OneVsAllErrors(Span<Real> outputs, const Target& target) {
  const uint32_t positive = outputs.size() == 1 ? 1 - target.label : target.label;
  Real loss{0};
  for (uint32_t k = 0; k < outputs.size(); ++k) {
    const Real y = outputs[k];
    const bool is_above = y > Real{0};
    const Real t = k == positive ? Real{1} : Real{0};
    loss += (is_above ? y : Real{0}) + Log(Real{1} + Exp(is_above ? -y : y)) - t * y;
    outputs[k] = Logistic(y) - t;
  }
  return loss;
}

}  // namespace sotto::nn::internal
