// Momentum in float32: see SgdStep. Part of sotto/nn; private to the SDK.
#ifndef SOTTO_NN_MOMENTUM_H_
#define SOTTO_NN_MOMENTUM_H_

#include "sotto/model_info.h"

namespace sotto::nn {

// v <- momentum * v + weight_decay * w: what the velocity is before a gradient is added to it.
void SlowVelocity(const SgdStep& step, const WorkingParameters& working);

// w <- w - learning_rate * v.
void MoveByVelocity(float learning_rate, const WorkingParameters& working);

}  // namespace sotto::nn

#endif  // SOTTO_NN_MOMENTUM_H_
