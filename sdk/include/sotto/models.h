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

// Two fully connected layers on the same images: 50,890 parameters.
using Mlp = nn::Sequential<nn::Dense<784, 64>, nn::Relu, nn::Dense<64, 10>>;

// LeNet-5 with rectifiers and max pooling on the same images: 61,706 parameters.
using LeNet =
    nn::Sequential<nn::Input<28, 28, 1>, nn::Conv2d<6, 5, 1, 2>, nn::Relu, nn::MaxPool2d<2>,
                   nn::Conv2d<16, 5>, nn::Relu, nn::MaxPool2d<2>, nn::Flatten, nn::Dense<400, 120>,
                   nn::Relu, nn::Dense<120, 84>, nn::Relu, nn::Dense<84, 10>>;

// All named models.
Span<const ModelInfo> Models();

// The model of that name, or nullptr.
const ModelInfo* FindModel(const char* name);

}  // namespace sotto

#endif  // SOTTO_MODELS_H_
