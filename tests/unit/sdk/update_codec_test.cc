// The encoded update: round trips, sizes, resumed reads, and bytes that a decoder refuses.
#include "sotto/update_codec.h"

#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

#include "device/cells.h"
#include "sotto/quantizer.h"
#include "unit/sdk/extra_coordinates.h"
#include "unit/sdk/hex.h"

namespace sotto {
namespace {

constexpr float kClip = 0.4f;

Key TestKey(uint8_t number) {
  Key key;
  key.bytes[0] = number;
  return key;
}

std::vector<float> RandomUpdate(size_t size, float deviation, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, deviation);
  std::vector<float> update(size);
  for (float& value : update) value = normal(random);
  return update;
}

struct Encoded {
  std::vector<uint8_t> bytes;
  UpdateScale scale;
};

constexpr UpdateFormat kFixed = {Coding::kFixed, DitherKind::kGaussian, 0};
constexpr UpdateFormat kRange = {Coding::kRange, DitherKind::kGaussian, 0};

const UpdateFormat kFormats[] = {
    kFixed,
    kRange,
    {Coding::kFixed, DitherKind::kGaussian, 64},
    {Coding::kRange, DitherKind::kGaussian, 64},
    {Coding::kFixed, DitherKind::kUniform, 100},
    {Coding::kRange, DitherKind::kUniform, 1},
    {Coding::kFixed, DitherKind::kGaussian, 64, 8000},
    {Coding::kRange, DitherKind::kGaussian, 64, 8000},
};

Encoded Encode(const Key& key, const UpdateFormat& format, const std::vector<float>& update,
               float unit, int32_t extra_q20 = 0, float clip_l2 = kClip) {
  UpdateEncoder encoder;
  EXPECT_EQ(encoder.Begin(key, format, View(update), clip_l2, unit, WithClipBit(extra_q20)),
            Status::kOk);
  const auto coordinates = static_cast<uint32_t>(update.size()) + (extra_q20 == 0 ? 0 : 1);
  Encoded result{std::vector<uint8_t>(MaxUpdateSize(coordinates, format)), encoder.scale()};
  size_t written = 0;
  EXPECT_EQ(encoder.Read({result.bytes.data(), result.bytes.size()}, &written), Status::kOk);
  EXPECT_TRUE(encoder.is_done());
  result.bytes.resize(written);
  return result;
}

Status Decode(const Key& key, const UpdateFormat& format, const std::vector<uint8_t>& bytes,
              std::vector<int32_t>& noisy) {
  return DecodeUpdate(key, format, View(bytes), {noisy.data(), noisy.size()});
}

TEST(UpdateCodec, DecodesToTheValuesPlusUnitNoise) {
  for (const UpdateFormat& format : {kFixed, kRange}) {
    for (const float unit : {0.08f, 0.004f, 0.4f}) {
      const auto update = RandomUpdate(2001, 0.004f, 1);
      const Encoded encoded = Encode(TestKey(1), format, update, unit);
      std::vector<int32_t> noisy(update.size());
      ASSERT_EQ(Decode(TestKey(1), format, encoded.bytes, noisy), Status::kOk);
      double square = 0;
      for (size_t j = 0; j < update.size(); ++j) {
        const double error = (noisy[j] - ScaleToQ20(update[j], encoded.scale)) / 1048576.0;
        EXPECT_LT(std::fabs(error), 11.8);
        square += error * error;
      }
      // Variance 1 with deviation sqrt(2/2001) = 0.032 of its estimate; six deviations: 2e-9.
      EXPECT_NEAR(square / static_cast<double>(update.size()), 1.0, 0.19);
    }
  }
}

// A ball of 2^20 scales: a third of the coordinates is far beyond the box, up to the largest float.
// Mean and variance of 30,000 errors are within 6 deviations; a correct codec fails with a
// probability of 1e-8. A clamped coordinate that lost its noise would halve the variance.
TEST(UpdateCodec, ClampedCoordinatesDecodeToTheEndOfTheBoxPlusUnitNoise) {
  constexpr size_t kCount = 30000;
  std::vector<float> update = RandomUpdate(kCount, 1.0f, 9);
  for (size_t j = 0; j < kCount; j += 3) update[j] = j % 2 == 0 ? 2000.0f : -2000.0f;
  for (const UpdateFormat& format : {kFixed, kRange}) {
    const Encoded encoded = Encode(TestKey(9), format, update, 1.0f, 0, kMaxClipInScales);
    EXPECT_EQ(encoded.scale.max_value_q20, kMaxValueQ20);
    std::vector<int32_t> noisy(kCount);
    ASSERT_EQ(Decode(TestKey(9), format, encoded.bytes, noisy), Status::kOk);
    double sum[2] = {};
    double square[2] = {};
    for (size_t j = 0; j < kCount; ++j) {
      const bool is_clamped = j % 3 == 0;
      const int64_t v = ScaleToQ20(update[j], encoded.scale);
      ASSERT_EQ(std::abs(v) == kMaxValueQ20, is_clamped);
      const auto error = static_cast<double>(noisy[j] - v) / 0x1p20;
      sum[is_clamped ? 1 : 0] += error;
      square[is_clamped ? 1 : 0] += error * error;
    }
    for (const bool is_clamped : {false, true}) {
      const double n = is_clamped ? kCount / 3.0 : kCount * 2 / 3.0;
      EXPECT_NEAR(sum[is_clamped ? 1 : 0] / n, 0, 6 / std::sqrt(n));
      EXPECT_NEAR(square[is_clamped ? 1 : 0] / n, 1, 6 * std::sqrt(2 / n));
    }
  }
}

// The scale code, the bits of a code and the range code's escapes are at their ends.
TEST(UpdateCodec, TheLargestValuesOfTheLargestBallRoundTrip) {
  const float largest = std::numeric_limits<float>::max();
  const std::vector<float> updates[] = {
      std::vector<float>(700, 1e4f), std::vector<float>(1, -1e7f), {largest, 1.0f, -largest, 0.0f}};
  for (const UpdateFormat& format : kFormats) {
    for (const std::vector<float>& update : updates) {
      const Encoded encoded = Encode(TestKey(10), format, update, 1.0f, -7, kMaxClipInScales);
      EXPECT_EQ(encoded.scale.max_value_q20, kMaxValueQ20);
      EXPECT_LE(encoded.bytes[0], lrq::kMaxScaleCode);
      std::vector<int32_t> noisy(update.size() + 1);
      ASSERT_EQ(Decode(TestKey(10), format, encoded.bytes, noisy), Status::kOk);
      for (size_t j = 0; j < update.size(); ++j) {
        const int64_t v = ScaleToQ20(update[j], encoded.scale);
        EXPECT_LE(std::abs(noisy[j] - v), kMaxStepQ27 / 128 + 1);
      }
    }
  }
}

// Whatever the values: from zeros to an update that takes the whole length.
TEST(UpdateCodec, AnUpdateHasExactlyTheLengthOfItsFormat) {
  for (const Coding coding : {Coding::kRange, Coding::kFixed}) {
    for (const float deviation : {1e-6f, 0.001f, 0.02f}) {
      const UpdateFormat format = {coding, DitherKind::kGaussian, 64, 1001};
      const auto update = RandomUpdate(2001, deviation, 1);
      const Encoded encoded = Encode(TestKey(1), format, update, 0.08f, 1 << 20);
      EXPECT_EQ(encoded.bytes.size(), 1001u) << deviation;
      std::vector<int32_t> noisy(update.size() + 1);
      EXPECT_EQ(Decode(TestKey(1), format, encoded.bytes, noisy), Status::kOk);
      std::vector<uint8_t> other = encoded.bytes;
      other.push_back(0);
      EXPECT_EQ(Decode(TestKey(1), format, other, noisy), Status::kMalformed);
      other.resize(1000);
      EXPECT_EQ(Decode(TestKey(1), format, other, noisy), Status::kMalformed);
      other = encoded.bytes;
      other.back() = 1;
      EXPECT_EQ(Decode(TestKey(1), format, other, noisy), Status::kMalformed);
    }
  }
}

// The encoder says so before it gives a byte, and then begins anew.
TEST(UpdateCodec, AnEncoderKnowsWhetherItsUpdateFits) {
  const auto update = RandomUpdate(2001, 0.02f, 1);
  for (const Coding coding : {Coding::kRange, Coding::kFixed}) {
    UpdateFormat format = {coding, DitherKind::kGaussian, 0, 4000};
    const auto fits = [&](uint32_t length) {
      format.length = length;
      UpdateEncoder encoder;
      EXPECT_EQ(encoder.Begin(TestKey(1), format, View(update), kClip, 0.08f), Status::kOk);
      bool result = false;
      EXPECT_EQ(encoder.FitsLength(&result), Status::kOk);
      std::vector<uint8_t> bytes(4000);
      size_t written = 0;
      EXPECT_EQ(encoder.Read({bytes.data(), bytes.size()}, &written), Status::kOk);
      EXPECT_EQ(written == length, result) << length;
      return result;
    };
    uint32_t shortest = 1;
    while (!fits(shortest)) ++shortest;
    EXPECT_GT(shortest, 20u);
    EXPECT_TRUE(fits(shortest + 1));
    EXPECT_TRUE(fits(4000));
    EXPECT_FALSE(fits(shortest - 1));
  }
}

TEST(UpdateCodec, BothCodesCarryTheSameValues) {
  for (const float deviation : {0.0f, 0.0001f, 0.004f, 0.02f}) {
    for (const DitherKind dither : {DitherKind::kGaussian, DitherKind::kUniform}) {
      const auto update = RandomUpdate(1000, deviation, 11);
      std::vector<int32_t> fixed(update.size());
      std::vector<int32_t> range(update.size());
      for (const float unit : {0.4f, 0.02f, 0.0004f}) {
        const UpdateFormat a = {Coding::kFixed, dither, 0};
        const UpdateFormat b = {Coding::kRange, dither, 64};
        ASSERT_EQ(Decode(TestKey(3), a, Encode(TestKey(3), a, update, unit).bytes, fixed),
                  Status::kOk);
        ASSERT_EQ(Decode(TestKey(3), b, Encode(TestKey(3), b, update, unit).bytes, range),
                  Status::kOk);
        EXPECT_EQ(fixed, range);
      }
    }
  }
}

// The extra coordinate follows the update and is not clipped with it. The coordinates of the update
// decode to the same values with and without it.
TEST(UpdateCodec, AExtraCoordinateIsOneMoreCoordinateUnderTheSameNoise) {
  constexpr double kUnit = 1048576;
  for (const UpdateFormat& format : kFormats) {
    for (const float deviation : {0.0f, 0.0001f, 0.05f}) {
      const auto update = RandomUpdate(700, deviation, 21);
      const Encoded alone = Encode(TestKey(4), format, update, 0.02f);
      std::vector<int32_t> noisy(update.size());
      ASSERT_EQ(Decode(TestKey(4), format, alone.bytes, noisy), Status::kOk);
      for (const int32_t last : {1, -3000000, 1500000, kMaxValueQ20, -kMaxValueQ20}) {
        const Encoded encoded = Encode(TestKey(4), format, update, 0.02f, last);
        std::vector<int32_t> with_last(update.size() + 1);
        ASSERT_EQ(Decode(TestKey(4), format, encoded.bytes, with_last), Status::kOk);
        EXPECT_LT(std::fabs(with_last.back() - static_cast<double>(last)), 11.8 * kUnit);
        with_last.pop_back();
        EXPECT_EQ(with_last, noisy);
      }
    }
  }
}

// The accountant's joint sensitivity rests on this bound: updates far above it, on it and below.
TEST(UpdateCodec, TheIntegersWithAExtraCoordinateKeepTheirJointBound) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 300; ++trial) {
    const float unit = std::ldexp(1.0f + static_cast<float>(random() % 1000) / 1000, -8);
    const float norm = std::ldexp(kClip, static_cast<int>(random() % 12) - 6);
    auto update = RandomUpdate(1 + random() % 200, 1.0f, static_cast<uint32_t>(trial));
    double square = 0;
    for (const float value : update) square += static_cast<double>(value) * value;
    for (float& value : update) value *= norm / static_cast<float>(std::sqrt(square));
    const auto last = static_cast<int32_t>(random() % (1u << 22)) + 1;
    UpdateEncoder encoder;
    ASSERT_EQ(encoder.Begin(TestKey(5), kRange, View(update), kClip, unit, WithClipBit(-last)),
              Status::kOk);
    long double sum = static_cast<long double>(last) * last;
    for (const float value : update) {
      const auto v = static_cast<long double>(ScaleToQ20(value, encoder.scale()));
      sum += v * v;
    }
    const long double clip_q20 = std::ldexp(static_cast<long double>(kClip) / unit, 20);
    EXPECT_LE(sum, clip_q20 * clip_q20 + static_cast<long double>(last) * last);
  }
}

