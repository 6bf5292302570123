// The parameters that a net begins with. Part of sotto/nn.
//
// A net with a hidden layer does not learn from zeros: all units of a layer would stay alike. Its
// weights begin as random numbers, its biases as zeros. A weight is b k / 2^23, with k uniform
// among the integers from -2^23 to 2^23 - 1, so it is the same on every CPU.
//   He (arXiv:1502.01852, Eq. (10)), before a rectifier:  b = sqrt(6 / fan_in)
//   Glorot (AISTATS 2010, Eq. (16)), elsewhere:           b = sqrt(6 / (fan_in + fan_out))
// A layer is before a rectifier if at most pooling, Flatten or a Fork stands between.
// These are the bounds of uniform distributions with the papers' variances. Parameters in the
// ConstantStart of a layer begin at its value. A single Dense layer begins at zero: its loss is
// convex. Personal layers begin elsewhere (personal.h).
#pragma once

#include "sotto/model_info.h"

namespace sotto {

// Writes model.parameters values. Returns kOk or kCryptoFailed. Safe in any thread.
Status InitialWeights(const ModelInfo& model, const Key& key, Span<float> parameters);

}  // namespace sotto
