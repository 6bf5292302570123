// Tests of inference with constant parameters.
#include "sotto/predict.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "sotto/models.h"

namespace sotto {
namespace {

using Mlp = nn::Sequential<nn::Dense<6, 5>, nn::Relu, nn::Dense<5, 3>>;
using Cnn = nn::Sequential<nn::Input<6, 6, 2>, nn::Conv2d<3, 3>, nn::Relu, nn::MaxPool2d<2>,
                           nn::Dense<12, 4>>;
using Words = nn::Sequential<nn::Tokens<4>, nn::Embedding<7, 3>, nn::Lstm<2, nn::LstmOutput::kLast>,
                             nn::Dense<2, 7>>;
using Lone = nn::Sequential<nn::Dense<6, 3>>;
using Logistic2 = nn::Sequential<nn::Dense<6, 1>, nn::OneVsAll>;
using Regression = nn::Sequential<nn::Dense<6, 2>, nn::MeanSquaredError<>>;

constexpr float kFill = 0.25f;
constexpr float kMean = 0.1f;
constexpr float kDeviation = 0.3f;
using Autoencoder = nn::Sequential<nn::Input<6>, nn::FillMissing<kFill>,
                                   nn::Normalise<kMean, kDeviation>, nn::Dense<6, 2>, nn::Tanh,
                                   nn::Dense<2, 6>, nn::MeanSquaredError<nn::TargetKind::kInput>>;
// Tanh has no fixed-point form.
using FixedAutoencoder =
    nn::FixedPoint<nn::Sequential<nn::Input<6>, nn::FillMissing<kFill>,
                                  nn::Normalise<kMean, kDeviation>, nn::Dense<6, 2>, nn::Relu,
                                  nn::Dense<2, 6>, nn::MeanSquaredError<nn::TargetKind::kInput>>>;

std::vector<float> Numbers(size_t count, uint32_t seed) {
  std::vector<float> numbers(count);
  for (float& number : numbers) {
    seed = 1664525u * seed + 1013904223u;
    number = static_cast<float>(static_cast<int32_t>(seed)) * 0x1p-32f;
  }
  return numbers;
}

template <class T>
Span<T> SpanOf(std::vector<T>& v) {
  return {v.data(), v.size()};
}

std::vector<float> TrainersOutputs(const ModelInfo& model, std::vector<float> parameters,
                                   std::vector<float> features) {
  std::vector<float> scratch(model.predict_floats(model));
  std::vector<float> outputs(model.outputs);
  model.predict(model, SpanOf(parameters), SpanOf(features), SpanOf(scratch), SpanOf(outputs));
  return outputs;
}

// Outputs of Predict(), whose scratch memory is exactly as large as it says.
template <class Net, class Number>
std::vector<float> Outputs(std::vector<Number> parameters, std::vector<float> features) {
  constexpr ModelInfo kModel = MakePredictionModel<Net>("net");
  std::vector<float> scratch(PredictFloats<Net>());
  std::vector<float> outputs(Net::kOutputs);
  EXPECT_EQ(Predict(kModel, Span<const Number>(SpanOf(parameters)), SpanOf(features),
                    SpanOf(scratch), SpanOf(outputs)),
            Status::kOk);
  return outputs;
}

template <class Net>
void ExpectTheTrainersOutputs(std::vector<float> features) {
  const std::vector<float> parameters = Numbers(Net::kParameters, 7);
  EXPECT_EQ((Outputs<Net, float>(parameters, features)),
            TrainersOutputs(MakeModelInfo<Net>("net"), parameters, features));
}

TEST(Predict, GivesTheOutputsThatATrainingSees) {
  ExpectTheTrainersOutputs<Mlp>(Numbers(6, 1));
  ExpectTheTrainersOutputs<Cnn>(Numbers(72, 2));
  ExpectTheTrainersOutputs<Words>({6, 0, 3, 3});
  ExpectTheTrainersOutputs<Lone>(Numbers(6, 4));
  ExpectTheTrainersOutputs<LeNet>(Numbers(784, 5));
}

TEST(Predict, TakesRawParametersOfANetInFixedPoint) {
  const std::vector<float> parameters = Numbers(Cnn::kParameters, 7);
  std::vector<int32_t> raw;
  for (const float value : parameters) raw.push_back(FixedParameter::FromFloat(value).raw());
  using Fixed = nn::FixedPoint<Cnn>;
  const std::vector<float> features = Numbers(72, 2);
  EXPECT_EQ((Outputs<Fixed, int32_t>(raw, features)),
            TrainersOutputs(MakeModelInfo<Fixed>("net"), parameters, features));
}

TEST(Predict, RawOutputsOfALoneDenseAreThoseOfFloat32UpToRounding) {
  const std::vector<float> parameters = Numbers(Lone::kParameters, 7);
  std::vector<int32_t> raw;
  for (const float value : parameters) raw.push_back(FixedParameter::FromFloat(value).raw());
  const std::vector<float> features = Numbers(6, 2);
  const std::vector<float> fixed = Outputs<nn::FixedPoint<Lone>, int32_t>(raw, features);
  const std::vector<float> outputs = Outputs<Lone, float>(parameters, features);
  for (size_t k = 0; k < fixed.size(); ++k) EXPECT_NEAR(fixed[k], outputs[k], 1e-6F);
}

TEST(Predict, AModelForPredictionsNamesNoFunctionOfATraining) {
  constexpr ModelInfo kModel = MakePredictionModel<Cnn>("net");
  for (const nn::LayerPlan& layer : kModel.layers) {
    EXPECT_EQ(layer.functions.add_gradient, nullptr);
    EXPECT_EQ(layer.functions.input_delta, nullptr);
  }
  EXPECT_EQ(kModel.train_batch, nullptr);
  EXPECT_EQ(kModel.loss.errors, nullptr);
}

class Refusals : public testing::Test {
 protected:
  Status Run() {
    return Predict(model_, SpanOf(parameters_), SpanOf(features_), SpanOf(scratch_),
                   SpanOf(outputs_));
  }

