// Tests of estimators and of the shapes of tensors, against plain references in double.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <stdexcept>
#include <vector>

#include "aggregate/methods.h"
#include "aggregate/smoothing.h"
#include "aggregate/tensors.h"
#include "sotto/models.h"
#include "sotto/nn.h"
#include "spec/make_job.h"

namespace sotto::server {
namespace {

using Doubles = std::vector<double>;

std::vector<int64_t> RandomSum(size_t n) {
  std::mt19937 random(5);
  std::vector<int64_t> sum(n);
  for (int64_t& value : sum) value = static_cast<int64_t>(random() % 2001) - 1000;
  return sum;
}

std::vector<float> Estimated(const std::vector<int64_t>& sum,
                             const std::vector<TrainedTensor>& tensors,
                             const AggregationOptions& options, double sigma = 0) {
  return MakeEstimator(options)->Estimate(
      {{sum.data(), sum.size()}, 0.5, 10.0, sigma, {tensors.data(), tensors.size()}});
}

AggregationOptions Named(const std::string& estimator) {
  AggregationOptions options;
  options.estimator.emplace(estimator);
  return options;
}

// The mean of the elements [first, first + n).
Doubles MeanOf(const std::vector<int64_t>& sum, size_t first, size_t n) {
  Doubles mean;
  for (size_t j = first; j < first + n; ++j) mean.push_back(static_cast<double>(sum[j]) * 0.05);
  return mean;
}

// Solves (I + factor Laplacian) u = v over a grid whose opposite edges are neighbours, by Jacobi's
// iteration, which converges since the matrix is diagonally dominant.
Doubles Solved(const Doubles& v, size_t height, size_t width, double factor) {
  const int axes = (height > 1 ? 1 : 0) + (width > 1 ? 1 : 0);
  Doubles u = v;
  for (int step = 0; step < 2000; ++step) {
    Doubles next(v.size());
    for (size_t y = 0; y < height; ++y) {
      for (size_t x = 0; x < width; ++x) {
        double neighbours = 0;
        if (height > 1) {
          neighbours += u[(y + 1) % height * width + x] + u[(y + height - 1) % height * width + x];
        }
        if (width > 1) {
          neighbours += u[y * width + (x + 1) % width] + u[y * width + (x + width - 1) % width];
        }
        next[y * width + x] = (v[y * width + x] + factor * neighbours) / (1 + 2 * axes * factor);
      }
    }
    u = std::move(next);
  }
  return u;
}

void ExpectNear(const std::vector<float>& values, size_t first, const Doubles& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(values[first + i]), expected[i], 2e-5) << i;
  }
}

TEST(TrainedTensors, HaveTheAxesOfTheirLayers) {
  const std::vector<TrainedTensor> lenet = TrainedTensors(*FindModel("lenet"));
  ASSERT_EQ(lenet.size(), 10U);
  EXPECT_EQ(lenet[0].axes, "OHW");  // of one input channel
  EXPECT_EQ(lenet[0].extents, (std::vector<uint32_t>{6, 5, 5}));
  EXPECT_EQ(lenet[1].axes, "O");
  EXPECT_EQ(lenet[2].axes, "OHWI");
  EXPECT_EQ(lenet[2].extents, (std::vector<uint32_t>{16, 5, 5, 6}));
  EXPECT_EQ(lenet[4].axes, "OHWI");  // the dense layer behind Flatten sees an image
  EXPECT_EQ(lenet[4].extents, (std::vector<uint32_t>{120, 5, 5, 16}));
  EXPECT_EQ(lenet[6].axes, "OI");
  EXPECT_FALSE(lenet[6].has_image());
  for (const ModelInfo& model : Models()) {
    size_t parameters = 0;
    for (const TrainedTensor& tensor : TrainedTensors(model)) parameters += tensor.size();
    EXPECT_EQ(parameters, model.parameters) << model.name;
  }
}

TEST(TrainedTensors, OfAKernelForEachChannelHaveItsAxesFirst) {
  using Net = nn::Sequential<nn::Input<6, 5, 3>, nn::DepthwiseConv2d<3>, nn::Relu, nn::Flatten,
                             nn::Dense<36, 4>>;
  static constexpr ModelInfo kModel = MakeModelInfo<Net>("depthwise");
  const std::vector<TrainedTensor> tensors = TrainedTensors(kModel);
  ASSERT_EQ(tensors.size(), 4U);
  EXPECT_EQ(tensors[0].axes, "HWO");
  EXPECT_EQ(tensors[0].extents, (std::vector<uint32_t>{3, 3, 3}));
  EXPECT_EQ(tensors[2].axes, "OHWI");
  EXPECT_EQ(tensors[2].extents, (std::vector<uint32_t>{4, 4, 3, 3}));
}

