#include "nn/momentum.h"

#include "nn/kernels.h"

namespace sotto::nn {

void SlowVelocity(const SgdStep& step, const WorkingParameters& working) {
  const Span<float> v = working.velocity;
  Scale(step.momentum, v.size(), v.data());
  if (step.weight_decay != 0.0f) {
    AddScaled(step.weight_decay, working.memory.data(), v.size(), v.data());
  }
}

void MoveByVelocity(float learning_rate, const WorkingParameters& working) {
  const Span<float> v = working.velocity;
  AddScaled(-learning_rate, v.data(), v.size(), working.memory.data());
}

}  // namespace sotto::nn
