// Trainings of small models on samples that record who read them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "sotto/train.h"

namespace sotto {

inline constexpr ModelInfo kSoftmax = MakeModelInfo<nn::Sequential<nn::Dense<6, 3>>>("softmax");
// Its convolution sums gradients; its first Dense keeps the inputs and deltas of a batch of four.
inline constexpr ModelInfo kNet =
    MakeModelInfo<nn::Sequential<nn::Input<6, 6, 1>, nn::Conv2d<2, 3>, nn::Tanh, nn::Flatten,
                                 nn::Dense<32, 20>, nn::Tanh, nn::Dense<20, 3>>>("net");
inline constexpr ModelInfo kFixed =
    MakeModelInfo<nn::FixedPoint<nn::Sequential<nn::Dense<6, 3>>>>("fixed");
inline constexpr ModelInfo kFixedNet =
    MakeModelInfo<nn::FixedPoint<nn::Sequential<nn::Dense<6, 4>, nn::Relu, nn::Dense<4, 3>>>>(
        "fixed net");

inline std::vector<float> RandomVector(size_t size, uint32_t seed, float scale = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(size);
  for (float& value : values) value = scale * normal(random);
  return values;
}

// Samples of very different sizes, so that a clip meets some of them and not others. Records which
// ones are read.
struct Samples {
  Samples(uint32_t inputs, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      features.push_back(RandomVector(inputs, 100 + i, 0.2f + static_cast<float>(i % 5)));
    }
  }
  static Status Read(void* context, uint32_t index, Span<float> x, uint32_t* label) {
    auto* self = static_cast<Samples*>(context);
    self->reads.push_back(index);
    std::copy(self->features[index].begin(), self->features[index].end(), x.begin());
    *label = index % 3;
    return Status::kOk;
  }
  SampleSource source() { return {static_cast<uint32_t>(features.size()), Read, this}; }

  std::vector<std::vector<float>> features;
  std::vector<uint32_t> reads;
};

struct Training {
  Training(const ModelInfo& of, uint32_t samples)
      : model(of),
        data(of.inputs, samples),
        base(RandomVector(of.parameters, 1, 0.3f)),
        trained(of.parameters),
        velocity(of.parameters),
        gradient(of.parameters, 7.0f) {
    options.clip_l2 = 1e6f;
    options.clipping = Clipping::kAtEnd;
  }

  Status Begin() {
    scratch.resize(model.training_floats(model, options.batch_size));
    indices.resize(options.batch_size);
    return trainer.Begin(model, options, data.source(), key, {base.data(), base.size()},
                         {{trained.data(), trained.size()},
                          {velocity.data(), velocity.size()},
                          {gradient.data(), gradient.size()}},
                         {scratch.data(), scratch.size()}, {indices.data(), indices.size()});
  }
  // The number of steps.
  int Run() {
    EXPECT_EQ(Begin(), Status::kOk);
    bool done = false;
    int steps = 0;
    for (; !done; ++steps) EXPECT_EQ(trainer.Step(&done), Status::kOk);
    return steps;
  }

  const ModelInfo& model;
  Samples data;
  TrainingOptions options;
  Key key;
  std::vector<float> base;
  std::vector<float> trained;
  std::vector<float> velocity;
  std::vector<float> gradient;
  std::vector<float> scratch;
  std::vector<uint32_t> indices;
  LocalTrainer trainer;
};

}  // namespace sotto
