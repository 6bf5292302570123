// Adaptive clipping: the split of the noise, and the next bound.
#include "plans/adaptive_clip.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <stdexcept>

#include "accounting/conversion.h"

namespace sotto::privacy {
namespace {

const double kBad[] = {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()};

TEST(AdaptiveClipTest, BothPartsTogetherCostWhatTheTotalCosts) {
  for (const Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    for (const double z : {0.3, 1.0, 25.0}) {
      for (const double share : {1e-6, 0.02, 0.5, 0.999}) {
        const NoiseSplit split = SplitNoise(adjacency, z, share);
        EXPECT_GT(split.update_noise_multiplier, z);
        EXPECT_GT(split.bit_noise_multiplier, z);
        const double both =
            1 / std::hypot(1 / split.update_noise_multiplier, 1 / split.bit_noise_multiplier);
        EXPECT_NEAR(both, z, 1e-14 * z);
        EXPECT_NEAR(BitShare(adjacency, z, split.bit_sum_deviation), share, 1e-13 * share);
      }
    }
  }
}

TEST(AdaptiveClipTest, AnUnsampledRoundOfBothReleasesHasTheEpsilonOfTheTotal) {
  const NoiseSplit split = SplitNoise(Adjacency::kReplaceOne, 2.0, 0.1);
  const double together = Epsilon({{Sampling::kNone, 2.0, 1.0, 10}}, 1e-6).Guarantee();
  const double apart = Epsilon({{Sampling::kNone, split.update_noise_multiplier, 1.0, 10},
                                {Sampling::kNone, split.bit_noise_multiplier, 1.0, 10}},
                               1e-6)
                           .Guarantee();
  EXPECT_NEAR(apart, together, 1e-9 * together);
}

TEST(AdaptiveClipTest, AddRemoveIsTheTheoremOfThePaper) {
  // z_update = (z^-2 - (2 sigma_b)^-2)^(-1/2), with sigma_b the deviation on the sum of the bits.
  const double z = 1.3;
  const double sigma_b = 5.0;
  const NoiseSplit split =
      SplitNoise(Adjacency::kAddRemove, z, BitShare(Adjacency::kAddRemove, z, sigma_b));
  EXPECT_NEAR(split.bit_sum_deviation, sigma_b, 1e-13);
  EXPECT_NEAR(split.bit_noise_multiplier, 2 * sigma_b, 1e-13);
  EXPECT_NEAR(split.update_noise_multiplier,
              1 / std::sqrt(1 / (z * z) - 1 / (4 * sigma_b * sigma_b)), 1e-13);
}

TEST(AdaptiveClipTest, AReplacedDeviceMovesABitTwiceAsFar) {
  const double added = SplitNoise(Adjacency::kAddRemove, 1.5, 0.1).bit_sum_deviation;
  const double replaced = SplitNoise(Adjacency::kReplaceOne, 1.5, 0.1).bit_sum_deviation;
  EXPECT_EQ(replaced, 2 * added);
}

TEST(AdaptiveClipTest, InOneVectorEqualNoiseEarnsEveryMultiplierOfTheSplit) {
  const double clip = 0.4;
  const double sum_deviation = 3.0;  // per coordinate
  for (const Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    const double factor = SensitivityFactor(adjacency);
    const double z_update = sum_deviation / (factor * clip);
    const double share = 0.07;
    const NoiseSplit split = SplitNoise(adjacency, z_update * std::sqrt(1 - share), share);
    const double scale = split.bit_scale_per_clip * clip;
    EXPECT_NEAR(split.update_noise_multiplier, z_update, 1e-13 * z_update);
    EXPECT_NEAR(sum_deviation / (factor * scale / 2), split.bit_noise_multiplier,
                1e-12 * split.bit_noise_multiplier);
    EXPECT_NEAR(sum_deviation / scale, split.bit_sum_deviation, 1e-12 * split.bit_sum_deviation);
    EXPECT_NEAR(sum_deviation / (factor * JointClip(clip, scale)), z_update * std::sqrt(1 - share),
                1e-12 * z_update);
  }
}

TEST(AdaptiveClipTest, BitsThatNeedAllThePrivacyOrMoreAreRefused) {
  EXPECT_THROW(BitShare(Adjacency::kReplaceOne, 2.0, 2.0), std::invalid_argument);
  EXPECT_THROW(BitShare(Adjacency::kReplaceOne, 2.0, 0.5), std::invalid_argument);
  EXPECT_LT(BitShare(Adjacency::kAddRemove, 2.0, 2.0), 1);
}

TEST(AdaptiveClipTest, TheFractionCountsTheSilentAsHalf) {
  EXPECT_EQ(UnclippedFraction(0.0, 40), 0.5);
  EXPECT_EQ(UnclippedFraction(20.0, 40), 1.0);
  EXPECT_EQ(UnclippedFraction(-20.0, 40), 0.0);
  EXPECT_EQ(UnclippedFraction(10.0, 40), 0.75);
}

TEST(AdaptiveClipTest, NoiseCannotPushTheFractionOutOfItsRange) {
  EXPECT_EQ(UnclippedFraction(1e9, 40), 1.0);
  EXPECT_EQ(UnclippedFraction(-1e9, 40), 0.0);
}

TEST(AdaptiveClipTest, TheBoundStaysWhereTheFractionIsTheQuantile) {
  EXPECT_EQ(NextClip(0.7, 0.5, ClipSchedule{}), 0.7);
  EXPECT_EQ(NextClip(0.7, 0.8, ClipSchedule{0.8, 0.2}), 0.7);
}

TEST(AdaptiveClipTest, TheBoundFollowsTheGeometricRule) {
  EXPECT_NEAR(NextClip(0.7, 1.0, ClipSchedule{}), 0.7 * std::exp(-0.1), 1e-15);
  EXPECT_NEAR(NextClip(0.7, 0.0, ClipSchedule{0.9, 2.0}), 0.7 * std::exp(1.8), 1e-14);
}

TEST(AdaptiveClipTest, TheBoundReachesTheMedianOfTheNorms) {
  // Norms 0.01, 0.02, ..., 1: without noise the bound settles at the middle.
  double clip = 50.0;
  for (int round = 0; round < 300; ++round) {
    double sum = 0.0;
    for (int device = 1; device <= 100; ++device) sum += 0.01 * device <= clip ? 0.5 : -0.5;
    clip = NextClip(clip, UnclippedFraction(sum, 100), ClipSchedule{});
  }
  EXPECT_NEAR(clip, 0.5, 0.02);
}

TEST(AdaptiveClipTest, TheBoundNeverLeavesItsRange) {
  EXPECT_EQ(NextClip(1e30, 0.0, ClipSchedule{1.0, 10.0}), 1e30);
  EXPECT_EQ(NextClip(1e-30, 1.0, ClipSchedule{0.0, 10.0}), 1e-30);
}

TEST(AdaptiveClipTest, BadArgumentsThrow) {
  for (const double bad : kBad) {
    EXPECT_THROW(SplitNoise(Adjacency::kAddRemove, bad, 0.1), std::invalid_argument);
    EXPECT_THROW(BitShare(Adjacency::kAddRemove, bad, 9), std::invalid_argument);
    EXPECT_THROW(BitShare(Adjacency::kAddRemove, 1, bad), std::invalid_argument);
    EXPECT_THROW(JointClip(bad, 1), std::invalid_argument);
    EXPECT_THROW(JointClip(1, bad), std::invalid_argument);
    EXPECT_THROW(UnclippedFraction(1, bad), std::invalid_argument);
    EXPECT_THROW(NextClip(bad, 0.5, ClipSchedule{}), std::invalid_argument);
    EXPECT_THROW(NextClip(1, 0.5, ClipSchedule{0.5, bad}), std::invalid_argument);
  }
  for (const double bad : {-0.1, 1.1, std::nan("")}) {
    EXPECT_THROW(NextClip(1, bad, ClipSchedule{}), std::invalid_argument);
    EXPECT_THROW(NextClip(1, 0.5, ClipSchedule{bad, 0.2}), std::invalid_argument);
  }
  for (const double share : {0.0, 1.0, -0.5, std::nan("")}) {
    EXPECT_THROW(SplitNoise(Adjacency::kAddRemove, 1, share), std::invalid_argument);
  }
  EXPECT_THROW(UnclippedFraction(std::nan(""), 10), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::privacy
