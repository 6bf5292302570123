// Clipping and scaling in integers, over the whole range of float32.
#include "sotto/update_scale.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

#include "sotto/quantizer.h"

namespace sotto {
namespace {

Span<const float> View(const std::vector<float>& v) { return {v.data(), v.size()}; }

// The exact sum of squares as long double: at most 2^24 squares below 2^60 need 84 bits, rounding
// errors of 2^-63 a term are far below the slack that rounding down leaves.
long double SumOfSquares(const std::vector<float>& update, const UpdateScale& scale) {
  long double sum = 0;
  for (const float value : update) {
    const auto v = static_cast<long double>(ScaleToQ20(value, scale));
    sum += v * v;
  }
  return sum;
}

long double SquaredBound(float clip, float unit) {
  const long double bound = static_cast<long double>(clip) * 1048576 / unit;
  return std::floor(bound * bound);
}

TEST(UpdateScale, SumOfSquaresNeverExceedsTheClippingBound) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> log_scale(-20, 20);
  for (int trial = 0; trial < 3000; ++trial) {
    std::vector<float> update(1 + random() % 300);
    const float magnitude = std::exp(log_scale(random));
    for (float& value : update) value = normal(random) * magnitude;
    const float clip = std::exp(log_scale(random) / 4);
    const float unit = clip * std::exp(-6.9f * static_cast<float>(random() % 1000) / 1000.0f);
    UpdateScale scale;
    ASSERT_EQ(ComputeUpdateScale(View(update), clip, unit, &scale), Status::kOk);
    const long double sum = SumOfSquares(update, scale);
    ASSERT_LE(sum, SquaredBound(clip, unit)) << "trial " << trial;
    if (scale.clipped) {
      // Clipping to the bound, not to less: the loss is the rounding of each coordinate.
      const long double norm = std::sqrt(sum) + std::sqrt(static_cast<double>(update.size()));
      ASSERT_GE(norm * (1 + 1e-8L), std::sqrt(SquaredBound(clip, unit)) - 1);
    }
  }
}

TEST(UpdateScale, ValuesThatNeedNoClippingKeepTheirSize) {
  const std::vector<float> update = {0.01f, -0.02f, 0.003f, 0.0f};
  UpdateScale scale;
  ASSERT_EQ(ComputeUpdateScale(View(update), 1.0f, 0.125f, &scale), Status::kOk);
  EXPECT_FALSE(scale.clipped);
  for (const float value : update) {
    const double exact = value / 0.125 * 1048576;
    const int32_t v = ScaleToQ20(value, scale);
    EXPECT_LE(std::fabs(v), std::fabs(exact)) << value;
    EXPECT_NEAR(v, exact, 1.001) << value;
  }
  EXPECT_EQ(scale.max_value_q20, -ScaleToQ20(-0.02f, scale));
}

TEST(UpdateScale, HandlesTheEndsOfFloat32) {
  const float largest = std::numeric_limits<float>::max();
  const float subnormal = std::numeric_limits<float>::denorm_min();
  for (const std::vector<float>& update :
       {std::vector<float>(1000, largest), std::vector<float>{subnormal, -subnormal},
        std::vector<float>{largest, subnormal, 1.0f}, std::vector<float>(5, 0.0f)}) {
    for (const float unit : {0.5f, 1e-3f, 1e30f}) {
      const float clip = unit;
      UpdateScale scale;
      ASSERT_EQ(ComputeUpdateScale(View(update), clip, unit, &scale), Status::kOk);
      EXPECT_LE(SumOfSquares(update, scale), SquaredBound(clip, unit));
      EXPECT_EQ(scale.clipped, update[0] == largest && unit < 1e35f);
    }
  }
}

// The uniform mode's unit is exactly clip / 1024: the largest value the format carries.
TEST(UpdateScale, ABallInTheBoxFillsTheFormatAndNoMore) {
  const std::vector<float> update = {3.0f, 0.0f};
  UpdateScale scale;
  ASSERT_EQ(ComputeUpdateScale(View(update), 0.4f, 0.4f / 1024, &scale), Status::kOk);
  EXPECT_LE(scale.max_value_q20, kMaxValueQ20);
  EXPECT_GE(scale.max_value_q20, kMaxValueQ20 - 2);
  EXPECT_EQ(ComputeUpdateScale(View(update), 1.1f, 1.0f / 1048576, &scale),
            Status::kInvalidArgument);
}

// v as the ball alone would have it, against v in the box: clamped, and not changed otherwise.
TEST(UpdateScale, CoordinatesBeyondTheBoxAreClamped) {
  const std::vector<float> update = {3.0f, -4.0f, 0.001f, -0.25f, 0.0f};
  UpdateScale scale;
  ASSERT_EQ(ComputeUpdateScale(View(update), 100.0f, 0.0009765625f, &scale), Status::kOk);
  EXPECT_FALSE(scale.clipped) << "the norm is 5";
  EXPECT_EQ(scale.max_value_q20, kMaxValueQ20);
  EXPECT_LE(scale.rms_q20, kMaxValueQ20);
  const int32_t in_box[] = {kMaxValueQ20, -kMaxValueQ20, 1073741, -268435456, 0};
  for (size_t j = 0; j < update.size(); ++j) {
    EXPECT_NEAR(ScaleToQ20(update[j], scale), in_box[j], 8);
  }
  EXPECT_EQ(ScaleToQ20(update[1], scale), -kMaxValueQ20);
}

TEST(UpdateScale, NeitherBallNorBoxIsExceededAtAnyRatio) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  int clamped = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<float> update(1 + random() % 200);
    for (float& value : update) value = std::pow(normal(random), 5.0f);
    const float unit = std::ldexp(1.0f + static_cast<float>(random() % 1000) / 1000, -20);
    const float clip = std::ldexp(unit, static_cast<int>(random() % 21));
    UpdateScale scale;
    ASSERT_EQ(ComputeUpdateScale(View(update), clip, unit, &scale), Status::kOk);
    ASSERT_LE(SumOfSquares(update, scale), SquaredBound(clip, unit)) << "trial " << trial;
    ASSERT_LE(scale.max_value_q20, kMaxValueQ20);
    ASSERT_LE(scale.rms_q20, scale.max_value_q20);
    bool reaches_end = false;
    for (const float value : update) {
      const int32_t v = ScaleToQ20(value, scale);
      ASSERT_LE(std::abs(v), scale.max_value_q20);
      ASSERT_LE(std::abs(v),
                std::fabs(static_cast<double>(value) / static_cast<double>(unit)) * 0x1p20);
      reaches_end = reaches_end || std::abs(v) == kMaxValueQ20;
    }
    clamped += reaches_end && clip > kMaxClipInBox * unit;
  }
  EXPECT_GT(clamped, 500);
}

