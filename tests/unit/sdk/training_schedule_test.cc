// How long a training takes, which samples a step takes, at which rate; and options out of range.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <vector>

#include "unit/sdk/trainings.h"

namespace sotto {
namespace {

TEST(TrainingSchedule, StepsEndATrainingInTheMiddleOfAPassAndGoOnOverSeveral) {
  for (const uint32_t asked : {1u, 2u, 3u, 8u, 13u}) {
    Training training(kSoftmax, 10);
    training.options.batch_size = 4;
    training.options.local_epochs = 1;
    training.options.local_steps = asked;
    EXPECT_EQ(training.Run(), static_cast<int>(asked));
  }
  // Three steps are a pass of batches of 4, 4 and 2: as many steps as passes give the same bits.
  Training steps(kSoftmax, 10);
  steps.options.batch_size = 4;
  steps.options.local_steps = 6;
  steps.Run();
  Training passes(kSoftmax, 10);
  passes.options.batch_size = 4;
  passes.options.local_epochs = 2;
  passes.Run();
  EXPECT_EQ(steps.trained, passes.trained);
  EXPECT_EQ(steps.data.reads, passes.data.reads);
  Training none(kSoftmax, 0);
  none.options.local_steps = 6;
  EXPECT_EQ(none.Run(), 1) << "which does nothing";
  EXPECT_EQ(none.trained, none.base);
}

// Of 30 samples each is expected 1,000 times in 6,000 batches of 5; chi-square with 29 degrees of
// freedom exceeds 99 with probability below 1e-8. A sample left out gives more than 1,000.
TEST(TrainingSchedule, BatchesWithReplacementDrawEachSampleAlike) {
  Training training(kSoftmax, 30);
  training.options.batch_size = 5;
  training.options.local_steps = 6000;
  training.options.batches = Batches::kWithReplacement;
  EXPECT_EQ(training.Run(), 6000);
  std::map<uint32_t, double> counts;
  for (const uint32_t index : training.data.reads) counts[index] += 0.5;  // read twice a step
  double chi_square = 0;
  int batches_with_a_pair = 0;
  for (uint32_t i = 0; i < 30; ++i) chi_square += std::pow(counts[i] - 1000, 2) / 1000;
  EXPECT_LT(chi_square, 99);
  for (size_t at = 0; at < training.data.reads.size(); at += 10) {
    const auto first = training.data.reads.begin() + static_cast<std::ptrdiff_t>(at);
    std::vector<uint32_t> batch(first, first + 5);
    std::sort(batch.begin(), batch.end());
    batches_with_a_pair += std::unique(batch.begin(), batch.end()) != batch.end() ? 1 : 0;
  }
  // A batch has a pair with probability 1 - 29 28 27 26 / 30^4 = 0.2964: 1,779 of 6,000, with a
  // deviation of 35; 6 of them are exceeded with probability below 1e-8.
  EXPECT_NEAR(batches_with_a_pair, 1779, 6 * 35);
}

TEST(TrainingSchedule, APassWithReplacementHasAsManyBatchesAllOfThemFull) {
  Training training(kSoftmax, 10);
  training.options.batch_size = 4;
  training.options.local_epochs = 2;
  training.options.batches = Batches::kWithReplacement;
  EXPECT_EQ(training.Run(), 6);
  EXPECT_EQ(training.data.reads.size(), 6u * 2 * 4);
  // The key gives the order: the same on every CPU.
  const std::vector<uint32_t> first(training.data.reads.begin(), training.data.reads.begin() + 4);
  EXPECT_EQ(first, (std::vector<uint32_t>{2, 0, 1, 1}));
  // A batch may be larger than the number of samples.
  Training few(kSoftmax, 2);
  few.options.batch_size = 4;
  few.options.local_epochs = 3;
  few.options.batches = Batches::kWithReplacement;
  EXPECT_EQ(few.Run(), 3);
  EXPECT_EQ(few.data.reads.size(), 3u * 2 * 4);
}

TEST(TrainingSchedule, TheRateFallsFromStepToStep) {
  const auto rate = [](RatePower power, uint32_t first, uint32_t k) {
    TrainingOptions options;
    options.learning_rate = 0.5f;
    options.rate_power = power;
    options.rate_first = first;
    EXPECT_EQ(options.Validate(), Status::kOk);
    return options.Rate(k);
  };
  EXPECT_EQ(rate(RatePower::kZero, 0, 99), 0.5f);
  EXPECT_EQ(rate(RatePower::kOne, 1, 0), 0.5f);
  EXPECT_EQ(rate(RatePower::kOne, 1, 3), 0.125f);
  EXPECT_EQ(rate(RatePower::kHalf, 1, 3), 0.25f);
  EXPECT_EQ(rate(RatePower::kOne, uint32_t{1} << 31, 0), 0x1p-32f);
  // A training takes them: two steps are one of rate 0.5, then one of rate 0.25.
  Training falls(kSoftmax, 3);
  falls.options.batch_size = 3;
  falls.options.learning_rate = 0.5f;
  falls.options.local_steps = 2;
  falls.options.rate_first = 1;
  falls.options.rate_power = RatePower::kOne;
  falls.Run();
  std::vector<float> expected = falls.base;
  for (const float of_step : {0.5f, 0.25f}) {
    Training one(kSoftmax, 3);
    one.base = expected;
    one.options.batch_size = 3;
    one.options.learning_rate = of_step;
    one.options.local_steps = 1;
    one.Run();
    expected = one.trained;
  }
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(falls.trained[i], expected[i], 1e-6);
}

TEST(TrainingSchedule, FixedPointCountsStepsDrawsBatchesAndLetsRatesFall) {
  for (const ModelInfo* model : {&kFixed, &kFixedNet}) {
    std::vector<std::vector<float>> results;
    for (const bool has_methods : {false, true}) {
      Training fixed(*model, 7);
      fixed.options.batch_size = 2;
      fixed.options.local_steps = 5;
      if (has_methods) {
        fixed.options.batches = Batches::kWithReplacement;
        fixed.options.rate_first = 1;
        fixed.options.rate_power = RatePower::kHalf;
      }
      EXPECT_EQ(fixed.Run(), 5);
      results.push_back(fixed.trained);
    }
    EXPECT_NE(results[0], results[1]);
  }
}

TEST(TrainingSchedule, OptionsOutOfRangeAreRefused) {
  const auto after = [](auto change) {
    TrainingOptions options;
    change(options);
    return options.Validate();
  };
  using O = TrainingOptions;
  EXPECT_EQ(after([](O& o) { o.local_steps = 65535; }), Status::kOk);
  EXPECT_EQ(after([](O& o) { o.gradient_clip = 0x1p-30f; }), Status::kOk);
  EXPECT_EQ(after([](O& o) { o.proximal = 1e6f; }), Status::kOk);
  const auto refuses = [&](auto change) { EXPECT_EQ(after(change), Status::kInvalidArgument); };
  refuses([](O& o) { o.local_steps = 65536; });
  refuses([](O& o) { o.batches = static_cast<Batches>(2); });
  refuses([](O& o) { o.rate_first = 1; });
  refuses([](O& o) { o.rate_power = RatePower::kOne; });
  refuses([](O& o) { o.rate_first = 1, o.rate_power = static_cast<RatePower>(3); });
  refuses([](O& o) { o.rate_first = 0x80000001, o.rate_power = RatePower::kOne; });
  refuses([](O& o) { o.gradient_clip_of = static_cast<GradientClipOf>(2); });
  for (const float bad : {-1.0f, NAN, INFINITY}) {
    refuses([&](O& o) { o.gradient_clip = bad; });
    refuses([&](O& o) { o.proximal = bad; });
  }
  refuses([](O& o) { o.gradient_clip = 1e-10f; });
}

}  // namespace
}  // namespace sotto
