#include <cmath>

#include "base/exact_arithmetic.h"
#include "sotto/preparation.h"

namespace sotto::nn::internal {
namespace {

// A sum whose error does not grow with its length: what an addition has rounded off goes into the
// next one (Kahan).
class Sum {
 public:
  void Add(float value) {
    const float rest = value - lost_;
    const float sum = sum_ + rest;
    lost_ = (sum - sum_) - rest;
    sum_ = sum;
  }
  float MeanOf(uint32_t n) const { return sum_ / static_cast<float>(n); }

 private:
  float sum_ = 0.0f;
  float lost_ = 0.0f;
};

struct AxisStats {
  float numbers[kStats];
};

AxisStats StatsOf(const float* x, uint32_t n, uint32_t stride) {
  Sum sum;
  Sum squares;
  float largest = 0.0f;
  uint32_t crossings = 0;
  for (uint32_t t = 0; t < n; ++t) {
    const float value = x[size_t{t} * stride];
    const float magnitude = value < 0.0f ? -value : value;
    sum.Add(value);
    squares.Add(value * value);
    largest = magnitude > largest ? magnitude : largest;
    crossings += t > 0 && (value < 0.0f) != (x[size_t{t - 1} * stride] < 0.0f) ? 1 : 0;
  }
  const float mean = sum.MeanOf(n);
  Sum around;
  for (uint32_t t = 0; t < n; ++t) {
    const float distance = x[size_t{t} * stride] - mean;
    around.Add(distance * distance);
  }
  const float rms = std::sqrt(squares.MeanOf(n));
  return {{mean, std::sqrt(around.MeanOf(n)), rms, rms > 0.0f ? largest / rms : 0.0f,
           static_cast<float>(crossings) / static_cast<float>(n - 1)}};
}

}  // namespace

void StatsFeatures(const PreparationCall& call) {
  const Signal signal = SignalOf(call.step.input);
  for (uint32_t axis = 0; axis < signal.axes; ++axis) {
    float* const x = call.features.data() + axis;
    const AxisStats stats = StatsOf(x, signal.length, signal.axes);
    for (uint32_t i = 0; i < kStats; ++i) x[i * signal.axes] = stats.numbers[i];
  }
}

}  // namespace sotto::nn::internal
