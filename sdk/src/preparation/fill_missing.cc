#include "base/exact_arithmetic.h"
#include "preparation/numbers.h"

namespace sotto::nn::internal {

void FillMissingFeatures(const PreparationCall& call) {
  Numbers value(call.step.first);
  for (float& x : call.features) {
    const float filled = value.Next();
    if ((FloatBits(x) & 0x7fffffff) > 0x7f800000) x = filled;  // NaN
  }
}

}  // namespace sotto::nn::internal
