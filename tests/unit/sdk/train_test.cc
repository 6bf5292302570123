// Local training: the samples' order, clipping, and failures.
#include "sotto/train.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace sotto {
namespace {

using Net = nn::Sequential<nn::Dense<6, 2>>;
constexpr ModelInfo kModel = MakeModelInfo<Net>("test");

// Counts how often each sample is read; sample i has features 1/(i+1) and label i mod 2.
struct CountingSamples {
  std::map<uint32_t, int> reads;
  std::vector<uint32_t> order;
  float scale = 1.0f;

  static Status Read(void* context, uint32_t index, Span<float> features, uint32_t* label) {
    auto* self = static_cast<CountingSamples*>(context);
    ++self->reads[index];
    self->order.push_back(index);
    for (float& value : features) value = self->scale / static_cast<float>(index + 1);
    *label = index % 2;
    return Status::kOk;
  }
  SampleSource source(uint32_t count) { return {count, Read, this}; }
};

struct Training {
  std::vector<float> base = std::vector<float>(kModel.parameters, 0.1f);
  std::vector<float> parameters = std::vector<float>(kModel.parameters);
  std::vector<float> scratch = std::vector<float>(kModel.training_floats(kModel, 64));
  std::vector<uint32_t> indices = std::vector<uint32_t>(64);
  TrainingOptions options;
  LocalTrainer trainer;