TEST(UpdateEncoder, RefusesAnExtraCoordinateBeyondTheFormat) {
  const std::vector<float> update = {1.0f};
  UpdateEncoder encoder;
  for (const int32_t last : {kMaxValueQ20 + 1, -kMaxValueQ20 - 1}) {
    EXPECT_EQ(encoder.Begin(TestKey(1), kRange, View(update), 1.0f, 1.0f, WithClipBit(last)),
              Status::kInvalidArgument);
  }
}

TEST(UpdateCodec, UniformDitherKeepsAnEighthOfAUnit) {
  for (const Coding coding : {Coding::kFixed, Coding::kRange}) {
    const UpdateFormat format = {coding, DitherKind::kUniform, 0};
    const auto update = RandomUpdate(777, 0.004f, 2);
    const Encoded encoded = Encode(TestKey(2), format, update, kClip / 1024);
    std::vector<int32_t> values(update.size());
    ASSERT_EQ(Decode(TestKey(2), format, encoded.bytes, values), Status::kOk);
    for (size_t j = 0; j < update.size(); ++j) {
      EXPECT_NEAR(values[j], ScaleToQ20(update[j], encoded.scale), (1 << 17) + 1);
    }
  }
}

TEST(UpdateCodec, ReadsInAnyPortionsGiveTheSameBytes) {
  for (const UpdateFormat& format : kFormats) {
    const auto update = RandomUpdate(999, 0.02f, 3);
    const Encoded whole = Encode(TestKey(3), format, update, 0.01f);
    UpdateEncoder encoder;
    ASSERT_EQ(encoder.Begin(TestKey(3), format, View(update), kClip, 0.01f), Status::kOk);
    std::vector<uint8_t> bytes;
    for (size_t portion = 1; !encoder.is_done(); portion = portion * 2 % 101) {
      std::vector<uint8_t> part(portion);
      size_t written = 0;
      ASSERT_EQ(encoder.Read({part.data(), part.size()}, &written), Status::kOk);
      ASSERT_EQ(written == part.size() || encoder.is_done(), true);
      ASSERT_GT(written, 0u);
      bytes.insert(bytes.end(), part.begin(), part.begin() + static_cast<long>(written));
    }
    EXPECT_EQ(bytes, whole.bytes);
  }
}

