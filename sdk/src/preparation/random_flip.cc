#include "base/exact_arithmetic.h"
#include "sotto/preparation.h"

namespace sotto::nn::internal {
namespace {

void SwapPixels(float* a, float* b, uint32_t channels) {
  for (uint32_t c = 0; c < channels; ++c) {
    const float kept = a[c];
    a[c] = b[c];
    b[c] = kept;
  }
}

}  // namespace

void FlipAtRandom(const PreparationCall& call) {
  constexpr uint32_t kHalf = 0x80000000;
  if (call.random[0] < kHalf) return;
  const Shape& shape = call.step.input;
  for (uint32_t y = 0; y < shape.height; ++y) {
    float* const row = call.features.data() + y * shape.width * shape.channels;
    for (uint32_t left = 0, right = shape.width - 1; left < right; ++left, --right) {
      SwapPixels(row + left * shape.channels, row + right * shape.channels, shape.channels);
    }
  }
}

}  // namespace sotto::nn::internal
