// The channels of the mechanisms that Gau-LRQ is compared with: their bytes, their limits and what
// they refuse. Their noise is tested in statistical/baseline_noise_test.cc.
#include "baseline/baseline.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <vector>

#include "baseline/codes.h"
#include "baseline/gaussian_float32.h"
#include "baseline/quantized_binomial.h"
#include "baseline/quantized_gaussian.h"
#include "sotto/bytes.h"
#include "sotto/random.h"
#include "unit/server/small_job.h"

namespace sotto::server::baseline {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr Mechanism kBaselines[] = {Mechanism::kGaussianFloat32, Mechanism::kQuantizedGaussian,
                                    Mechanism::kQuantizedBinomial};
constexpr int32_t kSigmaQ20 = 1 << 20;
constexpr double kClipInSigmas = 5;

Key KeyOf(uint8_t number) {
  Key key;
  key.bytes[0] = number;
  return key;
}

JobConfig ConfigOf(Mechanism mechanism) {
  JobConfig config = SmallConfig();
  config.mechanism = mechanism;
  config.plan.noise_sigma = 0.4 / kClipInSigmas;
  config.plan = RoundToDevice(config.plan);
  return config;
}

// Coordinates of up to five deviations, the clipping bound.
std::vector<int32_t> Values(size_t count) {
  RandomStream random(KeyOf(1), 0);
  std::vector<int32_t> values;
  for (size_t j = 0; j < count; ++j) {
    values.push_back(static_cast<int32_t>(random.Below(10 * kSigmaQ20 + 1)) - 5 * kSigmaQ20);
  }
  return values;
}

Bytes Encode(const UpdateChannel& channel, const Key& key, const std::vector<int32_t>& values) {
  return channel.Encode(key, {values.data(), values.size()});
}

bool Decode(const UpdateChannel& channel, const Bytes& encoded, std::vector<int32_t>* noisy) {
  return channel.Decode({encoded.data(), encoded.size()}, {noisy->data(), noisy->size()});
}

TEST(Baseline, OnlyBaselinesHaveAChannel) {
  for (const Mechanism mechanism : kBaselines) {
    EXPECT_NE(MakeChannel(ConfigOf(mechanism)), nullptr) << Name(mechanism);
  }
  for (const Mechanism mechanism :
       {Mechanism::kGauLrq, Mechanism::kUniformDither, Mechanism::kNone}) {
    EXPECT_EQ(MakeChannel(ConfigOf(mechanism)), nullptr) << Name(mechanism);
  }
}

TEST(Baseline, AJobOfABaselineNeedsItsChannelAndNoOtherJobTakesOne) {
  const DeviceRegistry registry = SmallRegistry();
  RecordingStore store;
  const auto channel = MakeChannel(ConfigOf(Mechanism::kQuantizedGaussian));
  EXPECT_THROW(Job(ConfigOf(Mechanism::kQuantizedGaussian), registry, store, Key()),
               std::invalid_argument);
  EXPECT_THROW(Job(SmallConfig(), registry, store, Key(), std::nullopt, channel.get()),
               std::invalid_argument);
  EXPECT_NO_THROW(Job(ConfigOf(Mechanism::kQuantizedGaussian), registry, store, Key(), std::nullopt,
                      channel.get()));
}

TEST(Baseline, TheKeyAloneDecidesTheNoise) {
  const std::vector<int32_t> values = Values(100);
  for (const Mechanism mechanism : kBaselines) {
    const auto channel = MakeChannel(ConfigOf(mechanism));
    const Bytes encoded = Encode(*channel, KeyOf(2), values);
    EXPECT_EQ(Encode(*channel, KeyOf(2), values), encoded) << Name(mechanism);
    EXPECT_NE(Encode(*channel, KeyOf(3), values), encoded) << Name(mechanism);
  }
}

TEST(Baseline, NoUpdateIsLongerThanItsLimitAndAnotherLengthIsRefused) {
  for (const Mechanism mechanism : kBaselines) {
    const auto channel = MakeChannel(ConfigOf(mechanism));
    for (const size_t count : {1U, 7U, 100U}) {
      const Bytes encoded = Encode(*channel, KeyOf(2), Values(count));
      EXPECT_LE(encoded.size(), channel->MaxSize(static_cast<uint32_t>(count)));
      std::vector<int32_t> noisy(count);
      EXPECT_TRUE(Decode(*channel, encoded, &noisy)) << Name(mechanism);
      Bytes longer = encoded;
      longer.push_back(0);
      EXPECT_FALSE(Decode(*channel, longer, &noisy)) << Name(mechanism);
      const Bytes shorter(encoded.begin(), encoded.end() - 1);
      EXPECT_FALSE(Decode(*channel, shorter, &noisy)) << Name(mechanism);
      EXPECT_FALSE(Decode(*channel, {}, &noisy)) << Name(mechanism);
    }
  }
}

// Box and Muller's largest value for 53 bits is below 8.6; a binomial of 64 coins is at most eight
// deviations from its mean, and rounding adds a quarter; the quantizer's levels are at most 2.36
// deviations apart.
TEST(Baseline, WhatIsDecodedIsWithinTheNoisesReach) {
  constexpr double kReach[] = {8.6, 8.6 + 2.36, 8.25};
  const std::vector<int32_t> values = Values(20000);
  std::vector<int32_t> noisy(values.size());
  for (size_t i = 0; i < 3; ++i) {
    const auto channel = MakeChannel(ConfigOf(kBaselines[i]));
    ASSERT_TRUE(Decode(*channel, Encode(*channel, KeyOf(2), values), &noisy));
    for (size_t j = 0; j < values.size(); ++j) {
      ASSERT_LE(std::fabs(static_cast<double>(noisy[j]) - values[j]), kReach[i] * kSigmaQ20);
    }
  }
}

TEST(Baseline, ValuesAtTheFormatsLimitSurvive) {
  const double most = 1024;
  const std::vector<int32_t> values = {1 << 30, -(1 << 30), 0};
  std::vector<int32_t> noisy(values.size());
  const QuantizedBinomial binomial(most);
  const QuantizedGaussian quantized;
  const GaussianFloat32 plain(0.5);
  for (const UpdateChannel* channel :
       std::initializer_list<const UpdateChannel*>{&binomial, &quantized, &plain}) {
    ASSERT_TRUE(Decode(*channel, Encode(*channel, KeyOf(2), values), &noisy));
    for (size_t j = 0; j < values.size(); ++j) {
      EXPECT_NEAR(noisy[j], values[j], 11.0 * kSigmaQ20);
    }
  }
}

TEST(GaussianFloat32, TakesFourBytesACoordinate) {
  EXPECT_EQ(Encode(GaussianFloat32(0.1), KeyOf(2), Values(7850)).size(), 31400U);
}

TEST(GaussianFloat32, RefusesWhatIsNotANumberOrTooLarge) {
  const GaussianFloat32 channel(0.1);
  std::vector<int32_t> noisy(1);
  Bytes encoded(4);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity(), -205.0F, 205.0F}) {
    StoreU32Le(FloatBits(bad), encoded.data());
    EXPECT_FALSE(Decode(channel, encoded, &noisy)) << bad;
  }
  StoreU32Le(FloatBits(-0.25F), encoded.data());
  EXPECT_TRUE(Decode(channel, encoded, &noisy));
  EXPECT_NEAR(noisy[0], -2.5 * kSigmaQ20, 1);
}