TEST(UpdateCodec, SeekRepeatsTheSameBytesFromAnyOffset) {
  for (const UpdateFormat& format : kFormats) {
    const auto update = RandomUpdate(300, 0.02f, 4);
    const Encoded whole = Encode(TestKey(4), format, update, 0.03f);
    UpdateEncoder encoder;
    ASSERT_EQ(encoder.Begin(TestKey(4), format, View(update), kClip, 0.03f), Status::kOk);
    for (const size_t offset : {whole.bytes.size(), size_t{0}, size_t{1}, whole.bytes.size() / 2}) {
      ASSERT_EQ(encoder.Seek(offset), Status::kOk);
      std::vector<uint8_t> rest(whole.bytes.size());
      size_t written = 0;
      ASSERT_EQ(encoder.Read({rest.data(), rest.size()}, &written), Status::kOk);
      rest.resize(written);
      EXPECT_EQ(rest, std::vector<uint8_t>(whole.bytes.begin() + static_cast<long>(offset),
                                           whole.bytes.end()));
    }
    EXPECT_EQ(encoder.Seek(whole.bytes.size() + 1), Status::kInvalidArgument);
  }
}

TEST(UpdateCodec, AZeroUpdateIsOneByteAndStillCarriesFullNoise) {
  for (const UpdateFormat& format : {kFixed, kRange}) {
    const std::vector<float> zeros(5000, 0.0f);
    const Encoded encoded = Encode(TestKey(5), format, zeros, 0.1f);
    EXPECT_EQ(encoded.bytes, std::vector<uint8_t>{0});
    std::vector<int32_t> noisy(zeros.size());
    ASSERT_EQ(Decode(TestKey(5), format, encoded.bytes, noisy), Status::kOk);
    double square = 0;
    for (const int32_t value : noisy) square += std::pow(value / 1048576.0, 2);
    // Deviation of the estimate 0.02; six deviations: 2e-9.
    EXPECT_NEAR(square / 5000, 1.0, 0.12);
  }
}