  ModelInfo model_ = MakePredictionModel<Words>("words");
  std::vector<float> parameters_ = Numbers(Words::kParameters, 7);
  std::vector<float> features_ = {6, 0, 3, 3};
  std::vector<float> scratch_ = std::vector<float>(PredictFloats<Words>());
  std::vector<float> outputs_ = std::vector<float>(7);
};

TEST_F(Refusals, NumbersThatAreNoTokens) {
  for (const float bad : {7.0f, -1.0f, 0.5f, std::nanf("")}) {
    features_[2] = bad;
    EXPECT_EQ(Run(), Status::kOutOfRange) << bad;
  }
}

TEST_F(Refusals, SpansOfAnotherSize) {
  scratch_.pop_back();
  EXPECT_EQ(Run(), Status::kBufferTooSmall);
  scratch_.push_back(0);
  EXPECT_EQ(Run(), Status::kOk);
  for (std::vector<float>* span : {&parameters_, &features_, &outputs_}) {
    span->push_back(0);
    EXPECT_EQ(Run(), Status::kInvalidArgument);
    span->pop_back();
  }
}

TEST_F(Refusals, NumbersThatAreNotFinite) {
  model_ = MakePredictionModel<Lone>("lone");
  parameters_ = Numbers(Lone::kParameters, 7);
  features_ = {1, 2, std::numeric_limits<float>::infinity(), 4, 5, 6};
  scratch_.resize(100);
  outputs_.resize(3);
  EXPECT_EQ(Run(), Status::kNotFinite);
  features_[2] = 3e38f;
  parameters_[2] = 3e38f;
  EXPECT_EQ(Run(), Status::kNotFinite);
}

TEST_F(Refusals, ParametersOfTheOtherArithmetic) {
  std::vector<int32_t> raw(Words::kParameters);
  const Span<const int32_t> span = SpanOf(raw);
  EXPECT_EQ(Predict(model_, span, SpanOf(features_), SpanOf(scratch_), SpanOf(outputs_)),
            Status::kInvalidArgument);
  model_ = MakePredictionModel<nn::FixedPoint<Lone>>("lone");
  EXPECT_EQ(Run(), Status::kInvalidArgument);
}

// A source of one sample.
struct Pair {
  std::vector<float> features;
  std::vector<float> target;
};

Status ReadFeatures(void* context, uint32_t, Span<float> features, uint32_t*) {
  const auto& pair = *static_cast<const Pair*>(context);
  std::copy(pair.features.begin(), pair.features.end(), features.begin());
  return Status::kOk;
}

Status ReadPair(void* context, uint32_t, Span<float> features, Span<float> target) {
  const auto& pair = *static_cast<const Pair*>(context);
  std::copy(pair.features.begin(), pair.features.end(), features.begin());
  std::copy(pair.target.begin(), pair.target.end(), target.begin());
  return Status::kOk;
}

// The loss that a training has of the sample, before a step at rate 0.
float TrainersLoss(const ModelInfo& model, const std::vector<float>& parameters, Pair pair) {
  const uint32_t first = 0;
  const SampleSource source = {1, ReadFeatures, &pair, ReadPair};
  std::vector<float> working(parameters);
  std::vector<float> scratch(model.training_floats(model, 1));
  const WorkingParameters memory = {SpanOf(working)};
  EXPECT_EQ(model.begin_training({parameters.data(), parameters.size()}, memory), Status::kOk);
  float loss = 0;
  EXPECT_EQ(model.train_batch(model, {&source, {&first, 1}}, {}, memory, SpanOf(scratch), &loss),
            Status::kOk);
  return loss;
}

template <class Net, class Number>
float ErrorOf(std::vector<Number> parameters, Pair pair) {
  constexpr ModelInfo kModel = MakePredictionModel<Net>("net");
  std::vector<float> scratch(PredictFloats<Net>());
  std::vector<float> outputs(Net::kOutputs);
  float error = -1;
  EXPECT_EQ(PredictionError(kModel, Span<const Number>(SpanOf(parameters)), SpanOf(pair.features),
                            SpanOf(pair.target), SpanOf(scratch), SpanOf(outputs), &error),
            Status::kOk);
  EXPECT_EQ(outputs, (Outputs<Net, Number>(parameters, pair.features)));
  return error;
}

template <class Net>
void ExpectTheTrainersLoss(const Pair& pair) {
  const std::vector<float> parameters = Numbers(Net::kParameters, 7);
  const float loss = TrainersLoss(MakeModelInfo<Net>("net"), parameters, pair);
  EXPECT_GT(loss, 0);
  if constexpr (Net::kArithmetic == nn::Arithmetic::kFloat32) {
    EXPECT_EQ((ErrorOf<Net, float>(parameters, pair)), loss);
  } else {
    std::vector<int32_t> raw;
    for (const float value : parameters) raw.push_back(FixedParameter::FromFloat(value).raw());
    EXPECT_EQ((ErrorOf<Net, int32_t>(raw, pair)), loss);
  }
}

TEST(PredictionError, IsTheLossThatATrainingSees) {
  ExpectTheTrainersLoss<Autoencoder>({Numbers(6, 1), {}});
  ExpectTheTrainersLoss<FixedAutoencoder>({Numbers(6, 1), {}});
  ExpectTheTrainersLoss<Regression>({Numbers(6, 1), {0.5f, -3}});
  ExpectTheTrainersLoss<nn::FixedPoint<Regression>>({Numbers(6, 1), {0.5f, -3}});
}

TEST(PredictionError, NumbersThatAreMissingAreFilledFirst) {
  std::vector<float> features = Numbers(6, 1);
  features[4] = kFill;
  const float filled =
      ErrorOf<Autoencoder, float>(Numbers(Autoencoder::kParameters, 7), {features, {}});
  features[4] = std::nanf("");
  ExpectTheTrainersLoss<Autoencoder>({features, {}});
  ExpectTheTrainersLoss<FixedAutoencoder>({features, {}});
  EXPECT_EQ((ErrorOf<Autoencoder, float>(Numbers(Autoencoder::kParameters, 7), {features, {}})),
            filled);
}

TEST(PredictionError, SaturatesInFixedPointAsATrainingDoes) {
  ExpectTheTrainersLoss<nn::FixedPoint<Regression>>({Numbers(6, 1), {1e6f, -1e6f}});
  ExpectTheTrainersLoss<FixedAutoencoder>({{1e6f, -1e6f, 0, 0, 0, 0}, {}});
}

class ErrorRefusals : public testing::Test {
 protected:
  Status Run(std::vector<float> target) {
    return PredictionError(model_, SpanOf(parameters_), SpanOf(features_), SpanOf(target),
                           SpanOf(scratch_), SpanOf(outputs_), &error_);
  }

