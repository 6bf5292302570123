// Training in fixed point, against training in float32 and against exact arithmetic.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

#include "nn/fixed_kernels.h"
#include "sotto/bytes.h"
#include "sotto/models.h"
#include "sotto/train.h"

namespace sotto {
namespace {

using Net = nn::Sequential<nn::Dense<21, 5>>;
constexpr ModelInfo kFloat = MakeModelInfo<Net>("float");
constexpr ModelInfo kFixed = MakeModelInfo<nn::FixedPoint<Net>>("fixed");
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> RandomVector(size_t size, uint32_t seed, float limit = 1.0f) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-limit, limit);
  std::vector<float> v(size);
  for (float& value : v) value = uniform(random);
  return v;
}

// Sample i belongs to class i mod 5, and its features say so.
struct Samples {
  float scale = 1.0f;

  static Status Read(void* context, uint32_t index, Span<float> features, uint32_t* label) {
    const auto* self = static_cast<const Samples*>(context);
    *label = index % Net::kClasses;
    const auto noise = RandomVector(features.size(), 100 + index);
    for (size_t i = 0; i < features.size(); ++i) {
      features[i] = self->scale * (0.5f * noise[i] + (i % Net::kClasses == *label ? 0.5f : 0.0f));
    }
    return Status::kOk;
  }
};

struct Training {
  Samples samples;
  std::vector<float> base = RandomVector(Net::kParameters, 3, 0.1f);
  std::vector<float> parameters = std::vector<float>(Net::kParameters);
  float loss = 0;
  bool clipped = false;
  uint32_t saturated_steps = 0;

  Status Run(const ModelInfo& model, const TrainingOptions& options) {
    std::vector<float> scratch(model.training_floats(model, options.batch_size));
    std::vector<uint32_t> indices(options.batch_size);
    LocalTrainer trainer;
    const SampleSource source{40, Samples::Read, &samples};
    if (Status s =
            trainer.Begin(model, options, source, Key(), {base.data(), base.size()},
                          {{parameters.data(), parameters.size()}},
                          {scratch.data(), scratch.size()}, {indices.data(), indices.size()});
        s != Status::kOk) {
      return s;
    }
    for (bool done = false; !done;) {
      if (Status s = trainer.Step(&done); s != Status::kOk) return s;
    }
    loss = trainer.mean_loss();
    clipped = trainer.clipped();
    saturated_steps = trainer.saturated_steps();
    return Status::kOk;
  }
  double Distance() const {
    double sum = 0;
    for (size_t i = 0; i < base.size(); ++i) sum += std::pow(double{parameters[i]} - base[i], 2);
    return std::sqrt(sum);
  }
};

double LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::fabs(double{a[i]} - b[i]));
  }
  return largest;
}

// Each rounding is at most 2^-25 a sample; features and scores are rounded to 2^-17 and 2^-21,
// which moves errors by less than 2^-15 for these weights, and a parameter by the rate times that.
TEST(FixedTraining, OneStepIsThatOfFloatWithinTheStatedBound) {
  TrainingOptions options;
  options.local_epochs = 1;
  options.batch_size = 40;
  options.learning_rate = 0.5f;
  options.weight_decay = 0.1f;
  options.clip_l2 = 1000;
  Training in_float;
  Training in_fixed;
  ASSERT_EQ(in_float.Run(kFloat, options), Status::kOk);
  ASSERT_EQ(in_fixed.Run(kFixed, options), Status::kOk);
  EXPECT_GT(LargestDifference(in_float.parameters, in_float.base), 0.01);
  const double bound = 41 * std::ldexp(1.0, -25) + 0.5 * std::ldexp(1.0, -15);
  EXPECT_LE(LargestDifference(in_fixed.parameters, in_float.parameters), bound);
  EXPECT_NEAR(in_fixed.loss, in_float.loss, 1e-5);
}

