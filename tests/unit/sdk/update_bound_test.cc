// The bound that a decoder enforces on an update's norm: it refuses no honest update, and accepts
// only integers that an update within the bound has.
#include "sotto/update_bound.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

#include "device/cells.h"
#include "sotto/quantizer.h"
#include "sotto/update_codec.h"
#include "unit/sdk/extra_coordinates.h"
#include "unit/trials.h"

namespace sotto {
namespace {

bool IsAtMost(const Wide& a, const Wide& b) {
  return a.high < b.high || (a.high == b.high && a.low <= b.low);
}

double Value(const Wide& wide) {
  return std::ldexp(static_cast<double>(wide.high), 64) + static_cast<double>(wide.low);
}

Key DeviceKey(uint32_t number) {
  Key key;
  StoreU32Le(number, key.bytes);
  return key;
}

UpdateBound BoundOf(float clip_l2, float unit, int32_t extra_q20 = 0) {
  UpdateBound bound;
  bound.max_squares_q40 = MaxSquaresQ40(clip_l2, unit);
  bound.clip_bit_q20 = static_cast<uint32_t>(std::abs(extra_q20));
  return bound;
}

std::vector<uint8_t> Encode(const Key& key, const UpdateFormat& format,
                            const std::vector<float>& update, float clip_l2, float unit,
                            const ExtraCoordinates& extras, UpdateScale* scale) {
  UpdateEncoder encoder;
  EXPECT_EQ(encoder.Begin(key, format, {update.data(), update.size()}, clip_l2, unit, extras),
            Status::kOk);
  *scale = encoder.scale();
  std::vector<uint8_t> bytes(
      MaxUpdateSize(static_cast<uint32_t>(update.size()) + extras.count(), format));
  size_t written = 0;
  EXPECT_EQ(encoder.Read({bytes.data(), bytes.size()}, &written), Status::kOk);
  bytes.resize(written);
  return bytes;
}

std::vector<uint8_t> Encode(const Key& key, const UpdateFormat& format,
                            const std::vector<float>& update, float clip_l2, float unit,
                            int32_t clip_bit_q20, UpdateScale* scale) {
  return Encode(key, format, update, clip_l2, unit, WithClipBit(clip_bit_q20), scale);
}

Status Decode(const Key& key, const UpdateFormat& format, const std::vector<uint8_t>& bytes,
              size_t coordinates, const UpdateBound* bound) {
  std::vector<int32_t> noisy(coordinates);
  return DecodeUpdate(key, format, {bytes.data(), bytes.size()}, {noisy.data(), noisy.size()}, {},
                      bound);
}

// q <= (c / s)^2 2^40 < q + 1, cross-multiplied.
#ifdef __SIZEOF_INT128__  // 32-bit compilers have no integer to check it with
__extension__ using Uint128 = unsigned __int128;

TEST(UpdateBound, TheLargestSumOfSquaresIsExact) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 20000; ++trial) {
    // Up to a ratio of 2^20 the check needs more than 128 bits, but for short mantissas.
    const bool is_short = trial % 2 == 0;
    const int dropped_bits = is_short ? 8 : 0;
    const auto mantissa = [&] {
      const uint32_t fraction = static_cast<uint32_t>(random() >> 9) >> dropped_bits;
      return 1.0f + std::ldexp(static_cast<float>(fraction), dropped_bits - 23);
    };
    const float scale = std::ldexp(mantissa(), static_cast<int>(random() % 40) - 30);
    const int up = static_cast<int>(random() % (is_short ? 36 : 26)) - 16;
    const float clip =
        std::min(std::ldexp(mantissa(), std::ilogb(scale) + up), kMaxClipInScales * scale);
    const Wide wide = MaxSquaresQ40(clip, scale);
    const Uint128 found = Uint128{wide.high} << 64 | wide.low;
    const FloatParts c = SplitFloat(clip);
    const FloatParts s = SplitFloat(scale);
    const int shift = 40 + 2 * (c.exponent - s.exponent);
    const auto square = [&](uint32_t x) {
      return Uint128{x >> dropped_bits} * (x >> dropped_bits);
    };
    Uint128 left = square(c.mantissa);
    Uint128 right = square(s.mantissa);
    if (shift >= 0) {
      left <<= shift;
    } else {
      right <<= -shift;
    }
    ASSERT_LE(found * right, left) << clip << " " << scale;
    ASSERT_GT((found + Uint128{1}) * right, left) << clip << " " << scale;
  }
  EXPECT_EQ(Value(MaxSquaresQ40(1.0f, 1.0f)), 0x1p40);
  EXPECT_EQ(Value(MaxSquaresQ40(1024.0f, 1.0f)), 0x1p60);
  EXPECT_EQ(Value(MaxSquaresQ40(4096.0f, 1.0f)), 0x1p64);
  EXPECT_EQ(Value(MaxSquaresQ40(kMaxClipInScales, 1.0f)), 0x1p80);
  EXPECT_EQ(Value(MaxSquaresQ40(std::ldexp(1.0f, -21), 1.0f)), 0);
}
#endif