TEST(TrainedTensors, TakeTheImageThatAModelDoesNotKnow) {
  const ModelInfo& model = *FindModel("softmax-784-10");
  EXPECT_EQ(TrainedTensors(model)[0].axes, "OI");
  EXPECT_EQ(TrainedTensors(model, "28x28")[0].axes, "OHW");
  EXPECT_EQ(TrainedTensors(model, "14x14x4")[0].extents, (std::vector<uint32_t>{10, 14, 14, 4}));
  for (const char* bad : {"", "28", "28x", "28x27", "0x784", "28x28x1x1", "28x28x", "2 8x28", "x28",
                          "99999999999x1", "-28x-28"}) {
    EXPECT_THROW(TrainedTensors(model, bad), std::invalid_argument) << bad;
  }
}

TEST(Flattened, GoesThroughTheAxesInTheOrderAsked) {
  const TrainedTensor tensor = {"OHWI", {2, 3, 4, 5}};
  const auto position = [](uint32_t o, uint32_t h, uint32_t w, uint32_t i) {
    return ((o * 3 + h) * 4 + w) * 5 + i;
  };
  std::vector<uint32_t> expected;
  for (uint32_t o = 0; o < 2; ++o) {
    for (uint32_t i = 0; i < 5; ++i) {
      for (uint32_t w = 0; w < 4; ++w) {
        for (uint32_t h = 0; h < 3; ++h) expected.push_back(position(o, h, w, i));
      }
    }
  }
  EXPECT_EQ(Flattened(tensor, "OIWH"), expected);
  std::vector<uint32_t> identity(120);
  for (uint32_t i = 0; i < 120; ++i) identity[i] = i;
  EXPECT_EQ(Flattened(tensor, "OHWI"), identity);
  EXPECT_EQ(Flattened({"OI", {2, 3}}, "OHIW"), (std::vector<uint32_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(Flattened({"OI", {2, 3}}, "IWHO"), (std::vector<uint32_t>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(Flattened({"", {}}, "OHWI"), (std::vector<uint32_t>{0}));
}

TEST(Laplacian, SmoothsAlongAnyOrderOfTheAxes) {
  const TrainedTensor tensor = {"OHWI", {3, 2, 4, 5}};
  const std::vector<int64_t> sum = RandomSum(tensor.size());
  const Doubles mean = MeanOf(sum, 0, sum.size());
  std::set<std::vector<float>> results;
  for (const char* order : {"OHWI", "OIHW", "OIWH", "OWHI", "IWHO"}) {
    AggregationOptions options;
    options.smoothing = 0.7;
    options.smoothing_order = order;
    const std::vector<float> update = Estimated(sum, {tensor}, options);
    const std::vector<uint32_t> positions = Flattened(tensor, order);
    Doubles flat;
    for (const uint32_t position : positions) flat.push_back(mean[position]);
    const Doubles solved = Solved(flat, 1, flat.size(), 0.7);
    for (size_t i = 0; i < flat.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(update[positions[i]]), solved[i], 2e-5) << order;
    }
    results.insert(update);
  }
  EXPECT_EQ(results.size(), 5U) << "orders give different updates";
}

TEST(Laplacian, NaturalIsTheOrderOfTheParameters) {
  const std::vector<TrainedTensor> tensors = TrainedTensors(*FindModel("lenet"));
  const std::vector<int64_t> sum = RandomSum(FindModel("lenet")->parameters);
  AggregationOptions natural;
  natural.smoothing = 1;
  AggregationOptions named = natural;
  named.smoothing_order = "OHWI";
  EXPECT_EQ(Estimated(sum, tensors, natural), Estimated(sum, tensors, named));
}

TEST(Laplacian, WithTwoAxesSmoothsEachImageAndNothingElseInTwo) {
  const TrainedTensor kernels = {"OHWI", {2, 5, 3, 2}};
  const TrainedTensor sequence = {"OWI", {2, 6, 2}};
  const TrainedTensor bias = {"O", {7}};
  const std::vector<int64_t> sum = RandomSum(60 + 24 + 7);
  AggregationOptions options;
  options.smoothing = 1.5;
  options.smoothing_axes = 2;
  const std::vector<float> update = Estimated(sum, {kernels, sequence, bias}, options);
  const auto expect_images = [&](size_t first, size_t height, size_t width) {
    const size_t pixels = height * width;
    for (size_t o = 0; o < 2; ++o) {
      for (size_t i = 0; i < 2; ++i) {
        const Doubles mean = MeanOf(sum, first + o * 2 * pixels, 2 * pixels);
        Doubles image;
        for (size_t p = 0; p < pixels; ++p) image.push_back(mean[2 * p + i]);
        const Doubles solved = Solved(image, height, width, 1.5);
        for (size_t p = 0; p < pixels; ++p) {
          const size_t at = first + o * 2 * pixels + 2 * p + i;
          EXPECT_NEAR(static_cast<double>(update[at]), solved[p], 2e-5);
        }
      }
    }
  };
  expect_images(0, 5, 3);
  expect_images(60, 1, 6);
  ExpectNear(update, 84, Solved(MeanOf(sum, 84, 7), 1, 7, 1.5));
}

TEST(Laplacian, WithTwoAxesNeedsAnImage) {
  AggregationOptions options;
  options.smoothing = 1;
  options.smoothing_axes = 2;
  const auto estimator = MakeEstimator(options);
  const std::vector<TrainedTensor> flat = TrainedTensors(*FindModel("softmax-784-10"));
  const std::vector<TrainedTensor> image = TrainedTensors(*FindModel("softmax-784-10"), "28x28");
  EXPECT_THROW(estimator->RequireUseful({flat.data(), flat.size()}), std::invalid_argument);
  EXPECT_NO_THROW(estimator->RequireUseful({image.data(), image.size()}));
}

// The rule of AutoSmoothing(), through a job: of 50 noises of sigma = z 2C / sqrt(50) the mean has
// 2 z C / 50 a coordinate.
TEST(AutoSmoothing, SmoothsWhereTheNoiseIsTenTimesTheLongestUpdate) {
  const auto job = [](double noise_multiplier, const char* image) {
    JobRequest request;
    request.job.plan.sampling = privacy::Sampling::kUniform;
    request.noise_multiplier = noise_multiplier;
    request.smoothing_auto = true;
    if (image != nullptr) request.job.aggregation.smoothing_image.emplace(image);
    return MakeJob(request, 1000).aggregation;
  };
  const double limit = 10 * 50 / (2 * std::sqrt(7850.0));
  EXPECT_EQ(job(limit * 0.999, nullptr).smoothing, 0);
  EXPECT_EQ(job(limit * 1.001, nullptr).smoothing, 0.3);
  EXPECT_EQ(job(limit * 1.001, nullptr).smoothing_axes, 1U);
  EXPECT_EQ(job(limit * 1.001, "28x28").smoothing_axes, 2U);
  JobRequest deep;
  deep.job.model = FindModel("lenet");
  deep.noise_multiplier = 100;
  deep.smoothing_auto = true;
  EXPECT_EQ(MakeJob(deep, 1000).aggregation.smoothing, 0) << "it has hidden layers";
  JobRequest exact;
  exact.job.codec = FindCodec("none");
  exact.smoothing_auto = true;
  EXPECT_EQ(MakeJob(exact, 1000).aggregation.smoothing, 0);
  EXPECT_STREQ(ChooseEstimator(MakeJob(exact, 1000).aggregation).name, "mean");
}

TEST(SmoothImagesLaplacian, ChecksItsArgumentsAndKeepsTheMean) {
  std::vector<float> values(12, 0.0F);
  const Span<float> all(values.data(), values.size());
  EXPECT_THROW(SmoothImagesLaplacian(all, 5, 2, 1), std::invalid_argument);
  EXPECT_THROW(SmoothImagesLaplacian(all, 0, 2, 1), std::invalid_argument);
  EXPECT_THROW(SmoothImagesLaplacian(all, 3, 4, -1), std::invalid_argument);
  values[5] = 12;
  SmoothImagesLaplacian(all, 3, 4, 1e6);
  for (const float value : values) EXPECT_NEAR(value, 1.0F, 1e-4F);
  values[0] = NAN;
  EXPECT_THROW(SmoothImagesLaplacian(all, 3, 4, 1), std::invalid_argument);
}

TEST(JamesStein, ShrinksEachTensorOfThreeElementsOrMore) {
  const std::vector<TrainedTensor> tensors = {{"OI", {20, 5}}, {"O", {2}}, {"O", {30}}};
  const std::vector<int64_t> sum = RandomSum(132);
  for (const double sigma : {5.0, 200.0}) {
    for (const bool plus : {false, true}) {
      AggregationOptions options = Named(plus ? "james-stein-plus" : "james-stein");
      const std::vector<float> update = Estimated(sum, tensors, options, sigma);
      size_t first = 0;
      for (const TrainedTensor& tensor : tensors) {
        Doubles expected = MeanOf(sum, first, tensor.size());
        double energy = 0;
        for (const double value : expected) energy += value * value;
        double factor = 1 - (static_cast<double>(tensor.size()) - 2) * sigma * sigma / energy;
        if (plus) factor = std::max(factor, 0.0);
        if (tensor.size() < 3) factor = 1;
        for (size_t i = 0; i < expected.size(); ++i) {
          EXPECT_FLOAT_EQ(update[first + i], static_cast<float>(expected[i] * factor));
        }
        first += tensor.size();
      }
    }
  }
}

TEST(JamesStein, LeavesATensorOfZeros) {
  AggregationOptions options = Named("james-stein");
  const std::vector<float> update = Estimated(std::vector<int64_t>(9), {{"O", {9}}}, options, 1.0);
  EXPECT_EQ(update, std::vector<float>(9));
}

TEST(SoftThreshold, TakesTheLargestExpectedNoiseOffEachElement) {
  const std::vector<TrainedTensor> tensors = {{"OI", {20, 5}}, {"O", {1}}};
  const std::vector<int64_t> sum = RandomSum(101);
  AggregationOptions options = Named("soft-threshold");
  const std::vector<float> update = Estimated(sum, tensors, options, 7.0);
  size_t zeros = 0;
  for (size_t j = 0; j < 100; ++j) {
    const double mean = static_cast<double>(sum[j]) * 0.05;
    const double magnitude = std::max(std::fabs(mean) - 7 * std::sqrt(2 * std::log(100.0)), 0.0);
    EXPECT_NEAR(static_cast<double>(update[j]), std::copysign(magnitude, mean), 1e-5);
    zeros += magnitude == 0 ? 1 : 0;
  }
  EXPECT_GT(zeros, 10U);
  EXPECT_LT(zeros, 90U);
  EXPECT_FLOAT_EQ(update[100], static_cast<float>(sum[100]) * 0.05F);
}

TEST(Estimators, WithoutNoiseShrinkingIsTheMean) {
  const std::vector<int64_t> sum = RandomSum(50);
  const std::vector<float> mean = Estimated(sum, {{"O", {50}}}, {});
  for (const char* name : {"mean", "james-stein", "james-stein-plus", "soft-threshold"}) {
    AggregationOptions options = Named(name);
    EXPECT_EQ(Estimated(sum, {{"O", {50}}}, options, 0.0), mean) << name;
  }
}

TEST(Estimators, AreNamedOrImpliedAndNeverBoth) {
  AggregationOptions options = Named("soft-threshold");
  EXPECT_STREQ(ChooseEstimator(options).name, "soft-threshold");
  options.smoothing = 1;
  EXPECT_THROW(ChooseEstimator(options), std::invalid_argument);
  options.estimator.emplace("laplacian");
  EXPECT_STREQ(ChooseEstimator(options).name, "laplacian");
  options.smoothing = 0;
  EXPECT_THROW(MakeEstimator(options), std::invalid_argument);
  options.estimator.emplace("median");
  EXPECT_THROW(ChooseEstimator(options), std::invalid_argument);
}

TEST(Estimators, RefuseOptionsOfSmoothingOutOfRange) {
  AggregationOptions options;
  options.smoothing = 1;
  for (const char* order : {"OIH", "OIHH", "oihw", "OIHWO", ""}) {
    AggregationOptions bad = options;
    bad.smoothing_order = order;
    EXPECT_THROW(MakeEstimator(bad), std::invalid_argument) << order;
  }
  for (const uint32_t axes : {0U, 3U}) {
    AggregationOptions bad = options;
    bad.smoothing_axes = axes;
    EXPECT_THROW(MakeEstimator(bad), std::invalid_argument) << axes;
  }
}

}  // namespace
}  // namespace sotto::server