TEST(FixedTraining, WholeTrainingsStayCloseUnderBothKindsOfClipping) {
  for (const Clipping clipping : {Clipping::kEveryStep, Clipping::kAtEnd}) {
    for (const float clip : {0.05f, 0.4f, 100.0f}) {
      TrainingOptions options;
      options.clipping = clipping;
      options.clip_l2 = clip;
      Training in_float;
      Training in_fixed;
      ASSERT_EQ(in_float.Run(kFloat, options), Status::kOk);
      ASSERT_EQ(in_fixed.Run(kFixed, options), Status::kOk);
      EXPECT_LE(LargestDifference(in_fixed.parameters, in_float.parameters), 2e-5) << clip;
      EXPECT_NEAR(in_fixed.loss, in_float.loss, 2e-5);
      EXPECT_EQ(in_fixed.clipped, in_float.clipped);
      EXPECT_EQ(in_fixed.saturated_steps, 0u);
      EXPECT_EQ(in_fixed.clipped, clip < 1);
      EXPECT_LE(in_fixed.Distance(), clip * (1 + 1e-5));
    }
  }
}

TEST(FixedTraining, SmallBoundsAreMetToo) {
  for (const float clip : {1e-3f, 1e-5f, 1e-30f}) {
    TrainingOptions options;
    options.clip_l2 = clip;
    Training training;
    ASSERT_EQ(training.Run(kFixed, options), Status::kOk);
    EXPECT_TRUE(training.clipped);
    // The distance of the nearest integers: 2^-25 in each coordinate, and float32's own rounding.
    EXPECT_LE(training.Distance(), clip + std::sqrt(Net::kParameters) * 4e-8) << clip;
  }
}

TEST(FixedTraining, ParametersThatDoNotMoveKeepTheirBits) {
  TrainingOptions options;
  options.learning_rate = 0;
  Training training;
  ASSERT_EQ(training.Run(kFixed, options), Status::kOk);
  EXPECT_EQ(training.parameters, training.base);
}

TEST(FixedTraining, SaturatesInsteadOfDiverging) {
  TrainingOptions options;
  options.learning_rate = 50;
  options.clip_l2 = 1e6f;
  Training training;
  training.samples.scale = 1e9f;
  ASSERT_EQ(training.Run(kFixed, options), Status::kOk);
  for (const float value : training.parameters) EXPECT_LE(std::fabs(value), 64.0f);
  EXPECT_EQ(training.saturated_steps, 20);  // features are, in each of the steps
  training.samples.scale = 7.9f;
  options.learning_rate = 70;  // and now only parameters are
  ASSERT_EQ(training.Run(kFixed, options), Status::kOk);
  EXPECT_GT(training.saturated_steps, 0u);
  EXPECT_TRUE(std::isfinite(training.loss));
}

TEST(FixedTraining, RefusesWhatItsFormatsCannotHold) {
  Training training;
  training.base[7] = 64.0f;
  EXPECT_EQ(training.Run(kFixed, {}), Status::kOutOfRange);
  training.base[7] = -64.0f;
  EXPECT_EQ(training.Run(kFixed, {}), Status::kOutOfRange);
  training.base[7] = kNan;
  EXPECT_EQ(training.Run(kFixed, {}), Status::kNotFinite);
  training.base[7] = std::nextafter(64.0f, 0.0f);
  EXPECT_EQ(training.Run(kFixed, {}), Status::kOk);
  TrainingOptions options;
  options.learning_rate = 8.0f * static_cast<float>(options.batch_size);
  EXPECT_EQ(training.Run(kFixed, options), Status::kInvalidArgument);
  for (const float bad : {kNan, std::numeric_limits<float>::infinity()}) {
    training.samples.scale = bad;
    EXPECT_EQ(training.Run(kFixed, {}), Status::kNotFinite);
  }
}