// Lemma 1, against the quantizer: the value at the distance encodes to m, the one below it does
// not.
TEST(UpdateBound, TheDistanceIsThatOfTheNearestValue) {
  std::mt19937 random(2);
  int carried = 0;
  for (const DitherKind kind : {DitherKind::kGaussian, DitherKind::kUniform}) {
    const Dither dither(DeviceKey(2), kind);
    for (uint32_t first = 0; first < 40000; first += kDitherBatch) {
      DitherCell cells[kDitherBatch];
      ASSERT_EQ(GenerateCells(dither, first, cells), Status::kOk);
      for (uint32_t i = 0; i < kDitherBatch; ++i) {
        const int32_t reach = random() % 2 == 0 ? 1 << 22 : kMaxValueQ20;
        const auto v =
            static_cast<int32_t>(random() % (2u * static_cast<uint32_t>(reach) + 1)) - reach;
        int32_t m = 0;
        ASSERT_EQ(Quantize(dither, first + i, cells[i], v, &m), Status::kOk);
        Wide squares;
        ASSERT_EQ(AddSquaredDistances(dither, first + i, {&cells[i], 1}, {&m, 1}, &squares),
                  Status::kOk);
        const auto distance =
            static_cast<int32_t>(std::llround(std::sqrt(static_cast<double>(squares.low))));
        ASSERT_EQ(squares.high, 0u);
        ASSERT_EQ(squares.low, static_cast<uint64_t>(distance) * static_cast<uint64_t>(distance));
        const int32_t sign = v < 0 ? -1 : 1;
        int32_t at = 0;
        ASSERT_EQ(Quantize(dither, first + i, cells[i], sign * distance, &at), Status::kOk);
        EXPECT_EQ(at, m);
        EXPECT_LE(distance, std::abs(v));
        if (distance == 0) continue;
        ASSERT_EQ(Quantize(dither, first + i, cells[i], sign * (distance - 1), &at), Status::kOk);
        EXPECT_NE(at, m);
        int32_t exact = 0;
        ASSERT_EQ(dither.ExactOffset(first + i, cells[i], &exact), Status::kOk);
        carried += exact != cells[i].offset_q27;
      }
    }
  }
  EXPECT_GT(carried, 1000) << "the exact offset decides in some of the cells";
}

// One honest update: its coordinates have the shape of a class, norm at, below or far above C.
struct Honest {
  explicit Honest(std::mt19937& random) {
    const double size = std::exp(std::uniform_real_distribution<double>(0, std::log(8000))(random));
    update.resize(1 + static_cast<size_t>(size));
    if (random() % 64 == 0) update.resize(8000);
    std::normal_distribution<float> normal;
    const uint32_t shape = random() % 4;
    for (float& value : update) {
      value = shape == 0 ? 1.0f : normal(random);
      if (shape == 2) value = value * value * value * value * value;
    }
    if (shape == 3) update[random() % update.size()] = 1e4f;
    unit = std::ldexp(1.0f + static_cast<float>(random() >> 9) / 8388608.0f,
                      static_cast<int>(random() % 20) - 16);
    // Every eighth has a ball that is larger than the box.
    const bool is_beyond_box = random() % 8 == 0;
    std::uniform_real_distribution<double> exponents(is_beyond_box ? 6.9 : -6.0,
                                                     is_beyond_box ? 13.9 : 6.9);
    clip_l2 = std::min(unit * static_cast<float>(std::exp(exponents(random))),
                       unit * (is_beyond_box ? kMaxClipInScales : kMaxClipInBox));
    double square = 0;
    for (const float value : update) square += static_cast<double>(value) * value;
    const float factors[] = {1.0f, 1.0f, 1.0f + 0x1p-20f, 1.0f - 0x1p-20f, 50.0f, 0.3f};
    const auto factor = static_cast<double>(factors[random() % 6]) * static_cast<double>(clip_l2) /
                        std::sqrt(square);
    for (float& value : update) value = static_cast<float>(value * factor);
    extra_q20 = random() % 2 == 0 ? 0 : 1 + static_cast<int32_t>(random() % (1u << 24));
    if (random() % 2 == 0) extra_q20 = -extra_q20;
    format.coding = random() % 2 == 0 ? Coding::kFixed : Coding::kRange;
    format.dither = random() % 8 == 0 ? DitherKind::kUniform : DitherKind::kGaussian;
    format.padding = random() % 2 == 0 ? 0 : kDefaultPadding;
    // What a task without privacy asks for: the format's largest value is then the bound.
    if (format.dither == DitherKind::kUniform) unit = clip_l2 / 1024.0f;
  }

