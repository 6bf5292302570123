// The loss of a net with one score a class. Part of sotto/nn; private to the SDK. Pure function,
// safe in any thread.
#ifndef SOTTO_NN_CROSS_ENTROPY_H_
#define SOTTO_NN_CROSS_ENTROPY_H_

#include <cstdint>

#include "sotto/span.h"

namespace sotto::nn {

// Turns scores into softmax probabilities minus the one-hot label, the gradient of cross-entropy
// with respect to the scores. Returns the loss.
float SoftmaxErrors(Span<float> scores, uint32_t label);

}  // namespace sotto::nn

#endif  // SOTTO_NN_CROSS_ENTROPY_H_
