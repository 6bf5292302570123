#include "base/exact_arithmetic.h"
#include "preparation/numbers.h"

namespace sotto::nn::internal {

void NormaliseFeatures(const PreparationCall& call) {
  Numbers mean(call.step.first);
  Numbers deviation(call.step.second);
  for (float& x : call.features) {
    const float centred = x - mean.Next();
    x = centred / deviation.Next();
  }
}

}  // namespace sotto::nn::internal