TEST(UpdateCodec, PaddedLengthsAreMultiples) {
  for (const uint32_t padding : {1u, 64u, 100u, kMaxPadding}) {
    for (const Coding coding : {Coding::kFixed, Coding::kRange}) {
      const UpdateFormat format = {coding, DitherKind::kGaussian, padding};
      for (const uint32_t size : {1u, 63u, 511u, 2000u}) {
        const auto update = RandomUpdate(size, 0.02f, size);
        const Encoded encoded = Encode(TestKey(6), format, update, 0.05f);
        EXPECT_EQ(encoded.bytes.size() % padding, 0u);
        EXPECT_LE(encoded.bytes.size(), MaxUpdateSize(size, format));
        std::vector<int32_t> noisy(size);
        EXPECT_EQ(Decode(TestKey(6), format, encoded.bytes, noisy), Status::kOk);
      }
    }
  }
}

TEST(UpdateCodec, FormatsOutOfRangeAreRefused) {
  const std::vector<float> update = {1.0f};
  std::vector<int32_t> noisy(1);
  const UpdateFormat bad[] = {{Coding::kFloat32, DitherKind::kGaussian, 0},
                              {static_cast<Coding>(0), DitherKind::kGaussian, 0},
                              {Coding::kRange, static_cast<DitherKind>(3), 0},
                              {Coding::kRange, DitherKind::kGaussian, kMaxPadding + 1}};
  for (const UpdateFormat& format : bad) {
    UpdateEncoder encoder;
    EXPECT_EQ(encoder.Begin(TestKey(1), format, View(update), 1.0f, 1.0f),
              Status::kInvalidArgument);
    EXPECT_EQ(Decode(TestKey(1), format, {0}, noisy), Status::kInvalidArgument);
  }
}

