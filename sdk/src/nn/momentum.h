// What a step does beside the gradient, in float32: see SgdStep. Part of sotto/nn; private to the
// SDK.
#pragma once

#include "base/exact_arithmetic.h"
#include "sotto/model_info.h"

namespace sotto::nn {

// The parameters before a gradient is added to them:
// w <- (1 - learning_rate * weight_decay) * w - learning_rate * proximal * (w - base).
void Shrink(const SgdStep& step, const WorkingParameters& working);

// v <- momentum * v + weight_decay * w + proximal * (w - base): what the velocity is before a
// gradient is added to it.
void SlowVelocity(const SgdStep& step, const WorkingParameters& working);

// w <- w - learning_rate * v.
void MoveByVelocity(float learning_rate, const WorkingParameters& working);

}  // namespace sotto::nn