  Status Begin(const TrainingOptions& asked, const SampleSource& source, const Key& key = {}) {
    options = asked;
    return trainer.Begin(kModel, options, source, key, {base.data(), base.size()},
                         {{parameters.data(), parameters.size()}}, {scratch.data(), scratch.size()},
                         {indices.data(), indices.size()});
  }
  Status Run(int* steps = nullptr) {
    bool done = false;
    for (int n = 1; !done; ++n) {
      if (Status s = trainer.Step(&done); s != Status::kOk) return s;
      if (steps != nullptr) *steps = n;
    }
    return Status::kOk;
  }
  double Distance() const {
    double sum = 0;
    for (size_t i = 0; i < base.size(); ++i) sum += std::pow(parameters[i] - base[i], 2);
    return std::sqrt(sum);
  }
};

TEST(KeyedPermutation, IsAPermutationOfEverySize) {
  for (uint32_t n = 1; n <= 300; ++n) {
    KeyedPermutation permutation;
    ASSERT_EQ(permutation.Reset(Key(), n, n), Status::kOk);
    std::set<uint32_t> images;
    for (uint32_t i = 0; i < n; ++i) images.insert(permutation(i));
    EXPECT_EQ(images.size(), n);
    EXPECT_LT(*images.rbegin(), n);
  }
}

// Over 2,000 keys each of 50 images of element 0 is expected 40 times; chi-square with 49 degrees
// of freedom exceeds 130 with probability below 1e-8.
TEST(KeyedPermutation, PutsAnElementAnywhere) {
  constexpr uint32_t kSize = 50;
  double counts[kSize] = {};
  for (uint32_t epoch = 0; epoch < 2000; ++epoch) {
    KeyedPermutation permutation;
    ASSERT_EQ(permutation.Reset(Key(), epoch, kSize), Status::kOk);
    counts[permutation(0)] += 1;
  }
  double chi_square = 0;
  for (const double count : counts) chi_square += (count - 40) * (count - 40) / 40;
  EXPECT_LT(chi_square, 130);
}

TEST(LocalTrainer, VisitsEverySampleOnceAnEpoch) {
  CountingSamples samples;
  TrainingOptions options;
  options.local_epochs = 3;
  options.batch_size = 4;
  Training training;
  ASSERT_EQ(training.Begin(options, samples.source(10)), Status::kOk);
  int steps = 0;
  ASSERT_EQ(training.Run(&steps), Status::kOk);
  EXPECT_EQ(steps, 9) << "batches of 4, 4 and 2 in each epoch";
  ASSERT_EQ(samples.reads.size(), 10u);
  // Softmax reads a sample twice: for the errors, then for the update.
  for (const auto& [index, reads] : samples.reads) EXPECT_EQ(reads, 6) << index;
  bool done = false;
  EXPECT_EQ(training.trainer.Step(&done), Status::kWrongState);
}

TEST(LocalTrainer, OrderDependsOnTheKeyAlone) {
  std::vector<std::vector<uint32_t>> orders;
  for (const int number : {1, 1, 2}) {
    CountingSamples samples;
    Key key;
    key.bytes[0] = static_cast<uint8_t>(number);
    Training training;
    ASSERT_EQ(training.Begin({}, samples.source(20), key), Status::kOk);
    ASSERT_EQ(training.Run(), Status::kOk);
    orders.push_back(samples.order);
  }
  EXPECT_EQ(orders[0], orders[1]);
  EXPECT_NE(orders[0], orders[2]);
}

TEST(LocalTrainer, BothKindsOfClippingKeepTheUpdateInTheBall) {
  for (const Clipping clipping : {Clipping::kEveryStep, Clipping::kAtEnd}) {
    CountingSamples samples;
    samples.scale = 10;
    TrainingOptions options;
    options.clipping = clipping;
    options.learning_rate = 1.0f;
    options.clip_l2 = 0.05f;
    Training training;
    ASSERT_EQ(training.Begin(options, samples.source(11)), Status::kOk);
    ASSERT_EQ(training.Run(), Status::kOk);
    EXPECT_NEAR(training.Distance(), 0.05, 1e-6);
  }
}

// The greatest distance from base after any step of training without a bound, and the last one.
struct Path {
  double greatest = 0;
  double last = 0;
};

Path UnclippedPath(TrainingOptions options) {
  CountingSamples samples;
  options.clip_l2 = 1e30f;
  Training training;
  EXPECT_EQ(training.Begin(options, samples.source(11)), Status::kOk);
  Path path;
  for (bool done = false; !done;) {
    EXPECT_EQ(training.trainer.Step(&done), Status::kOk);
    path.last = training.Distance();
    path.greatest = std::max(path.greatest, path.last);
  }
  EXPECT_FALSE(training.trainer.clipped());
  return path;
}

TEST(LocalTrainer, TellsWhetherTheBoundWasBelowALengthThatDoesNotDependOnIt) {
  for (const Clipping clipping : {Clipping::kEveryStep, Clipping::kAtEnd}) {
    TrainingOptions options;
    options.clipping = clipping;
    options.learning_rate = 4.0f;  // so much that the path turns back
    options.weight_decay = 0.02f;
    const Path path = UnclippedPath(options);
    ASSERT_GT(path.greatest, 1.001 * path.last);
    const double length = clipping == Clipping::kEveryStep ? path.greatest : path.last;
    for (const double factor : {0.1, 0.9, 0.9999, 1.0001, 1.1, 10.0}) {
      CountingSamples samples;
      options.clip_l2 = static_cast<float>(factor * length);
      Training training;
      ASSERT_EQ(training.Begin(options, samples.source(11)), Status::kOk);
      ASSERT_EQ(training.Run(), Status::kOk);
      EXPECT_EQ(training.trainer.clipped(), factor < 1) << factor;
    }
  }
}

TEST(LocalTrainer, TrainingLowersTheLoss) {
  CountingSamples samples;
  TrainingOptions options;
  options.clip_l2 = 100.0f;
  Training once;
  options.local_epochs = 1;
  ASSERT_EQ(once.Begin(options, samples.source(20)), Status::kOk);
  ASSERT_EQ(once.Run(), Status::kOk);
  Training often;
  options.local_epochs = 50;
  ASSERT_EQ(often.Begin(options, samples.source(20)), Status::kOk);
  ASSERT_EQ(often.Run(), Status::kOk);
  EXPECT_LT(often.trainer.mean_loss(), once.trainer.mean_loss());
}

TEST(LocalTrainer, LearningRateZeroLeavesTheModelAlone) {
  CountingSamples samples;
  TrainingOptions options;
  options.learning_rate = 0.0f;
  Training training;
  ASSERT_EQ(training.Begin(options, samples.source(5)), Status::kOk);
  ASSERT_EQ(training.Run(), Status::kOk);
  EXPECT_EQ(training.parameters, training.base);
}

TEST(LocalTrainer, DivergenceIsAnError) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), 1e30f}) {
    CountingSamples samples;
    samples.scale = bad;
    Training training;
    ASSERT_EQ(training.Begin({}, samples.source(5)), Status::kOk);
    EXPECT_EQ(training.Run(), Status::kNotFinite);
  }
}

