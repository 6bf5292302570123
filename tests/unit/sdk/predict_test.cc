// Tests of inference with constant parameters.
#include "sotto/predict.h"

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