TEST(FixedCode, HasExactlyThePapersBits) {
  const double min_step = 2 * std::sqrt(2 * std::log(2.0));
  for (int code = 0; code <= lrq::kMaxScaleCode; ++code) {
    const double bound = lrq::ScaleBoundQ20(static_cast<uint8_t>(code)) / 1048576.0;
    EXPECT_EQ(lrq::FixedCodeBits(static_cast<uint8_t>(code), DitherKind::kGaussian),
              std::ceil(std::log2(2 * bound / min_step + 1)))
        << code;
  }
}

TEST(FixedCode, NoCodeIsLongerThanTheFormatAllows) {
  for (int code = 0; code <= lrq::kMaxScaleCode; ++code) {
    for (const DitherKind kind : {DitherKind::kGaussian, DitherKind::kUniform}) {
      EXPECT_LE(lrq::FixedCodeBits(static_cast<uint8_t>(code), kind), lrq::kMaxCodeBits) << code;
    }
  }
  EXPECT_EQ(lrq::FixedCodeBits(lrq::kMaxScaleCode, DitherKind::kUniform), lrq::kMaxCodeBits);
}

TEST(FixedCode, ScaleCodeIsTheSmallestThatHolds) {
  std::mt19937 random(6);
  for (int i = 0; i < 10000; ++i) {
    const auto value = static_cast<int32_t>(random() % (1u << (random() % 31)));
    const uint8_t code = lrq::ScaleCodeFor(value);
    EXPECT_GE(lrq::ScaleBoundQ20(code), value);
    if (code > 0) {
      EXPECT_LT(lrq::ScaleBoundQ20(static_cast<uint8_t>(code - 1)), value);
    }
  }
  EXPECT_EQ(lrq::ScaleCodeFor(kMaxValueQ20), lrq::kMaxScaleCode);
  EXPECT_EQ(lrq::ScaleBoundQ20(lrq::kMaxScaleCode), kMaxValueQ20);
}

