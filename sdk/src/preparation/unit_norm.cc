#include <cmath>

#include "base/exact_arithmetic.h"
#include "sotto/preparation.h"

namespace sotto::nn::internal {
namespace {

float LargestMagnitude(Span<const float> features) {
  float largest = 0.0f;
  for (const float x : features) {
    const float magnitude = x < 0.0f ? -x : x;
    if (magnitude > largest) largest = magnitude;
  }
  return largest;
}

}  // namespace

void DivideByNorm(const PreparationCall& call) {
  const float largest = LargestMagnitude(call.features);
  if (largest == 0.0f) return;
  float sum = 0.0f;  // from 1 to the number of features
  for (float& x : call.features) {
    x /= largest;
    sum += x * x;
  }
  const float norm = std::sqrt(sum);
  for (float& x : call.features) x /= norm;
}

}  // namespace sotto::nn::internal
