// Nets in fixed point: their training follows the one in float32.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "nn/fixed_net_kernels.h"
#include "sotto/initial_weights.h"
#include "sotto/models.h"
#include "sotto/train.h"

namespace sotto {
namespace {

using nn::FixedPoint;
using nn::Sequential;
using Floats = std::vector<float>;

constexpr uint32_t kSamples = 24;
constexpr uint32_t kBatch = 5;

using Cnn = Sequential<nn::Input<9, 8, 2>, nn::Conv2d<4, 3, 1, 1>, nn::Relu, nn::MaxPool2d<2>,
                       nn::Conv2d<6, 3, 2, 1>, nn::Relu, nn::Flatten, nn::Dense<24, 9>, nn::Relu,
                       nn::Dense<9, 4>>;
using Pools = Sequential<nn::Input<12, 3>, nn::Conv1d<5, 3>, nn::MaxPool1d<3, 1>, nn::Relu,
                         nn::AveragePool1d<2>, nn::GlobalAverage2d, nn::Dense<5, 4>, nn::OneVsAll>;
using Regression = Sequential<nn::Dense<6, 8>, nn::Relu, nn::Dense<8, 3>, nn::MeanSquaredError<>>;
using Residual =
    Sequential<nn::Input<6, 6, 2>, nn::Conv2d<4, 3, 1, 1>, nn::Relu, nn::Fork<1>,
               nn::Conv2d<4, 3, 1, 1>, nn::Relu, nn::Conv2d<4, 3, 1, 1>, nn::Add<1>, nn::Relu,
               nn::Fork<1>, nn::Conv2d<6, 3, 2, 1>, nn::Relu, nn::Conv2d<6, 3, 1, 1>, nn::Swap<1>,
               nn::Conv2d<6, 1, 2>, nn::Add<1>, nn::Relu, nn::GlobalAverage2d, nn::Dense<6, 4>>;
using Autoencoder = Sequential<nn::Dense<6, 4>, nn::Relu, nn::Dense<4, 6>,
                               nn::MeanSquaredError<nn::TargetKind::kInput>>;

Floats RandomVector(size_t size, uint32_t seed, float limit = 1.0f) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-limit, limit);
  Floats v(size);
  for (float& value : v) value = uniform(random);
  return v;
}

// Sample i belongs to class i mod 4, and its features say so.
struct Samples {
  float scale = 1;

  static Status Read(void* context, uint32_t index, Span<float> features, uint32_t* label) {
    *label = index % 4;
    const Floats noise = RandomVector(features.size(), 100 + index);
    for (size_t i = 0; i < features.size(); ++i) {
      const float signal = i % 4 == *label ? 0.5f : 0.0f;
      features[i] = static_cast<Samples*>(context)->scale * (0.5f * noise[i] + signal);
    }
    return Status::kOk;
  }
  static Status ReadVector(void* context, uint32_t index, Span<float> features,
                           Span<float> target) {
    uint32_t label = 0;
    for (size_t k = 0; k < target.size(); ++k) target[k] = std::sin(static_cast<float>(index + k));
    return Read(context, index, features, &label);
  }
};

struct Result {
  Status status = Status::kOk;
  Floats base;
  Floats parameters;
  float loss = 0;
  bool clipped = false;
  uint32_t saturated_steps = 0;
};

Result Train(const ModelInfo& model, const TrainingOptions& options, float scale = 1) {
  Result result;
  result.base.resize(model.parameters);
  Key key;
  key.bytes[0] = 1;
  EXPECT_EQ(InitialWeights(model, key, {result.base.data(), result.base.size()}), Status::kOk);
  result.parameters.resize(model.parameters);
  Floats velocity(options.momentum > 0 ? model.parameters : 0);
  Floats scratch(model.training_floats(model, options.batch_size));
  std::vector<uint32_t> indices(options.batch_size);
  Samples samples{scale};
  SampleSource source{kSamples, Samples::Read, &samples};
  source.read_vector = Samples::ReadVector;
  LocalTrainer trainer;
  result.status = trainer.Begin(
      model, options, source, Key(), {result.base.data(), result.base.size()},
      {{result.parameters.data(), result.parameters.size()}, {velocity.data(), velocity.size()}},
      {scratch.data(), scratch.size()}, {indices.data(), indices.size()});
  for (bool done = false; result.status == Status::kOk && !done;) {
    result.status = trainer.Step(&done);
  }
  result.loss = trainer.mean_loss();
  result.clipped = trainer.clipped();
  result.saturated_steps = trainer.saturated_steps();
  return result;
}

TrainingOptions Options() {
  TrainingOptions options;
  options.local_epochs = 6;
  options.batch_size = kBatch;
  options.clip_l2 = 100;
  return options;
}

double LargestDifference(const Floats& a, const Floats& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::fabs(double{a[i]} - b[i]));
  }
  return largest;
}

// Both models learn, and their parameters stay close: within a thousandth of the way at most.
template <class Net>
void ExpectFollowsFloat(const TrainingOptions& options) {
  const Result in_float = Train(MakeModelInfo<Net>("float"), options);
  const Result in_fixed = Train(MakeModelInfo<FixedPoint<Net>>("fixed"), options);
  ASSERT_EQ(in_float.status, Status::kOk);
  ASSERT_EQ(in_fixed.status, Status::kOk);
  EXPECT_EQ(in_fixed.base, in_float.base);
  const double way = LargestDifference(in_float.parameters, in_float.base);
  EXPECT_GT(way, 0.01);
  EXPECT_LE(LargestDifference(in_fixed.parameters, in_float.parameters), 1e-3 * way);
  EXPECT_NEAR(in_fixed.loss, in_float.loss, 1e-4 * in_float.loss);
  EXPECT_EQ(in_fixed.clipped, in_float.clipped);
  EXPECT_EQ(in_fixed.saturated_steps, 0);
}