// Lemma 6 of the paper, with the range of the noisy update.
TEST(QuantizedGaussian, BitsAreThePapers) {
  const double least_step = 2 * std::sqrt(2 * std::log(2.0));
  for (const double range : {0.001, 0.5, 1.17, 1.18, 3.0, 4.2, 9.0, 40.0, 1030.0}) {
    const auto range_q20 = static_cast<uint32_t>(range * kSigmaQ20);
    const int bits =
        std::max(1, static_cast<int>(std::ceil(std::log2(2 * range / least_step + 1))));
    EXPECT_EQ(QuantizerBits(range_q20), bits) << range;
  }
}

TEST(QuantizedGaussian, TakesThreeBitsACoordinateWhereNoiseDominates) {
  const Bytes encoded = Encode(QuantizedGaussian(), KeyOf(2), std::vector<int32_t>(7850));
  const uint32_t range = LoadU32Le(encoded.data());
  EXPECT_GT(range, 3U * kSigmaQ20);
  EXPECT_LT(range, 6U * kSigmaQ20);
  EXPECT_EQ(encoded.size(), 4 + (7850U * 3 + 7) / 8);
}

TEST(QuantizedGaussian, DecodesToTheLevelsOfItsRange) {
  const QuantizedGaussian channel;
  std::vector<int32_t> noisy(2);
  // Range 3 deviations, 2 bits: the levels are -3, -1, 1 and 3. Here the first and the third.
  Bytes encoded = {0, 0, 0x30, 0, 0x08};
  ASSERT_TRUE(Decode(channel, encoded, &noisy));
  EXPECT_EQ(noisy, (std::vector<int32_t>{-3 * kSigmaQ20, 1 * kSigmaQ20}));
  encoded[4] = 0x18;  // a bit where padding belongs
  EXPECT_FALSE(Decode(channel, encoded, &noisy));
}

