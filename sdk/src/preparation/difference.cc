#include "base/exact_arithmetic.h"
#include "sotto/preparation.h"

namespace sotto::nn::internal {

void DifferenceFeatures(const PreparationCall& call) {
  const uint32_t axes = SignalOf(call.step.input).axes;
  float* const x = call.features.data();
  const size_t left = call.features.size() - axes;
  for (size_t i = 0; i < left; ++i) x[i] = x[i + axes] - x[i];
}

}  // namespace sotto::nn::internal
