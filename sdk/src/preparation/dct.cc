#include "base/exact_arithmetic.h"
#include "sotto/preparation.h"

namespace sotto::nn::internal {

// Row by row, as a row of bands is copied before its coefficients overwrite it or an earlier one.
void DctFeatures(const PreparationCall& call) {
  const PreparationStep& step = call.step;
  const DctSettings dct = DctSettingsOf(step);
  const Signal signal = SignalOf(step.input);
  const size_t row = size_t{signal.length} * signal.axes;
  float* out = call.features.data();
  for (uint32_t y = 0; y < step.input.height; ++y) {
    const float* const in = call.features.data() + y * row;
    for (size_t i = 0; i < row; ++i) call.scratch[i] = in[i];
    for (uint32_t c = 0; c < dct.coefficients; ++c) {
      const float* const factors = step.second.data() + size_t{c} * dct.bands;
      for (uint32_t axis = 0; axis < signal.axes; ++axis) {
        float sum = 0.0f;
        for (uint32_t b = 0; b < dct.bands; ++b) {
          sum += factors[b] * call.scratch[b * signal.axes + axis];
        }
        *out++ = sum;
      }
    }
  }
}

}  // namespace sotto::nn::internal
