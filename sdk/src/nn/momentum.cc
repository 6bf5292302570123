#include "nn/momentum.h"

#include "base/exact_arithmetic.h"
#include "nn/kernels.h"

namespace sotto::nn {

void Shrink(const SgdStep& step, const WorkingParameters& working) {
  const Span<float> w = working.memory;
  const float decay = 1.0f - step.learning_rate * step.weight_decay;
  if (step.proximal == 0.0f) return Scale(decay, w.size(), w.data());
  const size_t n = step.base.size();
  DecayAndPull(decay, step.learning_rate * step.proximal, step.base.data(), n, w.data());
  Scale(decay, w.size() - n, w.data() + n);
}

void SlowVelocity(const SgdStep& step, const WorkingParameters& working) {
  const Span<float> v = working.velocity;
  Scale(step.momentum, v.size(), v.data());
  if (step.weight_decay != 0.0f) {
    AddScaled(step.weight_decay, working.memory.data(), v.size(), v.data());
  }
  if (step.proximal != 0.0f) {
    AddScaledDifference(step.proximal, working.memory.data(), step.base.data(), step.base.size(),
                        v.data());
  }
}

void MoveByVelocity(float learning_rate, const WorkingParameters& working) {
  const Span<float> v = working.velocity;
  AddScaled(-learning_rate, v.data(), v.size(), working.memory.data());
}

}  // namespace sotto::nn
