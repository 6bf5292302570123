// Steps of SGD on nets: losses, targets, momentum, frozen layers. Gradients themselves are tested
// in gradients_test.cc.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "sotto/models.h"
#include "sotto/train.h"

namespace sotto {
namespace {

using nn::Dense;
using nn::Input;
using nn::MeanSquaredError;
using nn::OneVsAll;
using nn::Relu;
using nn::Sequential;
using nn::Tanh;
using nn::TargetKind;

std::vector<float> RandomVector(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(size);
  for (float& value : values) value = normal(random);
  return values;
}

// Random features; the label is a sign, the vector a linear map of them.
struct Samples {
  std::vector<std::vector<float>> features;
  uint32_t classes = 2;
  Status failure = Status::kOk;

  Samples(size_t inputs, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) features.push_back(RandomVector(inputs, 100 + i));
  }
  static Status Read(void* context, uint32_t index, Span<float> x, uint32_t* label) {
    const auto* self = static_cast<const Samples*>(context);
    std::copy(self->features[index].begin(), self->features[index].end(), x.begin());
    *label = self->classes == 2 ? (x[0] + x[1] > 0 ? 1 : 0) : index % self->classes;
    return self->failure;
  }
  static Status ReadVector(void* context, uint32_t index, Span<float> x, Span<float> target) {
    uint32_t label = 0;
    const Status status = Read(context, index, x, &label);
    for (size_t k = 0; k < target.size(); ++k) target[k] = 0.5f * x[k] - x[k + 1];
    return status;
  }
  SampleSource source() { return {static_cast<uint32_t>(features.size()), Read, this}; }
  SampleSource vectors() {
    return {static_cast<uint32_t>(features.size()), nullptr, this, ReadVector};
  }
};

// A model in training, one batch after the other.
struct Training {
  Training(const ModelInfo& of, const SampleSource& samples)
      : model(of),
        source(samples),
        parameters(RandomVector(of.parameters, 1)),
        velocity(of.parameters) {
    for (float& value : parameters) value *= 0.3f;
  }

  Status Step(std::vector<uint32_t> indices, const SgdStep& step) {
    std::vector<float> scratch(model.training_floats(model, static_cast<uint32_t>(indices.size())));
    return model.train_batch(
        model, {&source, {indices.data(), indices.size()}}, step,
        {{parameters.data(), parameters.size()}, {velocity.data(), velocity.size()}},
        {scratch.data(), scratch.size()}, &loss);
  }
  // The loss after `steps` steps on all samples.
  float Train(int steps, const SgdStep& step) {
    std::vector<uint32_t> all(source.count);
    for (uint32_t i = 0; i < source.count; ++i) all[i] = i;
    for (int i = 0; i < steps; ++i) EXPECT_EQ(Step(all, step), Status::kOk);
    return loss;
  }