// The most coordinates, the largest floats, the largest ratio: the norm's integers are at their
// ends.
TEST(UpdateScale, TheLargestUpdateKeepsTheLargestBall) {
  const std::vector<float> update(kMaxParameters, std::numeric_limits<float>::max());
  UpdateScale scale;
  ASSERT_EQ(ComputeUpdateScale(View(update), kMaxClipInScales, 1.0f, &scale), Status::kOk);
  EXPECT_TRUE(scale.clipped);
  // A ball of 2^20 and 2^24 equal coordinates: 2^8 each.
  EXPECT_NEAR(scale.max_value_q20, 256 << 20, 2);
  EXPECT_LE(ScaleToQ20(update[0], scale), 256 << 20);
  EXPECT_NEAR(scale.rms_q20, scale.max_value_q20, 0.01 * scale.max_value_q20);
}

// Beyond 1,024 noise deviations the norm may be large as long as no coordinate is.
TEST(UpdateScale, ALargeNormOfSmallCoordinatesFits) {
  const std::vector<float> update(40000, 8.0f);
  UpdateScale scale;
  ASSERT_EQ(ComputeUpdateScale(View(update), kMaxClipInScales, 1.0f, &scale), Status::kOk);
  EXPECT_EQ(scale.max_value_q20, 8 << 20);
  EXPECT_EQ(ScaleToQ20(8.0f, scale), 8 << 20);
  ASSERT_EQ(ComputeUpdateScale(View(update), 1500.0f, 1.0f, &scale), Status::kOk);
  EXPECT_TRUE(scale.clipped);
  EXPECT_LE(SumOfSquares(update, scale), SquaredBound(1500.0f, 1.0f));
}

TEST(UpdateScale, TheRootMeanSquareIsGoodToAPercent) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<float> update(1 + random() % 2000);
    for (float& value : update) value = normal(random) * 0.01f;
    UpdateScale scale;
    ASSERT_EQ(ComputeUpdateScale(View(update), 0.1f, 0.02f, &scale), Status::kOk);
    const auto exact = static_cast<double>(
        std::sqrt(SumOfSquares(update, scale) / static_cast<long double>(update.size())));
    EXPECT_NEAR(scale.rms_q20, exact, 0.01 * exact + 2);
    EXPECT_LE(scale.rms_q20, scale.max_value_q20);
  }
}

TEST(UpdateScale, RefusesWhatIsNotANumber) {
  UpdateScale scale;
  scale.shift = 5;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {nan, infinity, -infinity}) {
    EXPECT_EQ(ComputeUpdateScale(View({1.0f, bad}), 1, 1, &scale), Status::kNotFinite);
    EXPECT_EQ(ComputeUpdateScale(View({1.0f}), bad, 1, &scale), Status::kInvalidArgument);
    EXPECT_EQ(ComputeUpdateScale(View({1.0f}), 1, bad, &scale), Status::kInvalidArgument);
  }
  for (const float bad : {0.0f, -1.0f, 1e-40f}) {
    EXPECT_EQ(ComputeUpdateScale(View({1.0f}), bad, 1, &scale), Status::kInvalidArgument);
    EXPECT_EQ(ComputeUpdateScale(View({1.0f}), 1, bad, &scale), Status::kInvalidArgument);
  }
  EXPECT_EQ(ComputeUpdateScale({}, 1, 1, &scale), Status::kInvalidArgument);
  EXPECT_EQ(scale.shift, 5u) << "a failure must leave the output alone";
}

}  // namespace
}  // namespace sotto