TEST(QuantizedGaussian, RefusesRangesThatNoUpdateHas) {
  const QuantizedGaussian channel;
  std::vector<int32_t> noisy(8);
  for (const uint32_t range : {uint32_t{0}, uint32_t{1} << 31}) {
    for (size_t codes = 0; codes < 16; ++codes) {
      Bytes encoded(4 + codes);
      StoreU32Le(range, encoded.data());
      EXPECT_FALSE(Decode(channel, encoded, &noisy)) << range;
    }
  }
}

// L = floor(4 * 5) + 1 = 21, so 2 * (21 + 32) + 1 = 107 integers: 7 bits.
TEST(QuantizedBinomial, TakesTheBitsOfItsIntegers) {
  const QuantizedBinomial channel(kClipInSigmas);
  EXPECT_EQ(Encode(channel, KeyOf(2), Values(7850)).size(), (7850U * 7 + 7) / 8);
  EXPECT_EQ(Encode(QuantizedBinomial(0.5), KeyOf(2), std::vector<int32_t>(8)).size(), 7U);
  EXPECT_EQ(Encode(QuantizedBinomial(1024), KeyOf(2), std::vector<int32_t>(8)).size(), 14U);
}

TEST(QuantizedBinomial, RefusesIntegersBeyondItsLargest) {
  const QuantizedBinomial channel(kClipInSigmas);
  std::vector<int32_t> noisy(1);
  EXPECT_TRUE(Decode(channel, {106}, &noisy));
  EXPECT_EQ(noisy[0], 53 * (kSigmaQ20 / 4));
  EXPECT_TRUE(Decode(channel, {0}, &noisy));
  EXPECT_EQ(noisy[0], -53 * (kSigmaQ20 / 4));
  EXPECT_FALSE(Decode(channel, {107}, &noisy));
}

TEST(Codes, SurviveAtEveryWidth) {
  RandomStream random(KeyOf(4), 0);
  for (int bits = 1; bits <= 24; ++bits) {
    std::vector<uint32_t> codes(100);
    for (uint32_t& code : codes) code = random.Below(uint32_t{1} << bits);
    Bytes bytes;
    AppendCodes({codes.data(), codes.size()}, bits, &bytes);
    EXPECT_EQ(bytes.size(), CodesSize(codes.size(), bits));
    std::vector<uint32_t> read(codes.size());
    EXPECT_TRUE(ReadCodes({bytes.data(), bytes.size()}, bits, {read.data(), read.size()}));
    EXPECT_EQ(read, codes) << bits;
  }
}

}  // namespace
}  // namespace sotto::server::baseline