TEST(FixedTraining, IsOfTheSameModelAsFloat) {
  uint8_t digests[2][kSha256Size];
  ASSERT_EQ(ModelDigest(*FindModel("softmax-784-10"), digests[0]), Status::kOk);
  ASSERT_EQ(ModelDigest(*FindModel("softmax-784-10-q"), digests[1]), Status::kOk);
  EXPECT_EQ(std::memcmp(digests[0], digests[1], kSha256Size), 0);
}

// A rounding error of one step is at most half a unit. If the steps are far below a unit, rounding
// to the nearest would lose all of them: the format is so fine that this is no more than n * 3e-8.
TEST(FixedTraining, AnyNumberOfRoundedStepsIsWithinHalfAUnitEach) {
  constexpr int kSteps = 1000;
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(-1e-6, 1e-6);
  float x[1];
  nn::StoreRaw(1 << nn::FineFeature::kFractionBits, x);
  float y[1];
  nn::StoreRaw(0, y);
  double exact = 0;
  for (int i = 0; i < kSteps; ++i) {
    const auto step = nn::Rate::FromFloat(static_cast<float>(uniform(random)));
    exact += double{step.ToFloat()};
    nn::FixedAddScaled(step, x, 1, y);
  }
  EXPECT_LE(std::fabs(std::ldexp(nn::LoadRaw(y), -24) - exact), kSteps * std::ldexp(1.0, -25));
}

TEST(FixedKernels, AddScaledRoundsToTheNearestAndSaturatesEveryElement) {
  std::mt19937 random(6);
  for (size_t n = 1; n <= 13; ++n) {
    for (const int shift : {0, 3, 12}) {
      std::vector<float> x(n);
      std::vector<float> y(n);
      std::vector<int32_t> expected(n);
      const auto scale = nn::Rate::FromRaw(static_cast<int32_t>(random()) >> shift);
      for (size_t i = 0; i < n; ++i) {
        const auto xi = static_cast<int32_t>(random());
        const auto yi = static_cast<int32_t>(random()) >> 1;
        nn::StoreRaw(xi, &x[i]);
        nn::StoreRaw(yi, &y[i]);
        const long double sum = yi + std::ldexp(static_cast<long double>(scale.raw()) * xi, -32);
        const long double limited = std::floor(sum + 0.5L);
        expected[i] = static_cast<int32_t>(
            std::min<long double>(std::max<long double>(limited, -(1 << 30)), (1 << 30) - 1));
      }
      nn::FixedAddScaled(scale, x.data(), n, y.data());
      for (size_t i = 0; i < n; ++i) EXPECT_EQ(nn::LoadRaw(&y[i]), expected[i]);
    }
  }
}

TEST(FixedKernels, HoldTheLargestNumbersOfTheirFormats) {
  constexpr size_t kInputs = nn::kMaxFixedInputs;
  for (const int32_t weight : {nn::Weight::kMinRaw, nn::Weight::kMaxRaw}) {
    std::vector<float> row(kInputs + 1);
    std::vector<float> x(kInputs);
    for (float& w : row) nn::StoreRaw(weight, &w);
    for (float& value : x) nn::StoreRaw(nn::Feature::kMinRaw, &value);
    float y[1];
    nn::FixedDenseForward(row.data(), row.data() + kInputs, x.data(), kInputs, 1, y);
    EXPECT_EQ(nn::LoadRaw(y), weight > 0 ? nn::Score::kMinRaw : nn::Score::kMaxRaw);
    // Squares of the largest distance, 2^31 - 64: more than 64 bits hold.
    const std::vector<float> center(kInputs, weight > 0 ? -63.99999f : 63.99999f);
    const Wide sum = nn::FixedSquaredDistance(center.data(), row.data(), kInputs);
    const double distance = std::ldexp(weight, -24) - double{center[0]};
    const double got = std::ldexp(static_cast<double>(sum.high), 64) + static_cast<double>(sum.low);
    EXPECT_NEAR(std::ldexp(got, -48) / (kInputs * distance * distance), 1.0, 1e-12);
  }
}

}  // namespace
}  // namespace sotto