TEST(FixedCode, RefusesEveryOtherLength) {
  const auto update = RandomUpdate(100, 0.05f, 7);
  const Encoded encoded = Encode(TestKey(7), kFixed, update, 0.01f);
  std::vector<int32_t> noisy(update.size());
  for (size_t size = 0; size <= encoded.bytes.size() + 2; ++size) {
    std::vector<uint8_t> bytes = encoded.bytes;
    bytes.resize(size);
    const Status expected = size == encoded.bytes.size() ? Status::kOk : Status::kMalformed;
    EXPECT_EQ(Decode(TestKey(7), kFixed, bytes, noisy), expected) << size;
  }
  EXPECT_EQ(DecodeUpdate(TestKey(7), kFixed, View(encoded.bytes), {}), Status::kInvalidArgument);
}

TEST(FixedCode, RefusesCodesThatNoValueInRangeCanGive) {
  // 11 values of 1 bit and 5 bits of padding that must be zero.
  const std::vector<float> update(11, 0.001f);
  const Encoded encoded = Encode(TestKey(8), kFixed, update, 0.1f);
  ASSERT_EQ(encoded.bytes.size(), 3u);
  std::vector<int32_t> noisy(update.size());
  std::vector<uint8_t> padded = encoded.bytes;
  padded.back() |= 0x80;
  EXPECT_EQ(Decode(TestKey(8), kFixed, padded, noisy), Status::kMalformed);
  // With |v| this far below the step most cells allow a single code; all ones cannot be right.
  const std::vector<uint8_t> ones = {encoded.bytes[0], 0xff, 0x07};
  EXPECT_EQ(Decode(TestKey(8), kFixed, ones, noisy), Status::kMalformed);
  std::vector<uint8_t> scale = encoded.bytes;
  scale[0] = lrq::kMaxScaleCode + 1;
  EXPECT_EQ(Decode(TestKey(8), kFixed, scale, noisy), Status::kMalformed);
}

TEST(FixedCode, AcceptsExactlyTheIntegersOfValuesWithinTheBound) {
  int accepted = 0;
  int refused = 0;
  for (int number = 0; number < 100; ++number) {
    const Key key = TestKey(static_cast<uint8_t>(number));
    const Dither dither(key, DitherKind::kGaussian);
    DitherCell cell;
    ASSERT_EQ(GenerateCells(dither, 0, {&cell, 1}), Status::kOk);
    for (const uint8_t code : std::vector<uint8_t>{1, 77, 81, 86, 93, 101, 121}) {
      int32_t smallest = 0;
      int32_t largest = 0;
      const int32_t bound = lrq::ScaleBoundQ20(code);
      ASSERT_EQ(Quantize(dither, 0, cell, -bound, &smallest), Status::kOk);
      ASSERT_EQ(Quantize(dither, 0, cell, bound, &largest), Status::kOk);
      const int32_t codes = 1 << lrq::FixedCodeBits(code, DitherKind::kGaussian);
      for (int32_t c = 0; c < codes; ++c) {
        std::vector<uint8_t> bytes = {code, static_cast<uint8_t>(c), static_cast<uint8_t>(c >> 8)};
        bytes.resize(lrq::FixedCodeSize(1, code, DitherKind::kGaussian));
        std::vector<int32_t> noisy(1);
        const bool is_valid = smallest + c <= largest;
        ASSERT_EQ(Decode(key, kFixed, bytes, noisy), is_valid ? Status::kOk : Status::kMalformed);
        ++(is_valid ? accepted : refused);
      }
    }
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 1000);
}

TEST(RangeCode, RefusesWhatFollowsTheEnd) {
  const auto update = RandomUpdate(100, 0.05f, 7);
  std::vector<int32_t> noisy(update.size());
  for (const uint32_t padding : {0u, 64u}) {
    const UpdateFormat format = {Coding::kRange, DitherKind::kGaussian, padding};
    std::vector<uint8_t> bytes = Encode(TestKey(7), format, update, 0.01f).bytes;
    ASSERT_EQ(Decode(TestKey(7), format, bytes, noisy), Status::kOk);
    for (const size_t more : {size_t{8}, size_t{64}, size_t{640}}) {
      std::vector<uint8_t> longer = bytes;
      longer.resize(bytes.size() + more);
      EXPECT_EQ(Decode(TestKey(7), format, longer, noisy), Status::kMalformed);
    }
    if (padding != 0) bytes.back() ^= 1;
    if (padding == 0) bytes.insert(bytes.end(), 5, 1);
    EXPECT_EQ(Decode(TestKey(7), format, bytes, noisy), Status::kMalformed);
  }
}