TEST(LocalTrainer, WithoutSamplesTheTrainedModelIsTheBase) {
  CountingSamples samples;
  Training training;
  TrainingOptions options;
  options.local_epochs = 3;
  ASSERT_EQ(training.Begin(options, samples.source(0)), Status::kOk);
  int steps = 0;
  EXPECT_EQ(training.Run(&steps), Status::kOk);
  EXPECT_EQ(steps, 1);
  EXPECT_EQ(training.parameters, training.base);
  EXPECT_FALSE(training.trainer.clipped());
  EXPECT_TRUE(samples.reads.empty());
}

TEST(LocalTrainer, RefusesOptionsAndBuffersOutOfRange) {
  CountingSamples samples;
  Training training;
  TrainingOptions options;
  EXPECT_EQ(training.Begin(options, SampleSource()), Status::kInvalidArgument);
  options.batch_size = 65;
  EXPECT_EQ(training.Begin(options, samples.source(5)), Status::kBufferTooSmall);
  options = {};
  options.local_epochs = 0;
  EXPECT_EQ(options.Validate(), Status::kInvalidArgument);
  for (const float bad :
       {-1.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    options = {};
    options.learning_rate = bad;
    EXPECT_EQ(options.Validate(), Status::kInvalidArgument);
    options = {};
    options.weight_decay = bad;
    EXPECT_EQ(options.Validate(), Status::kInvalidArgument);
    options = {};
    options.clip_l2 = bad;
    EXPECT_EQ(options.Validate(), Status::kInvalidArgument);
  }
  options = {};
  options.clip_l2 = 0;
  EXPECT_EQ(options.Validate(), Status::kInvalidArgument);
  options = {};
  options.clipping = static_cast<Clipping>(0);
  EXPECT_EQ(options.Validate(), Status::kInvalidArgument);
}

TEST(Projection, IsTheIdentityInside) {
  const std::vector<float> base = {1, 2, 3};
  std::vector<float> inside = {1.1f, 2.1f, 2.9f};
  const auto before = inside;
  bool was_outside = true;
  ASSERT_EQ(kModel.project({base.data(), 3}, 1.0f, {{inside.data(), 3}}, &was_outside),
            Status::kOk);
  EXPECT_EQ(inside, before);
  EXPECT_FALSE(was_outside);
  inside[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(kModel.project({base.data(), 3}, 1.0f, {{inside.data(), 3}}, &was_outside),
            Status::kNotFinite);
}

// 3, 4, 12: a distance of 13, without any rounding.
TEST(Projection, TheBoundaryItselfIsInside) {
  const std::vector<float> base(3);
  const std::vector<float> corner = {3, 4, 12};
  for (const float radius : {std::nextafter(13.0f, 0.0f), 13.0f, std::nextafter(13.0f, 14.0f)}) {
    std::vector<float> moved = corner;
    bool was_outside = false;
    ASSERT_EQ(kModel.project({base.data(), 3}, radius, {{moved.data(), 3}}, &was_outside),
              Status::kOk);
    EXPECT_EQ(was_outside, radius < 13.0f);
    EXPECT_EQ(moved != corner, radius < 13.0f);
  }
}

}  // namespace
}  // namespace sotto