  size_t coordinates() const { return update.size() + (extra_q20 == 0 ? 0 : 1); }

  std::vector<float> update;
  float unit = 1.0f;
  float clip_l2 = 1.0f;
  int32_t extra_q20 = 0;
  UpdateFormat format;
};

// Lemmas 2 and 3, with and without clamped coordinates: 6,000 updates, most of them of norm C up to
// the rounding of float32.
TEST(UpdateBound, NoHonestUpdateIsRefused) {
  std::mt19937 random(3);
  int at_the_bound = 0;
  for (uint32_t trial = 0; trial < Trials(6000u); ++trial) {
    const Honest device(random);
    UpdateScale scale;
    const std::vector<uint8_t> bytes =
        Encode(DeviceKey(trial), device.format, device.update, device.clip_l2, device.unit,
               device.extra_q20, &scale);
    const UpdateBound bound = BoundOf(device.clip_l2, device.unit, device.extra_q20);
    Wide squares;
    for (const float value : device.update) {
      const auto v = static_cast<int64_t>(ScaleToQ20(value, scale));
      squares.Add(static_cast<uint64_t>(v * v));
    }
    ASSERT_TRUE(IsAtMost(squares, bound.max_squares_q40)) << trial;
    ASSERT_EQ(Decode(DeviceKey(trial), device.format, bytes, device.coordinates(), &bound),
              Status::kOk)
        << trial;
    at_the_bound += Value(squares) > 0.999 * Value(bound.max_squares_q40);
  }
  EXPECT_GT(at_the_bound, Trials(2000)) << "the bound is met";
}

// One coordinate under the bound of its value. With the least bound that accepts it the distance is
// the bound, so one less refuses it.
TEST(UpdateBound, OneUnitLessRefuses) {
  const std::vector<float> update = {300.0f};
  UpdateScale scale;
  const std::vector<uint8_t> bytes = Encode(
      DeviceKey(5), {Coding::kRange, DitherKind::kGaussian, 0}, update, 1000.0f, 1.0f, 0, &scale);
  UpdateBound bound;
  uint64_t low = 0;
  uint64_t high = uint64_t{1} << 60;
  while (low < high) {  // the least squared distance that is accepted
    bound.max_squares_q40.low = low + (high - low) / 2;
    const bool accepted = Decode(DeviceKey(5), {Coding::kRange, DitherKind::kGaussian, 0}, bytes, 1,
                                 &bound) == Status::kOk;
    if (accepted) {
      high = bound.max_squares_q40.low;
    } else {
      low = bound.max_squares_q40.low + 1;
    }
  }
  const double distance = std::sqrt(static_cast<double>(low)) / 1048576;
  EXPECT_LE(distance, 300.0);
  EXPECT_GT(distance, 300.0 - 11.8) << "within the largest step";
}

// A ball of 4,096 scales reaches 4 times as far as the box. So 15 clamped coordinates are within
// it, and the cells of 17 of them are not.
TEST(UpdateBound, HoldsForUpdatesThatTheBoxClamps) {
  for (const Coding coding : {Coding::kFixed, Coding::kRange}) {
    const UpdateFormat format = {coding, DitherKind::kGaussian, 0};
    const UpdateBound bound = BoundOf(4096.0f, 1.0f);
    for (const size_t size : {1u, 2u, 15u, 17u, 100u}) {
      std::vector<float> update(size, 1e6f);
      update[0] = -1e6f;
      UpdateScale scale;
      const std::vector<uint8_t> honest =
          Encode(DeviceKey(8), format, update, 4096.0f, 1.0f, 0, &scale);
      EXPECT_EQ(ScaleToQ20(update[0], scale) == -kMaxValueQ20, size < 16u);
      EXPECT_EQ(Decode(DeviceKey(8), format, honest, size, &bound), Status::kOk);
      // Without the sender's bound every coordinate is at the end of the box.
      const std::vector<uint8_t> cheating =
          Encode(DeviceKey(8), format, update, kMaxClipInScales, 1.0f, 0, &scale);
      EXPECT_EQ(scale.max_value_q20, kMaxValueQ20);
      EXPECT_EQ(Decode(DeviceKey(8), format, cheating, size, &bound),
                size < 17u ? Status::kOk : Status::kOutOfRange);
    }
  }
}

