// AveragePool2d in fixed point. 1 / count is rounded to units of 2^-30, each product is exact, and
// their sum is rounded once.
#include "base/exact_arithmetic.h"
#include "nn/fixed_net_kernels.h"
#include "nn/windows.h"
#include "sotto/layers/average_pool2d.h"

namespace sotto::nn::internal {
namespace {

constexpr int kShareBits = 30;
constexpr int64_t kHalf = int64_t{1} << (kShareBits - 1);

int32_t Share(const Clipped& at) {
  const uint32_t count = (at.end_row - at.first_row) * (at.end_column - at.first_column);
  return static_cast<int32_t>(((1u << kShareBits) + count / 2) / count);
}

}  // namespace

// The shares add up to 1 + count * 2^-31 at most, so a mean of the largest values may saturate by a
// rounding: nothing to report.
void FixedAveragePool2dForward(const LayerCall& call) {
  float* y = call.output;
  ForEachWindow(call.info, [&](const Clipped& at) {
    const int32_t share = Share(at);
    for (size_t c = 0; c < call.info.input.channels; ++c) {
      int64_t sum = kHalf;
      ForEachPixel(call, at,
                   [&](const float* pixel) { sum += int64_t{LoadRaw(pixel + c)} * share; });
      StoreRaw(Activation::FromRaw(sum >> kShareBits).raw(), y++);
    }
  });
}

void FixedAveragePool2dInputDelta(const LayerCall& call) {
  const size_t channels = call.info.input.channels;
  float* delta = call.output;
  __builtin_memset(call.input, 0, call.info.input.size() * sizeof(float));
  bool saturated = false;
  ForEachWindow(call.info, [&](const Clipped& at) {
    const int32_t share = Share(at);
    for (size_t c = 0; c < channels; ++c) {
      const int64_t product = int64_t{LoadRaw(delta + c)} * share + kHalf;
      StoreRaw(static_cast<int32_t>(product >> kShareBits), delta + c);
    }
    ForEachPixel(call, at, [&](float* pixel) { saturated |= FixedAdd(delta, channels, pixel); });
    delta += channels;
  });
  *call.saturated |= saturated;
}

}  // namespace sotto::nn::internal
