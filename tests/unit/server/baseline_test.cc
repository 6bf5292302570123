// Tests of the baseline codecs, with which Gau-LRQ is compared: their bytes, their limits, and the
// bytes that they refuse. statistical/baseline_noise_test.cc tests their noise.
#include "codec/baseline.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <vector>

#include "codec/codecs.h"
#include "codec/gaussian_float32.h"
#include "codec/quantized_binomial.h"
#include "codec/quantized_gaussian.h"
#include "sotto/bytes.h"
#include "sotto/random.h"
#include "unit/server/small_job.h"

namespace sotto::server::baseline {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr const char* kBaselines[] = {"float32", "qg", "bq"};
constexpr int32_t kSigmaQ20 = 1 << 20;
constexpr double kClipInSigmas = 5;

Key KeyOf(uint8_t number) {
  Key key;
  key.bytes[0] = number;
  return key;
}

// A task with noise of this deviation, and a clipping bound in units of this deviation.
TrainTask TaskOf(float noise_sigma, double clip_in_sigmas = kClipInSigmas) {
  TrainTask task;
  task.quantizer_scale = noise_sigma;
  task.training.clip_l2 = static_cast<float>(clip_in_sigmas) * noise_sigma;
  return task;
}

std::unique_ptr<const Baseline> Make(const std::string& name) {
  std::unique_ptr<const UpdateCodec> codec = RequireCodec(name).make(TaskOf(0.125F));
  return std::unique_ptr<const Baseline>(dynamic_cast<const Baseline*>(codec.release()));
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

Bytes Encode(const Baseline& codec, const Key& key, const std::vector<int32_t>& values) {
  return codec.Encode(key, {values.data(), values.size()});
}

bool Decode(const Baseline& codec, const Bytes& encoded, std::vector<int32_t>* noisy) {
  return codec.Decode({encoded.data(), encoded.size()}, {noisy->data(), noisy->size()});
}

TEST(Baseline, IsWhatNoDeviceSpeaks) {
  for (const char* name : kBaselines) {
    EXPECT_FALSE(RequireCodec(name).servable) << name;
    EXPECT_NE(Make(name), nullptr) << name;
  }
}

TEST(Baseline, AJobOfABaselineTakesExactFloatsFromItsDevices) {
  JobConfig config = SmallConfig();
  config.codec = &RequireCodec("qg");
  const DeviceRegistry registry = SmallRegistry();
  RecordingStore store;
  EXPECT_NO_THROW(Job(config, registry, store, Key()));
  EXPECT_EQ(config.TaskFor(0, 0.4F).format.coding, Coding::kFloat32);
}

TEST(Baseline, TheKeyAloneDecidesTheNoise) {
  const std::vector<int32_t> values = Values(100);
  for (const char* name : kBaselines) {
    const auto codec = Make(name);
    const Bytes encoded = Encode(*codec, KeyOf(2), values);
    EXPECT_EQ(Encode(*codec, KeyOf(2), values), encoded) << name;
    EXPECT_NE(Encode(*codec, KeyOf(3), values), encoded) << name;
  }
}

TEST(Baseline, NoUpdateIsLongerThanItsLimitAndAnotherLengthIsRefused) {
  for (const char* name : kBaselines) {
    const auto codec = Make(name);
    for (const size_t count : {1U, 7U, 100U}) {
      const Bytes encoded = Encode(*codec, KeyOf(2), Values(count));
      EXPECT_LE(encoded.size(), codec->MaxSize(static_cast<uint32_t>(count)));
      std::vector<int32_t> noisy(count);
      EXPECT_TRUE(Decode(*codec, encoded, &noisy)) << name;
      Bytes longer = encoded;
      longer.push_back(0);
      EXPECT_FALSE(Decode(*codec, longer, &noisy)) << name;
      const Bytes shorter(encoded.begin(), encoded.end() - 1);
      EXPECT_FALSE(Decode(*codec, shorter, &noisy)) << name;
      EXPECT_FALSE(Decode(*codec, {}, &noisy)) << name;
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
    const auto codec = Make(kBaselines[i]);
    ASSERT_TRUE(Decode(*codec, Encode(*codec, KeyOf(2), values), &noisy));
    for (size_t j = 0; j < values.size(); ++j) {
      ASSERT_LE(std::fabs(static_cast<double>(noisy[j]) - values[j]), kReach[i] * kSigmaQ20);
    }
  }
}

TEST(Baseline, ValuesAtTheFormatsLimitSurvive) {
  const double most = 1024;
  const std::vector<int32_t> values = {1 << 30, -(1 << 30), 0};
  std::vector<int32_t> noisy(values.size());
  const QuantizedBinomial binomial(TaskOf(0.5F, most));
  const QuantizedGaussian quantized(TaskOf(0.5F));
  const GaussianFloat32 plain(TaskOf(0.5F));
  for (const Baseline* codec :
       std::initializer_list<const Baseline*>{&binomial, &quantized, &plain}) {
    ASSERT_TRUE(Decode(*codec, Encode(*codec, KeyOf(2), values), &noisy));
    for (size_t j = 0; j < values.size(); ++j) {
      EXPECT_NEAR(noisy[j], values[j], 11.0 * kSigmaQ20);
    }
  }
}

TEST(GaussianFloat32, TakesFourBytesACoordinate) {
  EXPECT_EQ(Encode(GaussianFloat32(TaskOf(0.1F)), KeyOf(2), Values(7850)).size(), 31400U);
}

TEST(GaussianFloat32, RefusesWhatIsNotANumberOrTooLarge) {
  const GaussianFloat32 codec(TaskOf(0.1F));
  std::vector<int32_t> noisy(1);
  Bytes encoded(4);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity(), -205.0F, 205.0F}) {
    StoreU32Le(FloatBits(bad), encoded.data());
    EXPECT_FALSE(Decode(codec, encoded, &noisy)) << bad;
  }
  StoreU32Le(FloatBits(-0.25F), encoded.data());
  EXPECT_TRUE(Decode(codec, encoded, &noisy));
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
  const Bytes encoded =
      Encode(QuantizedGaussian(TaskOf(0.1F)), KeyOf(2), std::vector<int32_t>(7850));
  const uint32_t range = LoadU32Le(encoded.data());
  EXPECT_GT(range, 3U * kSigmaQ20);
  EXPECT_LT(range, 6U * kSigmaQ20);
  EXPECT_EQ(encoded.size(), 4 + (7850U * 3 + 7) / 8);
}

TEST(QuantizedGaussian, DecodesToTheLevelsOfItsRange) {
  const QuantizedGaussian codec(TaskOf(0.1F));
  std::vector<int32_t> noisy(2);
  // Range 3 deviations, 2 bits: the levels are -3, -1, 1 and 3. Here the first and the third.
  Bytes encoded = {0, 0, 0x30, 0, 0x08};
  ASSERT_TRUE(Decode(codec, encoded, &noisy));
  EXPECT_EQ(noisy, (std::vector<int32_t>{-3 * kSigmaQ20, 1 * kSigmaQ20}));
  encoded[4] = 0x18;  // a bit where padding belongs
  EXPECT_FALSE(Decode(codec, encoded, &noisy));
}

TEST(QuantizedGaussian, RefusesRangesThatNoUpdateHas) {
  const QuantizedGaussian codec(TaskOf(0.1F));
  std::vector<int32_t> noisy(8);
  for (const uint32_t range : {uint32_t{0}, uint32_t{1} << 31}) {
    for (size_t codes = 0; codes < 16; ++codes) {
      Bytes encoded(4 + codes);
      StoreU32Le(range, encoded.data());
      EXPECT_FALSE(Decode(codec, encoded, &noisy)) << range;
    }
  }
}

// L = floor(4 * 5) + 1 = 21, so 2 * (21 + 32) + 1 = 107 integers: 7 bits.
TEST(QuantizedBinomial, TakesTheBitsOfItsIntegers) {
  const QuantizedBinomial codec(TaskOf(0.5F));
  EXPECT_EQ(Encode(codec, KeyOf(2), Values(7850)).size(), (7850U * 7 + 7) / 8);
  EXPECT_EQ(Encode(QuantizedBinomial(TaskOf(0.5F, 0.5)), KeyOf(2), std::vector<int32_t>(8)).size(),
            7U);
  EXPECT_EQ(Encode(QuantizedBinomial(TaskOf(0.5F, 1024)), KeyOf(2), std::vector<int32_t>(8)).size(),
            14U);
}

TEST(QuantizedBinomial, RefusesIntegersBeyondItsLargest) {
  const QuantizedBinomial codec(TaskOf(0.5F));
  std::vector<int32_t> noisy(1);
  EXPECT_TRUE(Decode(codec, {106}, &noisy));
  EXPECT_EQ(noisy[0], 53 * (kSigmaQ20 / 4));
  EXPECT_TRUE(Decode(codec, {0}, &noisy));
  EXPECT_EQ(noisy[0], -53 * (kSigmaQ20 / 4));
  EXPECT_FALSE(Decode(codec, {107}, &noisy));
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