TEST(RangeCode, RefusesIntegersThatNoValueInRangeCanGive) {
  // With the smallest scale a long run of ones decodes to huge integers.
  std::vector<int32_t> noisy(64);
  std::vector<uint8_t> bytes(256, 0x00);
  bytes[0] = 1;
  EXPECT_EQ(Decode(TestKey(8), kRange, bytes, noisy), Status::kMalformed);
}

TEST(Decoder, SurvivesAnyBytes) {
  std::mt19937 random(9);
  std::vector<int32_t> noisy(64);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto code = static_cast<uint8_t>(random() % 130);
    const DitherKind kind = random() % 2 == 0 ? DitherKind::kGaussian : DitherKind::kUniform;
    const Coding coding = random() % 2 == 0 ? Coding::kFixed : Coding::kRange;
    const bool is_fixed = coding == Coding::kFixed && code <= lrq::kMaxScaleCode;
    const size_t size = is_fixed ? lrq::FixedCodeSize(64, code, kind) : 1 + random() % 200;
    std::vector<uint8_t> bytes(size);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    bytes[0] = code;
    const UpdateFormat format = {coding, kind, 0};
    const Status status = Decode(TestKey(static_cast<uint8_t>(i)), format, bytes, noisy);
    EXPECT_TRUE(status == Status::kOk || status == Status::kMalformed);
    accepted += status == Status::kOk ? 1 : 0;
  }
  EXPECT_GT(accepted, 0);
}

TEST(Decoder, AWrongKeyGivesNoiseOrAnError) {
  for (const UpdateFormat& format : {kFixed, kRange}) {
    const auto update = RandomUpdate(500, 0.005f, 10);
    const Encoded encoded = Encode(TestKey(10), format, update, 0.001f);
    std::vector<int32_t> right(update.size());
    std::vector<int32_t> wrong(update.size());
    ASSERT_EQ(Decode(TestKey(10), format, encoded.bytes, right), Status::kOk);
    const Status status = Decode(TestKey(11), format, encoded.bytes, wrong);
    EXPECT_TRUE(status == Status::kOk || status == Status::kMalformed);
    EXPECT_NE(right, wrong);
  }
}

int g_good_calls = 0;

Status FailingKeystream(const Key& key, uint32_t stream, uint32_t first_block,
                        MutableByteSpan out) {
  if (g_good_calls-- == 0) return Status::kCryptoFailed;
  return ChaCha20Keystream(key, stream, first_block, out);
}

TEST(Decoder, ReportsEveryFailureOfTheKeystream) {
  const auto update = RandomUpdate(1000, 0.004f, 12);
  std::vector<int32_t> noisy(update.size());
  for (const UpdateFormat& format : {kFixed, kRange}) {
    const Encoded encoded = Encode(TestKey(12), format, update, 0.04f);
    int calls = 0;
    Status status = Status::kCryptoFailed;
    for (; status == Status::kCryptoFailed; ++calls) {
      g_good_calls = calls;
      status = DecodeUpdate(TestKey(12), format, View(encoded.bytes), {noisy.data(), noisy.size()},
                            {{FailingKeystream}});
    }
    EXPECT_EQ(status, Status::kOk);
    // 16 batches; single words for some 8 layers and 20 offsets.
    EXPECT_GT(calls, 16 + 2);
  }
}

TEST(UpdateEncoder, HasNothingToReadBeforeBeginOrAfterWipe) {
  UpdateEncoder encoder;
  uint8_t byte[1];
  size_t written = 0;
  EXPECT_EQ(encoder.Read(byte, &written), Status::kWrongState);
  EXPECT_EQ(encoder.Seek(0), Status::kWrongState);
  const std::vector<float> update = {1.0f};
  ASSERT_EQ(encoder.Begin(TestKey(1), kRange, View(update), 1.0f, 1.0f), Status::kOk);
  encoder.Wipe();
  EXPECT_EQ(encoder.Read(byte, &written), Status::kWrongState);
}

}  // namespace
}  // namespace sotto
