#include "base/exact_arithmetic.h"
#include "preparation/numbers.h"

namespace sotto::nn::internal {

void RescaleFeatures(const PreparationCall& call) {
  Numbers factor(call.step.first);
  Numbers offset(call.step.second);
  for (float& x : call.features) {
    const float scaled = factor.Next() * x;
    x = scaled + offset.Next();
  }
}

}  // namespace sotto::nn::internal
