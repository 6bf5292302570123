// The models that have a name. Part of sotto/models.
//
// Server and command line look models up here; a firmware names its own net as a type. Constant
// data: safe in any thread.
#ifndef SOTTO_MODELS_H_
#define SOTTO_MODELS_H_

#include "sotto/nn.h"

namespace sotto {

// Softmax regression on 28 x 28 images in 10 classes (MNIST, Fashion-MNIST): 7,850 parameters.
using Softmax784x10 = nn::Sequential<nn::Dense<784, 10>>;

// Softmax regression on 64 sensor features in 10 classes: 650 parameters.
using Softmax64x10 = nn::Sequential<nn::Dense<64, 10>>;

// The same nets, trained in fixed point: named softmax-784-10-q and softmax-64-10-q.
using FixedSoftmax784x10 = nn::FixedPoint<Softmax784x10>;
using FixedSoftmax64x10 = nn::FixedPoint<Softmax64x10>;

// All named models.
Span<const ModelInfo> Models();

// The model of that name, or nullptr.
const ModelInfo* FindModel(const char* name);

}  // namespace sotto

#endif  // SOTTO_MODELS_H_