  const ModelInfo& model;
  SampleSource source;
  std::vector<float> parameters;
  std::vector<float> velocity;
  float loss = 0;
};

// The recursion of SgdStep in double, with gradients from steps without momentum.
void ExpectMomentum(const ModelInfo& model) {
  Samples samples(model.inputs, 6);
  samples.classes = model.classes;
  const SgdStep step = {0.1f, 0.01f, 0.9f};
  Training with_momentum(model, samples.source());
  std::vector<double> v(model.parameters);
  for (uint32_t batch = 0; batch < 3; ++batch) {
    const std::vector<float> w = with_momentum.parameters;
    Training plain(model, samples.source());
    plain.parameters = w;
    ASSERT_EQ(plain.Step({2 * batch, 2 * batch + 1}, {1.0f}), Status::kOk);
    ASSERT_EQ(with_momentum.Step({2 * batch, 2 * batch + 1}, step), Status::kOk);
    for (size_t i = 0; i < w.size(); ++i) {
      const double gradient = double{w[i]} - plain.parameters[i];
      v[i] = 0.9 * v[i] + 0.01 * w[i] + gradient;
      ASSERT_NEAR(with_momentum.parameters[i], w[i] - 0.1 * v[i], 1e-6) << batch << ' ' << i;
    }
  }
}

TEST(NetTraining, MomentumIsTheRecursionOfSgdStep) {
  static constexpr ModelInfo kSoftmax = MakeModelInfo<Sequential<Dense<7, 3>>>("softmax");
  static constexpr ModelInfo kDeep =
      MakeModelInfo<Sequential<Dense<7, 5>, Tanh, Dense<5, 3>>>("deep");
  ExpectMomentum(kSoftmax);
  ExpectMomentum(kDeep);
}

TEST(NetTraining, TheTrainerStartsEachTrainingWithoutVelocityAndAsksForItsMemory) {
  static constexpr ModelInfo kDeep =
      MakeModelInfo<Sequential<Dense<4, 3>, Tanh, Dense<3, 2>>>("deep");
  Samples samples(4, 5);
  const std::vector<float> base = RandomVector(kDeep.parameters, 4);
  std::vector<float> velocity(kDeep.parameters, 7.0f);
  std::vector<float> scratch(kDeep.training_floats(kDeep, 2));
  uint32_t indices[2];
  TrainingOptions options;
  options.batch_size = 2;
  options.momentum = 0.5f;
  const auto begin = [&](LocalTrainer* trainer, std::vector<float>* trained, size_t floats) {
    return trainer->Begin(kDeep, options, samples.source(), Key(), {base.data(), base.size()},
                          {{trained->data(), trained->size()}, {velocity.data(), floats}},
                          {scratch.data(), scratch.size()}, indices);
  };
  std::vector<float> results[2];
  for (std::vector<float>& result : results) {
    result.resize(kDeep.parameters);
    LocalTrainer trainer;
    EXPECT_EQ(begin(&trainer, &result, 0), Status::kBufferTooSmall);
    ASSERT_EQ(begin(&trainer, &result, velocity.size()), Status::kOk);
    for (bool done = false; !done;) ASSERT_EQ(trainer.Step(&done), Status::kOk);
  }
  EXPECT_EQ(results[0], results[1]);
  for (const float bad : {-0.1f, 1.0f, NAN}) {
    options.momentum = bad;
    EXPECT_EQ(options.Validate(), Status::kInvalidArgument) << bad;
  }
}

TEST(NetTraining, FixedPointHasNoMomentum) {
  static constexpr ModelInfo kFixed =
      MakeModelInfo<nn::FixedPoint<Sequential<Dense<4, 2>>>>("fixed");
  if (kFixed.has_momentum) GTEST_SKIP() << "it has";
  Samples samples(4, 2);
  std::vector<float> vectors(4 * kFixed.parameters);
  const auto part = [&](size_t i) {
    return Span<float>(vectors.data() + i * kFixed.parameters, kFixed.parameters);
  };
  uint32_t indices[1];
  TrainingOptions options;
  options.batch_size = 1;
  options.momentum = 0.5f;
  LocalTrainer trainer;
  EXPECT_EQ(trainer.Begin(kFixed, options, samples.source(), Key(), part(0), {part(1), part(2)},
                          part(3), indices),
            Status::kInvalidArgument);
}

TEST(NetTraining, OneOutputTellsTwoClassesApart) {
  using Net = Sequential<Dense<4, 1>, OneVsAll>;
  static_assert(Net::kClasses == 2 && Net::kOutputs == 1 && !Net::kIsSoftmaxRegression);
  static constexpr ModelInfo kModel = MakeModelInfo<Net>("binary");
  Samples samples(4, 40);
  Training training(kModel, samples.source());
  EXPECT_LT(training.Train(1000, {1.0f}), 0.1f);
  samples.classes = 3;
  EXPECT_EQ(training.Step({2}, {0.1f}), Status::kOutOfRange) << "label 2";
}

TEST(NetTraining, OneVsAllHasOneOutputAClass) {
  using Net = Sequential<Dense<20, 5>, OneVsAll>;
  static_assert(Net::kClasses == 5);
  static constexpr ModelInfo kModel = MakeModelInfo<Net>("classes");
  Samples samples(20, 15);
  samples.classes = 5;
  Training training(kModel, samples.source());
  const float before = training.Train(1, {0.0f});
  EXPECT_LT(training.Train(300, {0.5f}), 0.1f * before);
}

TEST(NetTraining, RegressionReadsVectors) {
  using Net = Sequential<Dense<4, 3>, MeanSquaredError<>>;
  static_assert(Net::kClasses == 0);
  static constexpr ModelInfo kModel = MakeModelInfo<Net>("regression");
  Samples samples(4, 10);
  Training training(kModel, samples.vectors());
  EXPECT_LT(training.Train(800, {0.3f}), 1e-4f);
  EXPECT_NEAR(training.parameters[0], 0.5f, 0.02f);
  EXPECT_NEAR(training.parameters[1], -1.0f, 0.02f);
  samples.failure = Status::kSampleFailed;
  EXPECT_EQ(training.Step({0}, {0.1f}), Status::kSampleFailed);
  EXPECT_TRUE(kModel.CanRead(samples.vectors()));
  EXPECT_FALSE(kModel.CanRead(samples.source()));
}

TEST(NetTraining, AnAutoencoderNeedsNoTarget) {
  using Net = Sequential<Dense<6, 4>, Tanh, Dense<4, 6>, MeanSquaredError<TargetKind::kInput>>;
  static constexpr ModelInfo kModel = MakeModelInfo<Net>("autoencoder");
  Samples samples(6, 4);
  samples.classes = 1000;  // labels are not looked at
  Training training(kModel, samples.source());
  EXPECT_LT(training.Train(3000, {0.3f}), 0.02f);
}

// The last batch of a pass is smaller than the others and must fit into their memory.
TEST(NetTraining, ASmallerBatchNeedsNoMoreMemory) {
  static constexpr ModelInfo kWide =
      MakeModelInfo<Sequential<Dense<784, 3>, Relu, Dense<3, 3>>>("wide");
  std::vector<const ModelInfo*> models = {&kWide};
  for (const ModelInfo& model : Models()) models.push_back(&model);
  for (const ModelInfo* model : models) {
    for (uint32_t batch = 2; batch < 100; ++batch) {
      ASSERT_GE(model->training_floats(*model, batch), model->training_floats(*model, batch - 1))
          << model->name << " at " << batch;
    }
  }
}

constexpr float kFirstLayer[] = {0.3f, -0.4f, 0.5f, 0.1f, 0.2f, -0.6f, 0.05f, 0.7f};

TEST(NetTraining, LayersBehindFrozenOnesTrainAsIfTheyWereNotFrozen) {
  using Full = Sequential<Dense<3, 2>, Relu, Dense<2, 2>>;
  using Partly = Sequential<Input<3>, nn::Frozen<kFirstLayer, Dense<3, 2>, Relu>, Dense<2, 2>>;
  static_assert(Partly::kParameters == 6);
  static constexpr ModelInfo kFull = MakeModelInfo<Full>("full");
  static constexpr ModelInfo kPartly = MakeModelInfo<Partly>("partly");
  Samples samples(3, 8);
  Training full(kFull, samples.source());
  Training partly(kPartly, samples.source());
  std::copy(std::begin(kFirstLayer), std::end(kFirstLayer), full.parameters.begin());
  std::copy(full.parameters.begin() + 8, full.parameters.end(), partly.parameters.begin());
  ASSERT_EQ(full.Step({0, 1, 2}, {0.1f, 0.01f}), Status::kOk);
  ASSERT_EQ(partly.Step({0, 1, 2}, {0.1f, 0.01f}), Status::kOk);
  EXPECT_EQ(partly.loss, full.loss);
  EXPECT_EQ(partly.parameters,
            std::vector<float>(full.parameters.begin() + 8, full.parameters.end()));
  const std::vector<float> x = RandomVector(3, 9);
  std::vector<float> scratch(kPartly.predict_floats(kPartly));
  float outputs[2];
  kPartly.predict(kPartly, {partly.parameters.data(), 6}, {x.data(), 3},
                  {scratch.data(), scratch.size()}, {outputs, 2});
  EXPECT_TRUE(std::isfinite(outputs[0]) && outputs[0] != outputs[1]);
}

}  // namespace
}  // namespace sotto