// An update 36 times as long as the bound allows, and updates of the format's largest values: 1024
// sqrt(d) scales. All decode; none passes.
TEST(UpdateBound, UpdatesBeyondTheBoundAreRefused) {
  for (const Coding coding : {Coding::kFixed, Coding::kRange}) {
    const UpdateFormat format = {coding, DitherKind::kGaussian, 64};
    for (const float value : {5.0f, 1024.0f, -1024.0f}) {
      const std::vector<float> update(2000, value);
      UpdateScale scale;
      // The encoder of a device that ignores its task.
      const std::vector<uint8_t> bytes =
          Encode(DeviceKey(6), format, update, 1048576.0f, 1.0f, 0, &scale);
      const UpdateBound bound = BoundOf(6.17f, 1.0f);
      EXPECT_EQ(Decode(DeviceKey(6), format, bytes, update.size(), nullptr), Status::kOk);
      EXPECT_EQ(Decode(DeviceKey(6), format, bytes, update.size(), &bound), Status::kOutOfRange);
    }
  }
}

TEST(UpdateBound, TheExtraCoordinateHasOneOfItsTwoValues) {
  constexpr int32_t kBit = 3 << 20;
  const UpdateFormat format = {Coding::kRange, DitherKind::kGaussian, 0};
  const UpdateBound bound = BoundOf(1.0f, 1.0f, kBit);
  for (const size_t size : {1u, 63u, 64u, 65u, 300u}) {
    const std::vector<float> update(size, 0.5f / static_cast<float>(size));
    UpdateScale scale;
    for (uint32_t key = 0; key < 20; ++key) {
      for (const int32_t bit : {kBit, -kBit}) {
        const auto bytes = Encode(DeviceKey(key), format, update, 1.0f, 1.0f, bit, &scale);
        EXPECT_EQ(Decode(DeviceKey(key), format, bytes, size + 1, &bound), Status::kOk);
      }
      // A cell is at most 11.8 wide, so no value beyond 15 shares one with 3.
      for (const int32_t bit : {kMaxValueQ20, -kMaxValueQ20, 15 << 20, -(15 << 20)}) {
        const auto bytes = Encode(DeviceKey(key), format, update, 1.0f, 1.0f, bit, &scale);
        EXPECT_EQ(Decode(DeviceKey(key), format, bytes, size + 1, &bound), Status::kOutOfRange);
      }
    }
  }
}

// Behind a clip bit and without one.
TEST(UpdateBound, TheAccuracyHasAValueBetweenItsEnds) {
  constexpr int32_t kBit = 2 << 20;
  constexpr int32_t kEnd = 5 << 20;
  const UpdateFormat format = {Coding::kRange, DitherKind::kGaussian, 0};
  for (const size_t size : {1u, 62u, 63u, 64u, 300u}) {
    const std::vector<float> update(size, 0.5f / static_cast<float>(size));
    for (uint32_t key = 0; key < 40; ++key) {
      UpdateBound bound = BoundOf(1.0f, 1.0f, key % 2 == 0 ? kBit : 0);
      bound.accuracy_q20 = kEnd;
      const auto verdict = [&](int32_t accuracy) {
        ExtraCoordinates extras = WithClipBit(static_cast<int32_t>(bound.clip_bit_q20));
        extras.Add(accuracy);
        UpdateScale scale;
        const auto bytes = Encode(DeviceKey(key), format, update, 1.0f, 1.0f, extras, &scale);
        return Decode(DeviceKey(key), format, bytes, size + extras.count(), &bound);
      };
      for (const int32_t v : {-kEnd, -kEnd / 3, 0, 1, kEnd / 2, kEnd}) {
        EXPECT_EQ(verdict(v), Status::kOk) << v;
      }
      // A cell is at most 11.8 wide, so no value beyond 17 shares one with 5.
      for (const int32_t v : {kMaxValueQ20, -kMaxValueQ20, 17 << 20, -(17 << 20)}) {
        EXPECT_EQ(verdict(v), Status::kOutOfRange) << v;
      }
    }
  }
}

// Malformed bytes stay malformed, whatever their norm.
TEST(UpdateBound, MalformedComesFirst) {
  const UpdateFormat format = {Coding::kFixed, DitherKind::kGaussian, 0};
  const std::vector<float> update(100, 1000.0f);
  UpdateScale scale;
  std::vector<uint8_t> bytes = Encode(DeviceKey(7), format, update, 1048576.0f, 1.0f, 0, &scale);
  const UpdateBound bound = BoundOf(1.0f, 1.0f);
  EXPECT_EQ(Decode(DeviceKey(7), format, bytes, update.size(), &bound), Status::kOutOfRange);
  bytes.push_back(0);
  EXPECT_EQ(Decode(DeviceKey(7), format, bytes, update.size(), &bound), Status::kMalformed);
}

}  // namespace
}  // namespace sotto
