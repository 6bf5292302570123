// Tests of evaluations: loss, accuracy, counts of classes, mean squared error.
#include "evaluation/evaluation.h"

#include <atomic>
#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "data/synthetic.h"
#include "sotto/models.h"
#include "sotto/nn.h"
#include "views/figures.h"

namespace sotto::server {
namespace {

constexpr ModelInfo kRegression =
    MakeModelInfo<nn::Sequential<nn::Dense<2, 2>, nn::MeanSquaredError<>>>("regression");
constexpr ModelInfo kAutoencoder =
    MakeModelInfo<nn::Sequential<nn::Dense<2, 2>, nn::MeanSquaredError<nn::TargetKind::kInput>>>(
        "autoencoder");
constexpr ModelInfo kOneOutput =
    MakeModelInfo<nn::Sequential<nn::Dense<2, 1>, nn::OneVsAll>>("one-output");

Span<const float> View(const std::vector<float>& values) { return {values.data(), values.size()}; }

std::string RefusalOf(const ModelInfo& model, const Dataset& data) {
  try {
    RequireEvaluable(model, data);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Evaluation, AZeroModelNamesTheFirstClassAndKnowsNothing) {
  const TrainTest data = MakeSynthetic({0, 1000, 1});
  const ModelInfo& model = *FindModel("softmax-784-10");
  const Evaluation result =
      Evaluate(model, View(std::vector<float>(model.parameters)), *data.test, 1);
  EXPECT_EQ(result.samples, 1000U);
  EXPECT_NEAR(result.loss, std::log(10.0), 1e-12);
  ASSERT_EQ(result.classes.size(), 10U);
  EXPECT_EQ(result.classes[0].correct, result.classes[0].total);
  EXPECT_EQ(result.classes[1].correct, 0U);
  EXPECT_GT(result.classes[1].total, 0U);
  EXPECT_EQ(result.correct(), result.classes[0].total);
  EXPECT_EQ(*result.accuracy(), static_cast<double>(result.correct()) / 1000);
  EXPECT_FALSE(result.mean_squared_error().has_value());
}

TEST(Evaluation, IsTheSameOnAnyNumberOfThreads) {
  const TrainTest data = MakeSynthetic({0, 3001, 2});
  const ModelInfo& model = *FindModel("softmax-784-10");
  std::vector<float> parameters(model.parameters);
  for (size_t i = 0; i < parameters.size(); ++i) {
    parameters[i] = static_cast<float>(std::sin(static_cast<double>(i)));
  }
  const Evaluation one = Evaluate(model, View(parameters), *data.test, 1);
  for (const int threads : {2, 3, 7}) {
    const Evaluation many = Evaluate(model, View(parameters), *data.test, threads);
    EXPECT_EQ(many.loss, one.loss);
    EXPECT_EQ(many.classes, one.classes);
    EXPECT_EQ(many.samples, 3001U);
  }
}

TEST(Evaluation, ItsLossIsTheOneThatATrainingMinimises) {
  const std::vector<float> outputs = {1.5F, -0.25F, 40.0F};
  for (const ModelInfo* model : {FindModel("softmax-64-10"), FindModel("ova-logistic")}) {
    for (uint32_t label = 0; label < 3; ++label) {
      std::vector<float> changed = outputs;
      const float trained = model->loss.errors({changed.data(), changed.size()}, {label, nullptr});
      EXPECT_NEAR(LossOf(*model, View(outputs), label, {}), static_cast<double>(trained), 1e-5)
          << model->name << " " << label;
    }
  }
  std::vector<float> changed = outputs;
  const std::vector<float> target = {1, 2, 3};
  const float trained =
      kRegression.loss.errors({changed.data(), changed.size()}, {0, target.data()});
  EXPECT_NEAR(LossOf(kRegression, View(outputs), 0, View(target)), static_cast<double>(trained),
              1e-4);
}

TEST(Evaluation, OfARegressionIsTheMeanSquaredError) {
  StoredSamples samples;
  samples.numbers = {1, 0, 0, 1};
  samples.targets = {3, 0, 0, 0};
  const StoredDataset data("numbers", {nn::ShapeOf(2), 0, 0, 2, {}}, samples);
  // The identity: outputs (1, 0) and (0, 1).
  const Evaluation result = Evaluate(kRegression, View({1, 0, 0, 1, 0, 0}), data, 1);
  EXPECT_EQ(*result.mean_squared_error(), (4.0 + 0 + 0 + 1) / 4);
  EXPECT_EQ(result.loss, 1.25);
  EXPECT_FALSE(result.accuracy().has_value());
  EXPECT_EQ(DescribeEvaluation(result), "mean squared error 1.25");
  EXPECT_EQ(DescribeClasses(result, data.info()), "");
  const auto json = EvaluationToJson(result, data.info());
  EXPECT_TRUE(json["accuracy"].is_null());
  EXPECT_TRUE(json["classes"].is_null());
  EXPECT_EQ(json["mean_squared_error"], 1.25);
}

TEST(Evaluation, OfAnAutoencoderComparesWithTheSample) {
  StoredSamples samples;
  samples.numbers = {1, 0, 0, 2};
  const StoredDataset data("numbers", {nn::ShapeOf(2), 0, 0, 0, {}}, samples);
  EXPECT_EQ(Evaluate(kAutoencoder, View({1, 0, 0, 1, 0, 0}), data, 1).loss, 0.0);
  EXPECT_EQ(Evaluate(kAutoencoder, View({0, 0, 0, 0, 0, 0}), data, 1).loss, (1.0 + 4.0) / 4);
}

constexpr float kTwo = 2;
constexpr float kOne = 1;
constexpr ModelInfo kPreparing =
    MakeModelInfo<nn::Sequential<nn::Input<2>, nn::Normalise<kOne, kTwo>, nn::Dense<2, 2>,
                                 nn::MeanSquaredError<nn::TargetKind::kInput>>>("preparing");

TEST(Evaluation, OfAnAutoencoderThatPreparesComparesWithThePreparedSample) {
  StoredSamples samples;
  samples.numbers = {5, 1};  // (x - 1) / 2: 2 and 0
  const StoredDataset data("numbers", {nn::ShapeOf(2), 0, 0, 0, {}}, samples);
  EXPECT_EQ(Evaluate(kPreparing, View({1, 0, 0, 1, 0, 0}), data, 1).loss, 0.0);
  EXPECT_EQ(Evaluate(kPreparing, View({0, 0, 0, 0, 1, 0}), data, 1).loss, 0.5);
}

TEST(Evaluation, TheSignOfOneOutputTellsTwoClasses) {
  StoredSamples samples;
  samples.numbers = {1, 0, -1, 0, 2, 0};
  samples.labels = {1, 0, 0};
  const StoredDataset data("signs", {nn::ShapeOf(2), 0, 2, 0, {"no", "yes"}}, samples);
  const Evaluation result = Evaluate(kOneOutput, View({1, 0, 0}), data, 1);
  EXPECT_EQ(result.classes, (std::vector<ClassCount>{{1, 2}, {1, 1}}));
  EXPECT_EQ(DescribeClasses(result, data.info()), "no 0.5000, yes 1.0000");
  EXPECT_EQ(EvaluationToJson(result, data.info())["classes"][1]["class"], "yes");
}

TEST(Evaluation, OfManyClassesTheWorstAreNamed) {
  Evaluation result;
  for (uint64_t k = 0; k < 20; ++k) result.classes.push_back({k % 10, 10});
  EXPECT_EQ(DescribeClasses(result, {}),
            "worst: 0 0.0000, 10 0.0000, 1 0.1000, 11 0.1000, 2 0.2000");
}

TEST(Evaluation, EndsWhenItMustStop) {
  const TrainTest data = MakeSynthetic({0, 2000, 1});
  const ModelInfo& model = *FindModel("softmax-784-10");
  const std::vector<float> parameters(model.parameters);
  std::atomic<int> asked{0};
  EXPECT_FALSE(EvaluateUnlessStopped(model, View(parameters), *data.test, 1, [&] {
                 return ++asked == 2;
               }).has_value());
  EXPECT_EQ(Evaluate(model, View(parameters), *data.test, 1).samples, 2000U);
}

TEST(Evaluation, OfNoSamplesIsZero) {
  const TrainTest data = MakeSynthetic({0, 0, 1});
  const ModelInfo& model = *FindModel("softmax-784-10");
  const Evaluation result =
      Evaluate(model, View(std::vector<float>(model.parameters)), *data.test, 2);
  EXPECT_EQ(result.samples, 0U);
  EXPECT_EQ(*result.accuracy(), 0.0);
  EXPECT_EQ(result.loss, 0.0);
}

TEST(Evaluation, RefusesATestSetThatDoesNotFitTheModel) {
  StoredSamples samples;
  samples.numbers = {1, 0};
  const StoredDataset plain("plain", {nn::ShapeOf(2), 0, 0, 0, {}}, samples);
  EXPECT_EQ(RefusalOf(kAutoencoder, plain), "");
  EXPECT_NE(RefusalOf(kOneOutput, plain).find("plain: its samples have no labels"),
            std::string::npos);
  EXPECT_NE(RefusalOf(kRegression, plain).find("0 target numbers, and model regression has 2"),
            std::string::npos);
  EXPECT_NE(RefusalOf(*FindModel("softmax-64-10"), plain).find("2 numbers, and model"),
            std::string::npos);
  samples.labels = {0};
  const StoredDataset many("many", {nn::ShapeOf(2), 0, 3, 0, {}}, samples);
  EXPECT_NE(RefusalOf(kOneOutput, many).find("3 classes, and model one-output has 2"),
            std::string::npos);
}

}  // namespace
}  // namespace sotto::server