TEST(FixedNets, TrainingsFollowFloat) {
  ExpectFollowsFloat<Cnn>(Options());
  ExpectFollowsFloat<Pools>(Options());
  ExpectFollowsFloat<Regression>(Options());
  ExpectFollowsFloat<Residual>(Options());
  ExpectFollowsFloat<Autoencoder>(Options());
}

TEST(FixedNets, TrainingsFollowFloatWithDecayMomentumAndClipping) {
  TrainingOptions options = Options();
  options.weight_decay = 0.05f;
  ExpectFollowsFloat<Cnn>(options);
  options.momentum = 0.9f;
  options.learning_rate = 0.02f;
  ExpectFollowsFloat<Cnn>(options);
  options.weight_decay = 0;
  options.clip_l2 = 0.1f;
  ExpectFollowsFloat<Cnn>(options);
}

TEST(FixedNets, NeitherTheStrategyNorTheLargestBatchChangesABit) {
  using Net = FixedPoint<Sequential<nn::Dense<40, 21>, nn::Relu, nn::Dense<21, 4>>>;
  const ModelInfo model = MakeModelInfo<Net>("kept");
  nn::LayerPlan plan[3];
  std::copy(model.layers.begin(), model.layers.end(), plan);
  ASSERT_TRUE(nn::KeepsBatch(plan[0], kBatch));
  for (nn::LayerPlan& layer : plan) layer.is_outer_product = false;
  ModelInfo sums = model;
  sums.layers = plan;
  const Result kept = Train(model, Options());
  EXPECT_EQ(kept.parameters, Train(sums, Options()).parameters);
  EXPECT_GT(LargestDifference(kept.parameters, kept.base), 0.01);
}

TEST(FixedNets, ReportStepsInWhichANumberSaturates) {
  const ModelInfo model = MakeModelInfo<FixedPoint<Cnn>>("fixed");
  const uint32_t steps = 6 * ((kSamples + kBatch - 1) / kBatch);
  TrainingOptions options = Options();
  EXPECT_EQ(Train(model, options).saturated_steps, 0);
  options.clip_l2 = 1e6f;
  const Result result = Train(model, options, 1e9f);
  ASSERT_EQ(result.status, Status::kOk);
  EXPECT_EQ(result.saturated_steps, steps);
  EXPECT_TRUE(std::isfinite(result.loss));
  for (const float value : result.parameters) EXPECT_LE(std::fabs(value), 64.0f);
  // A learning rate at which activations leave their range, not the features.
  options.learning_rate = 30;
  EXPECT_GT(Train(model, options, 1).saturated_steps, 0);
}

TEST(FixedNets, RefuseWhatTheirFormatsCannotHold) {
  const ModelInfo model = MakeModelInfo<FixedPoint<Cnn>>("fixed");
  TrainingOptions options = Options();
  options.learning_rate = 8.0f * kBatch;
  EXPECT_EQ(Train(model, options).status, Status::kInvalidArgument);
  options = Options();
  options.momentum = 0.5f;
  options.learning_rate = 8;
  EXPECT_EQ(Train(model, options).status, Status::kInvalidArgument);
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(Train(model, Options(), bad).status, Status::kNotFinite);
    EXPECT_EQ(Train(MakeModelInfo<FixedPoint<Regression>>("r"), Options(), bad).status,
              Status::kNotFinite);
  }
}

TEST(FixedNets, PredictAsFloatDoes) {
  const ModelInfo in_float = MakeModelInfo<Cnn>("float");
  const ModelInfo in_fixed = MakeModelInfo<FixedPoint<Cnn>>("fixed");
  const Floats parameters = RandomVector(Cnn::kParameters, 5, 0.5f);
  const Floats features = RandomVector(Cnn::kInputs, 6);
  const auto predict = [&](const ModelInfo& model) {
    Floats scratch(model.predict_floats(model));
    Floats outputs(model.outputs);
    model.predict(model, {parameters.data(), parameters.size()}, {features.data(), features.size()},
                  {scratch.data(), scratch.size()}, {outputs.data(), outputs.size()});
    return outputs;
  };
  EXPECT_LE(LargestDifference(predict(in_fixed), predict(in_float)), 1e-5);
}

TEST(FixedNets, AreOfTheSameModelAsFloat) {
  uint8_t digests[2][kSha256Size];
  ASSERT_EQ(ModelDigest(*FindModel("lenet"), digests[0]), Status::kOk);
  ASSERT_EQ(ModelDigest(*FindModel("lenet-q"), digests[1]), Status::kOk);
  EXPECT_EQ(std::memcmp(digests[0], digests[1], kSha256Size), 0);
}

// LeNet in fixed point takes the workspace of LeNet.
static_assert(nn::TrainingMemory(FixedLeNet::Plan(), FixedLeNet::kLoss, 10) ==
              nn::TrainingMemory(LeNet::Plan(), LeNet::kLoss, 10));

}  // namespace
}  // namespace sotto
