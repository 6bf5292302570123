// Clipping by layer: the bounds of the layers in exact integers, and trainings that keep to them.
// All random numbers have fixed seeds, so no test can fail by chance.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "sotto/bytes.h"
#include "sotto/num.h"
#include "sotto/update_bound.h"
#include "sotto/update_scale.h"
#include "unit/sdk/trainings.h"

namespace sotto {
namespace {

using nn::LayerPlan;

std::vector<float> BoundsOf(const TrainingOptions& options, const std::vector<uint32_t>& sizes) {
  const uint32_t all = std::accumulate(sizes.begin(), sizes.end(), uint32_t{0});
  std::vector<float> bounds;
  for (const uint32_t size : sizes) {
    bounds.push_back(BoundOfLayer(options, static_cast<uint32_t>(sizes.size()), size, all));
  }
  return bounds;
}

#ifdef __SIZEOF_INT128__  // 32-bit compilers have no integer to check it with
__extension__ using Exact = unsigned __int128;

// The square of a positive normal float in units of 2^(2 lowest), exactly.
Exact Square(float value, int lowest) {
  const FloatParts parts = SplitFloat(value);
  const int shift = 2 * (parts.exponent - lowest);
  EXPECT_GE(shift, 0);
  EXPECT_LE(shift, 60);
  return Exact{uint64_t{parts.mantissa} * parts.mantissa} << shift;
}

// sum of C_l^2 <= C^2, in integers.
void ExpectWithin(const TrainingOptions& options, const std::vector<uint32_t>& sizes) {
  const int lowest = SplitFloat(options.clip_l2).exponent - 14;
  Exact sum = 0;
  for (const float bound : BoundsOf(options, sizes)) {
    ASSERT_TRUE(IsPositiveNormal(bound));
    sum += Square(bound, lowest);
  }
  const Exact whole = Square(options.clip_l2, lowest);
  EXPECT_LE(sum, whole) << options.clip_l2 << " among " << sizes.size();
  EXPECT_GE(sum, whole - whole / 500000) << "little is lost";
}

TEST(ClipByLayer, TheSquaresOfTheBoundsNeverExceedTheSquareOfTheWhole) {
  std::mt19937 random(5);
  std::vector<std::vector<uint32_t>> layers = {{1}, {1, 1}, {1, kMaxParameters - 1}, {3, 3, 3}};
  layers.emplace_back(4096, 1);  // layers of one parameter
  layers.emplace_back(4096, 4096);
  for (int i = 0; i < 60; ++i) {
    layers.emplace_back(1 + random() % 40);
    for (uint32_t& size : layers.back())
      size = 1 + static_cast<uint32_t>(random()) % (i % 2 == 0 ? 9 : 400000);
  }
  std::vector<float> clips = {0x1p-100f, std::nextafter(0x1p-100f, 1.0f),  1, 1.9999999f,
                              3.4e38f,   std::numeric_limits<float>::max()};
  for (int i = 0; i < 20; ++i) {
    clips.push_back(std::ldexp(1 + static_cast<float>(random() % 8388608) / 8388608.0f,
                               static_cast<int>(random() % 200) - 99));
  }
  TrainingOptions options;
  for (const float clip : clips) {
    options.clip_l2 = clip;
    for (const ClipByLayer by : {ClipByLayer::kEqual, ClipByLayer::kSize}) {
      options.clip_by_layer = by;
      for (const std::vector<uint32_t>& sizes : layers) ExpectWithin(options, sizes);
    }
  }
}
#endif

TEST(ClipByLayer, ABoundBelowTheRangeOfTheLemmaIsRefused) {
  TrainingOptions options;
  options.clip_by_layer = ClipByLayer::kEqual;
  EXPECT_EQ(options.Validate(), Status::kOk);
  options.clip_l2 = std::nextafter(0x1p-100f, 0.0f);
  EXPECT_EQ(options.Validate(), Status::kInvalidArgument);
  options.clip_by_layer = ClipByLayer::kNone;
  EXPECT_EQ(options.Validate(), Status::kOk);
  options.clip_by_layer = static_cast<ClipByLayer>(3);
  EXPECT_EQ(options.Validate(), Status::kInvalidArgument);
}

std::vector<uint32_t> TrainedSizes(const ModelInfo& model) {
  std::vector<uint32_t> sizes;
  for (const LayerPlan& layer : model.layers) {
    if (layer.trained() > 0) sizes.push_back(layer.trained());
  }
  return sizes;
}

// The norms of the layers' parts of an update.
std::vector<double> NormsOf(const Training& training) {
  std::vector<double> norms;
  size_t j = 0;
  for (const uint32_t size : TrainedSizes(training.model)) {
    double squares = 0;
    for (const size_t end = j + size; j < end; ++j) {
      squares += std::pow(double{training.trained[j]} - training.base[j], 2);
    }
    norms.push_back(std::sqrt(squares));
  }
  return norms;
}

TEST(ClipByLayer, EachLayerStaysWithinItsBoundAndMovesAsFarAsThat) {
  for (const ModelInfo* model : {&kNet, &kFixedNet}) {
    for (const Clipping clipping : {Clipping::kEveryStep, Clipping::kAtEnd}) {
      for (const ClipByLayer by : {ClipByLayer::kEqual, ClipByLayer::kSize}) {
        Training training(*model, 20);
        training.options.clip_l2 = 0.01f;
        training.options.clipping = clipping;
        training.options.clip_by_layer = by;
        training.Run();
        EXPECT_TRUE(training.trainer.clipped());
        const std::vector<double> norms = NormsOf(training);
        const std::vector<float> bounds = BoundsOf(training.options, TrainedSizes(*model));
        // A difference of two float32 parameters near 0.3 is rounded by 2^-25 each at most.
        const double rounding = 0x1p-25 * std::sqrt(model->parameters) * 2;
        for (size_t l = 0; l < norms.size(); ++l) {
          EXPECT_LE(norms[l], double{bounds[l]} * 1.00001 + rounding);
          EXPECT_GE(norms[l], double{bounds[l]} * 0.9) << "no layer of this net trains less";
        }
      }
    }
  }
}

TEST(ClipByLayer, AWideBoundChangesNoBitOfATraining) {
  Training flat(kNet, 11);
  flat.Run();
  Training wide(kNet, 11);
  wide.options.clip_by_layer = ClipByLayer::kSize;
  wide.Run();
  EXPECT_EQ(wide.trained, flat.trained);
  EXPECT_FALSE(wide.trainer.clipped());
}

// One layer has all of C: the same as without the option.
TEST(ClipByLayer, ANetOfOneLayerIsClippedAsAWhole) {
  Training flat(kSoftmax, 11);
  flat.options.clip_l2 = 0.01f;
  flat.Run();
  Training by_layer(kSoftmax, 11);
  by_layer.options.clip_l2 = 0.01f;
  by_layer.options.clip_by_layer = ClipByLayer::kEqual;
  by_layer.Run();
  EXPECT_EQ(by_layer.trained, flat.trained);
}

// What accounting rests on: the integers, whatever training did before.
TEST(ClipByLayer, TheIntegersOfTheUpdateStillHaveANormOfAtMostC) {
  Training training(kNet, 20);
  training.options.clip_l2 = 0.01f;
  training.options.clip_by_layer = ClipByLayer::kEqual;
  training.Run();
  std::vector<float> update(training.trained);
  for (size_t j = 0; j < update.size(); ++j) update[j] -= training.base[j];
  const float unit = 0.001f;
  UpdateScale scale;
  ASSERT_EQ(
      ComputeUpdateScale({update.data(), update.size()}, training.options.clip_l2, unit, &scale),
      Status::kOk);
  uint64_t squares = 0;  // in units of (unit 2^-20)^2: (C / unit)^2 = 100 is below 2^47
  for (const float u : update) {
    const int64_t v = ScaleToQ20(u, scale);
    squares += static_cast<uint64_t>(v * v);
  }
  const Wide most = MaxSquaresQ40(training.options.clip_l2, unit);
  ASSERT_EQ(most.high, 0u);
  EXPECT_LE(squares, most.low);
}

}  // namespace
}  // namespace sotto