  void Become(const ModelInfo& model) {
    model_ = model;
    parameters_ = Numbers(model.parameters, 7);
    features_ = Numbers(model.inputs, 1);
    scratch_.resize(PredictFloats(model));
    outputs_.resize(model.outputs);
  }

  ModelInfo model_;
  std::vector<float> parameters_;
  std::vector<float> features_;
  std::vector<float> scratch_;
  std::vector<float> outputs_;
  float error_ = -1;
};

TEST_F(ErrorRefusals, ModelsOfClassesAndTargetsOfAnotherSize) {
  Become(MakePredictionModel<Mlp>("net"));
  EXPECT_EQ(Run({}), Status::kInvalidArgument);
  EXPECT_EQ(Run({1, 2, 3}), Status::kInvalidArgument);
  Become(MakePredictionModel<Regression>("net"));
  EXPECT_EQ(Run({}), Status::kInvalidArgument);
  EXPECT_EQ(Run({1, 2}), Status::kOk);
  error_ = -1;
  Become(MakePredictionModel<Autoencoder>("net"));
  EXPECT_EQ(Run(Numbers(6, 1)), Status::kInvalidArgument);
  EXPECT_EQ(error_, -1);
}

TEST_F(ErrorRefusals, ATrainersModelInFixedPointHasItsErrorInRawIntegersAlone) {
  const ModelInfo model = MakeModelInfo<FixedAutoencoder>("net");
  Become(model);
  scratch_.resize(model.predict_floats(model));
  EXPECT_EQ(Run({}), Status::kInvalidArgument);
  Become(MakeModelInfo<Autoencoder>("net"));
  EXPECT_EQ(Run({}), Status::kOk);
}

TEST_F(ErrorRefusals, NumbersThatAreNotFinite) {
  Become(MakePredictionModel<Regression>("net"));
  EXPECT_EQ(Run({1, std::numeric_limits<float>::infinity()}), Status::kNotFinite);
  EXPECT_EQ(Run({1, 3e38f}), Status::kNotFinite);  // its square overflows
  features_[0] = std::nanf("");
  EXPECT_EQ(Run({1, 2}), Status::kNotFinite);
  EXPECT_EQ(error_, -1);
}

template <class Net>
std::vector<float> ProbabilitiesOf(std::vector<float> outputs) {
  std::vector<float> probabilities(Net::kClasses);
  EXPECT_EQ(Probabilities(MakePredictionModel<Net>("net"), SpanOf(outputs), SpanOf(probabilities)),
            Status::kOk);
  return probabilities;
}

TEST(Probabilities, AreThoseOfTheLoss) {
  const std::vector<float> softmax = ProbabilitiesOf<Lone>({0.0f, std::log(2.0f), std::log(5.0f)});
  EXPECT_NEAR(softmax[0], 0.125f, 1e-6f);
  EXPECT_NEAR(softmax[1], 0.25f, 1e-6f);
  EXPECT_NEAR(softmax[2], 0.625f, 1e-6f);
  const std::vector<float> two = ProbabilitiesOf<Logistic2>({std::log(3.0f)});
  EXPECT_NEAR(two[0], 0.25f, 1e-6f);
  EXPECT_NEAR(two[1], 0.75f, 1e-6f);
}

TEST(Probabilities, LargeScoresDoNotOverflow) {
  const std::vector<float> p = ProbabilitiesOf<Lone>({1000.0f, 0.0f, -1000.0f});
  EXPECT_EQ(p, (std::vector<float>{1.0f, 0.0f, 0.0f}));
}

TEST(Probabilities, ThereAreNoneOfARegression) {
  float outputs[2] = {};
  EXPECT_EQ(Probabilities(MakePredictionModel<Regression>("net"), outputs, outputs),
            Status::kInvalidArgument);
}

TEST(PredictedClass, IsTheHighestAndTheFirstOfEqualOnes) {
  const float outputs[] = {1.0f, 3.0f, 3.0f};
  EXPECT_EQ(PredictedClass(MakePredictionModel<Lone>("net"), outputs), 1u);
  const float one[] = {-0.1f};
  EXPECT_EQ(PredictedClass(MakePredictionModel<Logistic2>("net"), one), 0u);
}

}  // namespace
}  // namespace sotto
