// Moments and principal components against definitions, computed independently.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/fits.h"
#include "sotto/model/model_file.h"
#include "sotto/nn.h"

namespace sotto::server {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

SharedDataset Make(const nn::Shape& shape, std::vector<float> numbers) {
  SampleInfo info;
  info.shape = shape;
  StoredSamples samples;
  samples.numbers = std::move(numbers);
  return std::make_shared<StoredDataset>("made", info, std::move(samples));
}

// Features that hang together, far from zero.
SharedDataset Random(const nn::Shape& shape, size_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(count * shape.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const float before = i % shape.size() == 0 ? 0 : numbers[i - 1] - 100;
    numbers[i] = 100 + 0.7f * before + normal(random) * static_cast<float>(1 + i % 3);
  }
  return Make(shape, numbers);
}

posix::SharedModel ModelOf(const std::string& input, const std::string& steps) {
  return posix::ParseModel("m.toml", "name = \"m\"\ninput = " + input + "\n" + steps +
                                         "\n[[layer]]\nkind = \"dense\"\noutputs = 2\n");
}

// One number of a sample.
double At(const Dataset& data, size_t sample, size_t feature) {
  std::vector<float> features(data.input_size());
  data.CopyFeatures(sample, {features.data(), features.size()});
  return features[feature];
}

TEST(Moments, AreThoseOfTheDefinition) {
  const SharedDataset data = Random(nn::ShapeOf(4, 3), 50);
  for (const Per per : {Per::kAll, Per::kChannel, Per::kFeature}) {
    const std::vector<Moments> all = ComputeMoments(*data, nullptr, per);
    ASSERT_EQ(all.size(), per == Per::kAll ? 1u : per == Per::kChannel ? 3u : 12u);
    for (size_t k = 0; k < all.size(); ++k) {
      std::vector<long double> numbers;
      for (size_t s = 0; s < 50; ++s) {
        for (size_t i = k; i < 12; i += all.size()) numbers.push_back(At(*data, s, i));
      }
      long double mean = 0;
      long double square = 0;
      for (const long double x : numbers) mean += x / static_cast<long double>(numbers.size());
      for (const long double x : numbers) square += (x - mean) * (x - mean);
      EXPECT_EQ(all[k].count, numbers.size());
      EXPECT_NEAR(all[k].mean, static_cast<double>(mean), 1e-11);
      EXPECT_NEAR(all[k].deviation,
                  std::sqrt(static_cast<double>(square) / static_cast<double>(numbers.size())),
                  1e-11);
      EXPECT_EQ(all[k].least,
                static_cast<double>(*std::min_element(numbers.begin(), numbers.end())));
      EXPECT_EQ(all[k].most,
                static_cast<double>(*std::max_element(numbers.begin(), numbers.end())));
    }
  }
}

TEST(Moments, LeaveOutWhatIsMissingUnlessAModelFillsIt) {
  const SharedDataset data = Make(nn::ShapeOf(2), {1, kNaN, 3, 5, kNaN, 7});
  const std::vector<Moments> raw = ComputeMoments(*data, nullptr, Per::kFeature);
  EXPECT_EQ(raw[0].missing, 1u);
  EXPECT_EQ(raw[0].mean, 2);
  EXPECT_EQ(raw[1].mean, 6);
  EXPECT_EQ(raw[1].deviation, 1);
  const posix::SharedModel model = ModelOf("[2]", "missing = 8");
  const std::vector<Moments> filled = ComputeMoments(*data, model.get(), Per::kFeature);
  EXPECT_EQ(filled[0].missing, 0u);
  EXPECT_EQ(filled[0].mean, 4);
  const SharedDataset none = Make(nn::ShapeOf(1), {kNaN, kNaN});
  EXPECT_EQ(ComputeMoments(*none, nullptr, Per::kAll)[0].deviation, 0);
}

// Covariance of two features without Bessel's correction.
double Covariance(const Dataset& data, const std::vector<double>& mean, size_t i, size_t j) {
  double sum = 0;
  for (size_t s = 0; s < data.size(); ++s)
    sum += (At(data, s, i) - mean[i]) * (At(data, s, j) - mean[j]);
  return sum / static_cast<double>(data.size());
}

TEST(Pca, GivesOrthonormalEigenvectorsOfTheCovarianceInOrder) {
  constexpr size_t kInputs = 6;
  constexpr uint32_t kDimensions = 4;
  const SharedDataset data = Random(nn::ShapeOf(kInputs), 600);
  const PrincipalComponents fit = FitPrincipalComponents(*data, nullptr, kDimensions);
  ASSERT_EQ(fit.parameters.size(), kDimensions * kInputs + kDimensions);
  ASSERT_EQ(fit.variances.size(), kDimensions);
  std::vector<double> mean(kInputs);
  const std::vector<Moments> moments = ComputeMoments(*data, nullptr, Per::kFeature);
  double total = 0;
  for (size_t i = 0; i < kInputs; ++i) {
    mean[i] = moments[i].mean;
    total += moments[i].deviation * moments[i].deviation;
  }
  EXPECT_NEAR(fit.total_variance, total, 1e-9 * total);
  const auto weight = [&](size_t k, size_t i) { return double{fit.parameters[k * kInputs + i]}; };
  for (size_t k = 0; k < kDimensions; ++k) {
    double bias = 0;
    float peak = 0;
    for (size_t i = 0; i < kInputs; ++i) {
      bias -= weight(k, i) * mean[i];
      double image = 0;
      for (size_t j = 0; j < kInputs; ++j) image += Covariance(*data, mean, i, j) * weight(k, j);
      EXPECT_NEAR(image, fit.variances[k] * weight(k, i), 1e-5 * fit.variances[0]);
      const float x = fit.parameters[k * kInputs + i];
      if (std::fabs(x) > std::fabs(peak)) peak = x;
    }
    EXPECT_GT(peak, 0);
    EXPECT_NEAR(fit.parameters[kDimensions * kInputs + k], bias, 1e-4);
    for (size_t l = 0; l <= k; ++l) {
      double product = 0;
      for (size_t i = 0; i < kInputs; ++i) product += weight(k, i) * weight(l, i);
      EXPECT_NEAR(product, k == l ? 1 : 0, 1e-6);
    }
    if (k > 0) {
      EXPECT_GE(fit.variances[k - 1], fit.variances[k]);
    }
  }
}

TEST(Pca, OfPreparedSamplesIsThatOfTheirPreparedNumbers) {
  const SharedDataset raw = Make(nn::ShapeOf(2), {0, kNaN, 3, 5, 4, 7, -2, 1});
  const posix::SharedModel model = ModelOf("[2]",
                                           "missing = 1\n[[prepare]]\nkind = \"rescale\"\n"
                                           "factor = [2, 3]\noffset = -1");
  const SharedDataset prepared = Make(nn::ShapeOf(2), {-1, 2, 5, 14, 7, 20, -5, 2});
  EXPECT_EQ(FitPrincipalComponents(*raw, model.get(), 2).parameters,
            FitPrincipalComponents(*prepared, nullptr, 2).parameters);
}

// A frozen Dense with these weights decorrelates: its outputs have the variances of the fit.
TEST(Pca, OutputsOfTheDenseHaveTheVariances) {
  const SharedDataset data = Random(nn::ShapeOf(5), 300);
  const PrincipalComponents fit = FitPrincipalComponents(*data, nullptr, 3);
  ModelInfo dense = MakeModelInfo<nn::Sequential<nn::Dense<5, 3>, nn::MeanSquaredError<>>>("dense");
  std::vector<float> scratch(dense.predict_floats(dense));
  std::vector<float> features(5);
  std::vector<float> outputs(3);
  std::vector<double> square(3);
  for (size_t s = 0; s < data->size(); ++s) {
    data->CopyFeatures(s, {features.data(), 5});
    dense.predict(dense, {fit.parameters.data(), fit.parameters.size()}, {features.data(), 5},
                  {scratch.data(), scratch.size()}, {outputs.data(), 3});
    for (size_t k = 0; k < 3; ++k) square[k] += double{outputs[k]} * outputs[k] / 300;
  }
  for (size_t k = 0; k < 3; ++k) EXPECT_NEAR(square[k], fit.variances[k], 1e-3 * fit.variances[k]);
}

std::string Complaint(const Dataset& data, uint32_t dimensions) {
  try {
    FitPrincipalComponents(data, nullptr, dimensions);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  ADD_FAILURE() << "is taken";
  return "";
}

TEST(Pca, RefusesWhatHasNoComponents) {
  const SharedDataset data = Random(nn::ShapeOf(3), 5);
  const auto expect = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect(Complaint(*data, 0), "0 dimensions of 5 samples of 3 features");
  expect(Complaint(*data, 4), "4 dimensions");
  expect(Complaint(*Random(nn::ShapeOf(3), 2), 2), "2 dimensions of 2 samples");
  expect(Complaint(*Make(nn::ShapeOf(2), {1, 2, 1, 2, 1, 2}), 1), "all samples are the same");
  expect(Complaint(*Make(nn::ShapeOf(2), {1, 2, 1, kNaN, 1, 2}), 1),
         "sample 1, feature 1: the number is missing");
  expect(Complaint(*Make(nn::ShapeOf(4097), std::vector<float>(2 * 4097)), 1), "at most 4096");
}

}  // namespace
}  // namespace sotto::server
