// The models that have a name. Part of sotto/models.
//
// Server and command line look models up here; a firmware names its own net as a type. Constant
// data: safe in any thread.
#pragma once

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

// A convolutional net for boards with 192 kB of RAM, on the same images: 9,098 parameters.
using SmallCnn = nn::Sequential<nn::Input<28, 28, 1>, nn::Conv2d<8, 3, 2, 1>, nn::Relu,
                                nn::Conv2d<16, 3, 2, 1>, nn::Relu, nn::Flatten, nn::Dense<784, 10>>;

// LeNet-5 with rectifiers and max pooling on the same images: 61,706 parameters.
using LeNet =
    nn::Sequential<nn::Input<28, 28, 1>, nn::Conv2d<6, 5, 1, 2>, nn::Relu, nn::MaxPool2d<2>,
                   nn::Conv2d<16, 5>, nn::Relu, nn::MaxPool2d<2>, nn::Flatten, nn::Dense<400, 120>,
                   nn::Relu, nn::Dense<120, 84>, nn::Relu, nn::Dense<84, 10>>;

// The same nets, trained in fixed point: named mlp-q, small-cnn-q and lenet-q.
using FixedMlp = nn::FixedPoint<Mlp>;
using FixedSmallCnn = nn::FixedPoint<SmallCnn>;
using FixedLeNet = nn::FixedPoint<LeNet>;

// The convolutional net that DP-Fed-LS trains on SVHN, images of 32 x 32 x 3 in 10 classes:
// 3,431,754 parameters. The norms reach over 9 channels.
using SvhnCnn = nn::Sequential<nn::Input<32, 32, 3>, nn::Conv2d<64, 5, 1, 2>, nn::Relu,
                               nn::MaxPool2d<3, 2, 1>, nn::LocalResponseNorm<9>,
                               nn::Conv2d<128, 5, 1, 2>, nn::Relu, nn::LocalResponseNorm<9>,
                               nn::MaxPool2d<3, 2, 1>, nn::Flatten, nn::Dense<8192, 384>, nn::Relu,
                               nn::Dense<384, 192>, nn::Relu, nn::Dense<192, 10>>;

// The next of 82 characters after 80: two recurrent layers, 820,450 parameters.
using CharLstm =
    nn::Sequential<nn::Tokens<80>, nn::Embedding<82, 8>, nn::Lstm<256, nn::LstmOutput::kSequence>,
                   nn::Lstm<256, nn::LstmOutput::kLast>, nn::Dense<256, 82>>;

// The same for boards, after 40 characters: one recurrent layer of 32, 8,738 parameters.
using CharLstmSmall = nn::Sequential<nn::Tokens<40>, nn::Embedding<82, 8>,
                                     nn::Lstm<32, nn::LstmOutput::kLast>, nn::Dense<32, 82>>;

// Ten logistic regressions on 50 features, each of a class against all others: 510 parameters.
using OvaLogistic = nn::Sequential<nn::Dense<50, 10>, nn::OneVsAll>;

// Six activities from windows of 128 steps of an accelerometer's three axes: 3,046 parameters. The
// mean over time makes it the same where in the window a movement begins.
using Motion =
    nn::Sequential<nn::Input<128, 3>, nn::Conv1d<16, 5, 2>, nn::Relu, nn::Conv1d<32, 5, 2>,
                   nn::Relu, nn::GlobalAverage2d, nn::Dense<32, 6>>;

// A convolution over 3 x 3 positions that keeps height and width, or halves them with stride 2, and
// its norm.
template <uint32_t channels, uint32_t stride, uint32_t groups>
using NormedConv2d = nn::Block<nn::Conv2d<channels, 3, stride, 1>, nn::GroupNorm<groups>>;

// A basic block of residual nets, and one that halves height and width; its shortcut is a
// convolution over single positions, with what else Shortcut says. Source: He, Zhang, Ren, Sun,
// arXiv:1512.03385, figures 2 and 3 and section 4.2. GroupNorm stands in the place of batch norm:
// sdk/LAYERS.md says why.
template <uint32_t channels, uint32_t groups>
using BasicBlock = nn::Block<nn::Fork<1>, NormedConv2d<channels, 1, groups>, nn::Relu,
                             NormedConv2d<channels, 1, groups>, nn::Add<1>, nn::Relu>;
template <uint32_t channels, uint32_t groups, class... Shortcut>
using HalvingBlock = nn::Block<nn::Fork<1>, NormedConv2d<channels, 2, groups>, nn::Relu,
                               NormedConv2d<channels, 1, groups>, nn::Swap<1>,
                               nn::Conv2d<channels, 1, 2>, Shortcut..., nn::Add<1>, nn::Relu>;

// The residual net of MLPerf Tiny's image classification, for images of 32 x 32 x 3 in 10 classes:
// 78,186 parameters. Source: Banbury et al., arXiv:2106.07597, section 3.
using ResNet8 = nn::Sequential<nn::Input<32, 32, 3>, NormedConv2d<16, 1, 8>, nn::Relu,
                               BasicBlock<16, 8>, HalvingBlock<32, 8>, HalvingBlock<64, 8>,
                               nn::GlobalAverage2d, nn::Dense<64, 10>>;

// ResNet-18 on the same images, as it is trained on CIFAR-10: a first convolution over 3 x 3
// positions and no pooling behind it, 11,178,762 parameters.
template <uint32_t channels>
using HalvingPair =
    nn::Block<HalvingBlock<channels, 32, nn::GroupNorm<32>>, BasicBlock<channels, 32>>;
using ResNet18 =
    nn::Sequential<nn::Input<32, 32, 3>, NormedConv2d<64, 1, 32>, nn::Relu, BasicBlock<64, 32>,
                   BasicBlock<64, 32>, HalvingPair<128>, HalvingPair<256>, HalvingPair<512>,
                   nn::GlobalAverage2d, nn::Dense<512, 10>>;

// A depthwise convolution over 3 x 3 positions and one over single positions, which mixes the
// channels, with its norm.
template <uint32_t channels, uint32_t stride, uint32_t groups>
using SeparableBlock = nn::Block<nn::DepthwiseConv2d<3, stride, 1>, nn::Conv2d<channels, 1>,
                                 nn::GroupNorm<groups>, nn::Relu>;

// A depthwise separable net that tells a word from all else, in a second of sound of 16 kHz between
// -1 and 1: 4,378 parameters. Fewer than in the source, with GroupNorm in the place of batch norm,
// on the logarithms of 20 bands of each of 31 frames. Source: Zhang, Suda, Lai, Chandra,
// arXiv:1711.07128, section 4.1.
constexpr float kMelFactor = 0.25f;  // brings the logarithms to -1.5 to 2
constexpr float kMelOffset = 2.0f;
constexpr const char* kDsCnnClasses[] = {"other", "word"};
using DsCnn = nn::Sequential<nn::Input<16000, 1>, nn::Mel<512, 512, 20, 16000, 60, 7600>,
                             nn::Rescale<kMelFactor, kMelOffset>, NormedConv2d<24, 2, 8>, nn::Relu,
                             SeparableBlock<24, 1, 8>, SeparableBlock<32, 2, 8>,
                             SeparableBlock<48, 1, 8>, nn::GlobalAverage2d, nn::Dense<48, 2>>;

// All named models.
Span<const ModelInfo> Models();

// The model of that name, or nullptr.
const ModelInfo* FindModel(const char* name);

}  // namespace sotto
