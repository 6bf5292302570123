// Updates with a device's own noise: the encoder's output depends on the noisy values only.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "sotto/private_noise.h"
#include "sotto/quantizer.h"
#include "sotto/update_codec.h"
#include "unit/sdk/hex.h"

namespace sotto {
namespace {

constexpr float kClip = 0.5f;
constexpr float kUnit = 0.125f;
constexpr uint32_t kDeviationQ20 = 5 << 19;  // 2.5 units

constexpr UpdateFormat kFormats[] = {{Coding::kFixed, DitherKind::kGaussian, 0},
                                     {Coding::kFixed, DitherKind::kGaussian, 64},
                                     {Coding::kRange, DitherKind::kGaussian, 0},
                                     {Coding::kRange, DitherKind::kGaussian, 64}};

Key TestKey(uint8_t number) {
  Key key;
  key.bytes[0] = number;
  return key;
}

const PrivateNoise& Noise() {
  static const PrivateNoise noise(TestKey(99), kDeviationQ20);
  return noise;
}

// Its norm is about 1: it is clipped.
std::vector<float> SomeUpdate(size_t size) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0.0f, 1.0f / std::sqrt(static_cast<float>(size)));
  std::vector<float> update(size);
  for (float& value : update) value = normal(random);
  return update;
}

std::vector<uint8_t> ReadAll(UpdateEncoder& encoder, size_t step) {
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> part(step);
  while (!encoder.is_done()) {
    size_t written = 0;
    EXPECT_EQ(encoder.Read({part.data(), part.size()}, &written), Status::kOk);
    bytes.insert(bytes.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(written));
  }
  return bytes;
}

std::vector<uint8_t> Encode(const UpdateFormat& format, const std::vector<float>& update,
                            const PrivateNoise& noise) {
  UpdateEncoder encoder;
  EXPECT_EQ(encoder.Begin(TestKey(1), format, View(update), kClip, kUnit, {}, noise), Status::kOk);
  return ReadAll(encoder, 1000);
}

std::vector<int32_t> Decode(const UpdateFormat& format, const std::vector<uint8_t>& bytes,
                            size_t coordinates) {
  std::vector<int32_t> noisy(coordinates);
  EXPECT_EQ(
      DecodeUpdate(TestKey(1), format, {bytes.data(), bytes.size()}, {noisy.data(), noisy.size()}),
      Status::kOk);
  return noisy;
}

// The clipped update plus private noise, by itself.
std::vector<int32_t> NoisyValues(const std::vector<float>& update) {
  UpdateScale scale;
  EXPECT_EQ(ComputeUpdateScale(View(update), kClip, kUnit, &scale), Status::kOk);
  std::vector<int32_t> values(update.size());
  EXPECT_EQ(Noise().Generate(0, {values.data(), values.size()}), Status::kOk);
  for (size_t j = 0; j < update.size(); ++j) values[j] += ScaleToQ20(update[j], scale);
  return values;
}

TEST(PrivateUpdate, DecodesToTheClippedValuesPlusBothNoises) {
  const std::vector<float> update = SomeUpdate(4001);
  const std::vector<int32_t> values = NoisyValues(update);
  for (const UpdateFormat& format : kFormats) {
    const auto noisy = Decode(format, Encode(format, update, Noise()), update.size());
    double squares = 0;
    for (size_t j = 0; j < update.size(); ++j) {
      const double error = (noisy[j] - values[j]) / 1048576.0;
      ASSERT_LT(std::fabs(error), 11.8);
      squares += error * error;
    }
    // Variance 1; its estimate deviates by sqrt(2 / 4001) = 0.0224: six deviations, 2e-9.
    EXPECT_NEAR(squares / 4001, 1.0, 0.135);
  }
}

TEST(PrivateUpdate, BothCodesCarryTheSameValues) {
  const std::vector<float> update = SomeUpdate(777);
  const auto reference = Decode(kFormats[0], Encode(kFormats[0], update, Noise()), update.size());
  for (const UpdateFormat& format : kFormats) {
    EXPECT_EQ(Decode(format, Encode(format, update, Noise()), update.size()), reference);
  }
}

