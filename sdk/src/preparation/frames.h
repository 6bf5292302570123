// The powers of a signal's frames. Part of sotto/nn; private to the SDK.
#pragma once

#include "base/exact_arithmetic.h"
#include "sotto/num.h"
#include "sotto/preparation.h"

namespace sotto::nn {

// Of one frame, in the memory of its transform: see PowersOfFrame().
class Powers {
 public:
  Powers(const float* memory, uint32_t transform) : memory_(memory), half_(transform / 2) {}

  // 4 |X[k]|^2, k <= transform / 2.
  float operator[](uint32_t k) const { return k < half_ ? memory_[2 * k] : memory_[1]; }

 private:
  const float* memory_;
  uint32_t half_;
};

// The transform of a frame: readings 0, stride, 2 stride, ... of `signal`.
//   tables  of the step
//   memory  [transform]
Powers PowersOfFrame(const FrameSettings& frames, const float* tables, const float* signal,
                     uint32_t stride, float* memory);

// ln(power + 2^-20) of a sum of Powers.
inline float LogOfPower(const FrameSettings& frames, float sum) {
  const float divisor =
      3.0f * static_cast<float>(frames.transform()) * static_cast<float>(frames.window);
  return Log(sum * (4.0f / divisor) + 0x1p-20f);
}

// band(powers, b) for each band of each frame of each axis; what it returns is the feature. The
// features of a frame overwrite readings that no later frame has.
template <class Band>
void ForEachBand(const PreparationCall& call, const FrameSettings& frames, Band band) {
  const PreparationStep& step = call.step;
  const uint32_t axes = SignalOf(step.input).axes;
  for (uint32_t axis = 0; axis < axes; ++axis) {
    float* const signal = call.features.data() + axis;
    for (uint32_t f = 0; f < step.output.height; ++f) {
      const Powers powers = PowersOfFrame(
          frames, step.second.data(), signal + size_t{f} * frames.hop * axes, axes, call.scratch);
      float* const out = signal + size_t{f} * frames.bands * axes;
      for (uint32_t b = 0; b < frames.bands; ++b) {
        out[b * axes] = LogOfPower(frames, band(powers, b));
      }
    }
  }
}

}  // namespace sotto::nn
