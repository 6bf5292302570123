#include "base/exact_arithmetic.h"
#include "preparation/frames.h"

namespace sotto::nn::internal {

void SpectrumFeatures(const PreparationCall& call) {
  const FrameSettings frames = FrameSettingsOf(call.step);
  const uint32_t half = frames.transform() / 2;
  ForEachBand(call, frames, [&](const Powers& powers, uint32_t b) {
    const uint32_t last = (b + 1) * half / frames.bands;
    float sum = 0.0f;
    for (uint32_t k = b * half / frames.bands + 1; k <= last; ++k) sum += powers[k];
    return sum;
  });
}

}  // namespace sotto::nn::internal
