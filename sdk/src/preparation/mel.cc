#include "base/exact_arithmetic.h"
#include "preparation/frames.h"

namespace sotto::nn::internal {

void MelFeatures(const PreparationCall& call) {
  const FrameSettings mel = FrameSettingsOf(call.step);
  const float* const weights = call.step.second.data() + mel.weights_at();
  const float* const starts = call.step.second.data() + mel.starts_at();
  ForEachBand(call, mel, [&](const Powers& powers, uint32_t b) {
    const auto peak = static_cast<uint32_t>(starts[b + 1]);
    const auto end = static_cast<uint32_t>(starts[b + 2]);
    float sum = 0.0f;
    auto k = static_cast<uint32_t>(starts[b]);
    for (; k < peak; ++k) sum += weights[k] * powers[k];
    for (; k < end; ++k) sum += (1.0f - weights[k]) * powers[k];
    return sum;
  });
}

}  // namespace sotto::nn::internal