// Whatever was read before, and in whatever pieces: a lost link must not show a second noise.
TEST(PrivateUpdate, SoughtAgainRepeatsIdenticalBytes) {
  const std::vector<float> update = SomeUpdate(501);
  for (const UpdateFormat& format : kFormats) {
    UpdateEncoder encoder;
    ASSERT_EQ(encoder.Begin(TestKey(1), format, View(update), kClip, kUnit, {}, Noise()),
              Status::kOk);
    const std::vector<uint8_t> whole = ReadAll(encoder, 17);
    for (size_t offset = 0; offset <= whole.size(); offset += 1 + whole.size() / 13) {
      ASSERT_EQ(encoder.Seek(offset), Status::kOk);
      EXPECT_EQ(
          ReadAll(encoder, 29),
          std::vector<uint8_t>(whole.begin() + static_cast<std::ptrdiff_t>(offset), whole.end()));
    }
    EXPECT_EQ(Encode(format, update, Noise()), whole);
  }
}

// Scale code and so the length come from the noisy values.
TEST(PrivateUpdate, TheScaleIsThatOfTheNoisyValues) {
  const std::vector<float> update = SomeUpdate(1000);
  int32_t largest = 0;
  double squares = 0;
  for (const int32_t v : NoisyValues(update)) {
    largest = std::max(largest, std::abs(v));
    squares += static_cast<double>(v) * v;
  }
  const auto rms = static_cast<int32_t>(std::sqrt(squares / 1000));
  EXPECT_EQ(Encode(kFormats[0], update, Noise())[0], lrq::ScaleCodeFor(largest));
  EXPECT_EQ(Encode(kFormats[2], update, Noise())[0], lrq::ScaleCodeFor(rms));
}

TEST(PrivateUpdate, OfZerosIsNotShort) {
  const std::vector<float> zeros(1000, 0.0f);
  for (const UpdateFormat& format : kFormats) {
    const size_t size = Encode(format, zeros, Noise()).size();
    const size_t other = Encode(format, SomeUpdate(1000), Noise()).size();
    EXPECT_GT(size, 200u);
    EXPECT_NEAR(static_cast<double>(size), static_cast<double>(other), 65);
  }
}

TEST(PrivateUpdate, WithoutNoiseIsTheUpdateAsItWas) {
  const std::vector<float> update = SomeUpdate(300);
  for (const UpdateFormat& format : kFormats) {
    UpdateEncoder encoder;
    ASSERT_EQ(encoder.Begin(TestKey(1), format, View(update), kClip, kUnit), Status::kOk);
    EXPECT_EQ(Encode(format, update, PrivateNoise(TestKey(99), 0)), ReadAll(encoder, 100));
  }
}

// Far beyond what a draw can be, the format's limit holds and the server decodes it.
TEST(PrivateUpdate, OfTheLargestNoiseStaysInTheFormat) {
  const PrivateNoise largest(TestKey(7), kMaxPrivateNoiseQ20);
  const std::vector<float> update(2000, 1.0f);
  for (const UpdateFormat& format : kFormats) {
    UpdateEncoder encoder;
    ASSERT_EQ(encoder.Begin(TestKey(1), format, View(update), 128.0f, 1.0f, {}, largest),
              Status::kOk);
    const std::vector<uint8_t> bytes = ReadAll(encoder, 100);
    EXPECT_LE(bytes.size(), MaxUpdateSize(2000, format));
    Decode(format, bytes, update.size());
  }
}

TEST(PrivateUpdate, IsRefusedWhereTheNoiseCouldLeaveTheFormat) {
  const std::vector<float> update = SomeUpdate(10);
  const auto begin = [&](DitherKind dither, uint32_t deviation_q20, float clip_l2) {
    UpdateEncoder encoder;
    return encoder.Begin(TestKey(1), {Coding::kRange, dither, 0}, View(update), clip_l2, 1.0f, {},
                         PrivateNoise(TestKey(2), deviation_q20));
  };
  EXPECT_EQ(begin(DitherKind::kGaussian, kMaxPrivateNoiseQ20, 128.0f), Status::kOk);
  EXPECT_EQ(begin(DitherKind::kGaussian, kMaxPrivateNoiseQ20 + 1, 128.0f),
            Status::kInvalidArgument);
  EXPECT_EQ(begin(DitherKind::kGaussian, kMaxPrivateNoiseQ20, 128.1f), Status::kInvalidArgument);
  EXPECT_EQ(begin(DitherKind::kUniform, kMaxPrivateNoiseQ20, 1.0f), Status::kInvalidArgument);
}

}  // namespace
}  // namespace sotto
