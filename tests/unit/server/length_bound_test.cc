// The one length of updates: its bound against many encoded updates, and what it depends on.
#include "codec/length_bound.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "accounting/one_length.h"
#include "sotto/update_codec.h"

namespace sotto::server {
namespace {

constexpr uint32_t kParameters = 1000;

TrainTask TaskWith(float clip_in_scales, Coding coding = Coding::kRange) {
  TrainTask task;
  task.format = {coding, DitherKind::kGaussian, 0, 0};
  task.quantizer_scale = 1.0f;
  task.training.clip_l2 = clip_in_scales;
  return task;
}

// An update of norm clip, spread over every `stride`-th coordinate, evenly or as a normal draw.
std::vector<float> Spread(float clip, size_t stride, bool is_even) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> update(kParameters);
  double squares = 0;
  for (size_t i = 0; i < update.size(); i += stride) {
    update[i] = is_even ? 1.0f : normal(random);
    squares += std::pow(static_cast<double>(update[i]), 2);
  }
  for (float& value : update) value *= clip / static_cast<float>(std::sqrt(squares));
  return update;
}

// Of so many encodings under different keys, those that are too long.
int CountTooLong(const TrainTask& task, const std::vector<float>& update, int encodings) {
  int count = 0;
  for (int i = 0; i < encodings; ++i) {
    Key key;
    key.bytes[0] = static_cast<uint8_t>(i);
    key.bytes[1] = static_cast<uint8_t>(i >> 8);
    UpdateEncoder encoder;
    EXPECT_EQ(encoder.Begin(key, task.format, {update.data(), update.size()}, task.training.clip_l2,
                            task.quantizer_scale),
              Status::kOk);
    bool fits = false;
    EXPECT_EQ(encoder.FitsLength(&fits), Status::kOk);
    count += fits ? 0 : 1;
  }
  return count;
}

// Of 400 encodings with p = 0.01 each, more than 24 are too long with a probability of 1e-11, for
// each of 32 updates. Half the length is too short for nearly all of the even ones of norm 30.
TEST(LengthBound, UpdatesWithinTheBoundAreSeldomTooLongHoweverTheyAreSpread) {
  for (const float clip : {0.5f, 3.0f, 30.0f, 700.0f}) {
    TrainTask task = TaskWith(clip);
    task.format.length = LengthFor(task, kParameters, 0.01);
    for (const size_t stride : {1, 10, 100, 999}) {
      for (const bool is_even : {true, false}) {
        EXPECT_LE(CountTooLong(task, Spread(clip, stride, is_even), 400), 24)
            << clip << " " << stride;
      }
    }
    task.format.length /= 2;
    if (clip > 20 && clip < 50) {
      EXPECT_GT(CountTooLong(task, Spread(clip, 1, true), 100), 90) << clip;
    }
  }
}

// A default job: C is 6.2 deviations. Most of its updates have 128 bytes with the padding of 64.
TEST(LengthBound, TheDefaultUpdateNeedsLittleMoreThanItsMean) {
  const uint32_t length = LengthFor(TaskWith(6.2f), 7850, 1e-12);
  EXPECT_LE(length, 192u);
  EXPECT_GE(length, 80u);
}

TEST(LengthBound, ALongerBoundOrASmallerProbabilityNeedsMoreBytes) {
  uint32_t last = 0;
  for (const float clip : {0.1f, 1.0f, 10.0f, 100.0f, 1000.0f}) {
    const uint32_t length = LengthFor(TaskWith(clip), kParameters, 1e-9);
    EXPECT_GT(length, last) << clip;
    EXPECT_GE(LengthFor(TaskWith(clip), kParameters, 1e-15), length);
    TrainTask with_bit = TaskWith(clip);
    with_bit.clip_bit_q20 = 8 << 20;
    EXPECT_GE(LengthFor(with_bit, kParameters, 1e-9), length);
    last = length;
  }
}

TEST(LengthBound, NoUpdateIsTooLongForTheFixedLengthCode) {
  for (const float clip : {0.1f, 6.0f, 900.0f}) {
    TrainTask task = TaskWith(clip, Coding::kFixed);
    task.format.length = LengthFor(task, kParameters, 0.5);
    for (const size_t stride : {1, 999}) {
      EXPECT_EQ(CountTooLong(task, Spread(clip, stride, true), 20), 0) << clip;
    }
  }
}

TEST(LengthBound, ATaskWithoutACodeHasNoLength) {
  EXPECT_THROW(LengthFor(TaskWith(1, Coding::kFloat32), kParameters, 0.1), std::invalid_argument);
  EXPECT_THROW(LengthFor(TaskWith(1), kParameters, 0), std::invalid_argument);
  EXPECT_THROW(LengthFor(TaskWith(1), kParameters, 1), std::invalid_argument);
  TrainTask noisy = TaskWith(1);
  noisy.private_noise_q20 = 1 << 20;
  EXPECT_THROW(LengthFor(noisy, kParameters, 0.1), std::invalid_argument);
}

// p 1e-9, cohort 100, 4 participations, epsilon 6: 16 times a delta of 1e-5.
TEST(OneLength, PaysForTheNoiseOfEveryDevice) {
  EXPECT_NEAR(privacy::DeltaOfOneLength(6, 400, 1e-9), 1.618e-4, 1e-7);
}

}  // namespace
}  // namespace sotto::server
