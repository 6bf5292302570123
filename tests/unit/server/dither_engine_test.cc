// Tests of the fast dither engine: it computes the same bits as the SDK's engine.
#include "aggregate/dither_engine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "sotto/bytes.h"
#include "sotto/quantizer.h"
#include "sotto/update_codec.h"

namespace sotto::server {
namespace {

Key TestKey() {
  Key key;
  for (size_t i = 0; i < kKeySize; ++i) key.bytes[i] = static_cast<uint8_t>(7 * i + 1);
  return key;
}

void ExpectKeystreamIsTheSdks(KeystreamFunction keystream) {
  for (const uint32_t stream : {0u, 2u, 0xffffffffu}) {
    for (const uint32_t first_block : {0u, 5u, 0x00fffffeu}) {
      for (size_t size = 1; size <= 1100; ++size) {
        std::vector<uint8_t> fast(size, 0xaa);
        std::vector<uint8_t> plain(size, 0x55);
        ASSERT_EQ(keystream(TestKey(), stream, first_block, {fast.data(), size}), Status::kOk);
        ASSERT_EQ(ChaCha20Keystream(TestKey(), stream, first_block, {plain.data(), size}),
                  Status::kOk);
        ASSERT_EQ(fast, plain) << stream << " " << first_block << " " << size;
      }
    }
  }
}

TEST(FastKeystream, IsTheSdksBitForBit) { ExpectKeystreamIsTheSdks(FastKeystream); }
TEST(LanesKeystream, IsTheSdksBitForBit) { ExpectKeystreamIsTheSdks(LanesKeystream); }

TEST(Engines, HaveTheSdksKeystream) {
  for (const DecodeEngine& engine : Engines()) ExpectKeystreamIsTheSdks(engine.keystream);
}

void ExpectScatteredWordsAreTheKeystreams(DecodeEngine::ScatteredFunction scattered) {
  std::mt19937 random(4);
  for (size_t count = 1; count <= 40; ++count) {
    std::vector<uint32_t> indices(count);
    for (uint32_t& index : indices) index = static_cast<uint32_t>(random() >> random() % 32);
    std::vector<uint64_t> words(count);
    const auto stream = static_cast<uint32_t>(count % 3);
    ASSERT_EQ(scattered(TestKey(), stream, {indices.data(), count}, {words.data(), count}),
              Status::kOk);
    for (size_t k = 0; k < count; ++k) {
      uint8_t block[kChaChaBlockSize];
      ASSERT_EQ(ChaCha20Keystream(TestKey(), stream, indices[k] / 8, MutableByteSpan(block)),
                Status::kOk);
      EXPECT_EQ(words[k], LoadU64Le(block + 8 * (indices[k] % 8))) << indices[k];
    }
  }
}

TEST(Engines, ReadScatteredWordsOfTheSdksKeystream) {
  for (const DecodeEngine& engine : Engines()) {
    if (engine.scattered != nullptr) ExpectScatteredWordsAreTheKeystreams(engine.scattered);
  }
}

TEST(FastEngine, CodesTheSameBytesAndValues) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0f, 0.3f);
  std::vector<float> update(5001);
  for (float& value : update) value = normal(random);
  for (const Coding coding : {Coding::kFixed, Coding::kRange}) {
    for (const DitherKind kind : {DitherKind::kGaussian, DitherKind::kUniform}) {
      const UpdateFormat format = {coding, kind, 0};
      UpdateEncoder encoder;
      ASSERT_EQ(encoder.Begin(TestKey(), format, {update.data(), update.size()}, 100.0f, 1.0f),
                Status::kOk);
      std::vector<uint8_t> bytes(MaxUpdateSize(static_cast<uint32_t>(update.size()), format));
      size_t size = 0;
      ASSERT_EQ(encoder.Read({bytes.data(), bytes.size()}, &size), Status::kOk);

      uint64_t words[kMaxDitherBatch];
      UpdateEncoder fast_encoder(FastEngine(), words);
      ASSERT_EQ(fast_encoder.Begin(TestKey(), format, {update.data(), update.size()}, 100.0f, 1.0f),
                Status::kOk);
      std::vector<uint8_t> fast_bytes(bytes.size());
      size_t fast_size = 0;
      ASSERT_EQ(fast_encoder.Read({fast_bytes.data(), fast_bytes.size()}, &fast_size), Status::kOk);
      ASSERT_EQ(fast_size, size);
      EXPECT_EQ(fast_bytes, bytes);

      std::vector<int32_t> fast(update.size());
      std::vector<int32_t> plain(update.size());
      const ByteSpan encoded(bytes.data(), size);
      ASSERT_EQ(DecodeUpdate(TestKey(), format, encoded, {fast.data(), fast.size()}, FastEngine()),
                Status::kOk);
      ASSERT_EQ(DecodeUpdate(TestKey(), format, encoded, {plain.data(), plain.size()}),
                Status::kOk);
      EXPECT_EQ(fast, plain);

      // The sum of squared distances: the least bound that accepts, by both engines.
      uint64_t low = 0;
      uint64_t high = uint64_t{1} << 60;
      while (low < high) {
        UpdateBound bound;
        bound.max_squares_q40.low = low + (high - low) / 2;
        const Status verdict = DecodeUpdate(TestKey(), format, encoded, {fast.data(), fast.size()},
                                            FastEngine(), &bound);
        ASSERT_EQ(
            DecodeUpdate(TestKey(), format, encoded, {plain.data(), plain.size()}, {}, &bound),
            verdict);
        if (verdict == Status::kOk) {
          high = bound.max_squares_q40.low;
        } else {
          low = bound.max_squares_q40.low + 1;
        }
      }
      EXPECT_GT(low, 0u);
    }
  }
}

// What a decoder says of some bytes.
struct Decoded {
  Status status;
  std::vector<int32_t> noisy;  // empty unless the bytes are well formed
};

Decoded Decode(const UpdateFormat& format, ByteSpan bytes, size_t coordinates,
               const DecodeEngine& engine, const UpdateBound* bound) {
  Decoded decoded;
  decoded.noisy.resize(coordinates);
  decoded.status = DecodeUpdate(TestKey(), format, bytes,
                                {decoded.noisy.data(), decoded.noisy.size()}, engine, bound);
  if (decoded.status != Status::kOk && decoded.status != Status::kOutOfRange) decoded.noisy.clear();
  return decoded;
}

// Values from far below the noise to far above it, in every length of a last batch, sound and
// damaged.
TEST(Engines, DecodeAndRefuseTheSameBytes) {
  std::mt19937 random(3);
  int refused = 0;
  for (int round = 0; round < 600; ++round) {
    const UpdateFormat format = {round % 2 == 0 ? Coding::kRange : Coding::kFixed,
                                 round % 5 == 0 ? DitherKind::kUniform : DitherKind::kGaussian, 0};
    std::normal_distribution<float> normal(0.0f, std::ldexp(1.0f, round % 14 - 5));
    std::vector<float> update(1 + random() % 1200);
    double squares = 0;
    for (float& value : update) {
      value = normal(random);
      squares += static_cast<double>(value) * value;
    }
    UpdateEncoder encoder;
    ASSERT_EQ(encoder.Begin(TestKey(), format, {update.data(), update.size()}, 1e5f, 1.0f),
              Status::kOk);
    std::vector<uint8_t> bytes(MaxUpdateSize(static_cast<uint32_t>(update.size()), format));
    size_t size = 0;
    ASSERT_EQ(encoder.Read({bytes.data(), bytes.size()}, &size), Status::kOk);
    if (round % 3 == 1) bytes[random() % size] ^= static_cast<uint8_t>(1u << random() % 8);
    if (round % 3 == 2) size = 1 + random() % size;
    UpdateBound bound;
    bound.max_squares_q40.low = static_cast<uint64_t>(std::min(squares, 1e7) * 0x1p40 / 2);
    const UpdateBound* used = round % 7 == 0 ? nullptr : &bound;
    const ByteSpan encoded(bytes.data(), size);
    const Decoded plain = Decode(format, encoded, update.size(), {}, used);
    refused += plain.status == Status::kOk ? 0 : 1;
    for (const DecodeEngine& engine : Engines()) {
      const Decoded fast = Decode(format, encoded, update.size(), engine, used);
      ASSERT_EQ(fast.status, plain.status) << round;
      ASSERT_EQ(fast.noisy, plain.noisy) << round;
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_LT(refused, 500);
}

// Every piece of every table is met, and every length a batch can have.
void ExpectCellsAreTheSdks(DitherEngine::CellsFunction fast_cells) {
  std::mt19937_64 random(2);
  uint64_t words[kMaxDitherBatch];
  for (int batch = 0; batch < 40000; ++batch) {
    const size_t count = 1 + static_cast<size_t>(batch) % kMaxDitherBatch;
    for (size_t i = 0; i < count; ++i) {
      // The layer's first one, or zero, is in any of the places that are not extended.
      const uint64_t layer = (random() | uint64_t{1} << 63) >> (1 + random() % 7);
      const uint64_t mirrored = random() % 2 != 0 ? layer : ~layer & (UINT64_MAX >> 1);
      words[i] = mirrored | (random() & uint64_t{1} << 63);
      if (Dither::IsExtended(words[i])) words[i] ^= uint64_t{1} << 55;
      ASSERT_FALSE(Dither::IsExtended(words[i]));
    }
    DitherCell expected[kMaxDitherBatch];
    DitherCell found[kMaxDitherBatch];
    lrq::ComputeCells({words, count}, {expected, count});
    fast_cells({words, count}, {found, count});
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(found[i].step_q27, expected[i].step_q27) << std::hex << words[i];
      ASSERT_EQ(found[i].left_q27, expected[i].left_q27) << std::hex << words[i];
      ASSERT_EQ(found[i].offset_q27, expected[i].offset_q27) << std::hex << words[i];
      ASSERT_EQ(found[i].remainder, expected[i].remainder) << std::hex << words[i];
    }
  }
}

TEST(Engines, ComputeTheSdksCells) {
  for (const DecodeEngine& engine : Engines()) {
    if (engine.cells != nullptr) ExpectCellsAreTheSdks(engine.cells);
  }
}

TEST(Engines, TheLastIsTheFastest) {
  EXPECT_EQ(Engines().size(), 1u + (HasAvx2() ? 1 : 0) + (HasAvx512() ? 1 : 0));
  EXPECT_EQ(FastEngine().cells, Engines().back().cells);
}

// Cells of a dither, and integers of which most are near zero.
struct Coordinates {
  Coordinates(DitherKind kind, uint8_t number) : dither(KeyOf(number), kind) {
    for (uint32_t first = 0; first < kDecodeBatch; first += kMaxDitherBatch) {
      const Span<uint64_t> part(words + first, kMaxDitherBatch);
      EXPECT_EQ(dither.Generate(first, part), Status::kOk);
      EXPECT_EQ(dither.SelectAll(first, part, {cells + first, kMaxDitherBatch}), Status::kOk);
    }
    // Offsets of zero, and of the largest remainders.
    cells[1].offset_q27 = 0;
    cells[2].offset_q27 = 0;
    cells[2].remainder = 0;
    cells[3].remainder = kDitherMask;
    std::mt19937 random(number);
    for (int32_t& m : integers) {
      m = static_cast<int32_t>(random() % 6000 >> random() % 13) * (random() % 2 != 0 ? 1 : -1);
    }
  }
  static Key KeyOf(uint8_t number) {
    Key key = TestKey();
    key.bytes[0] = number;
    return key;
  }

  Dither dither;
  uint64_t words[kDecodeBatch];
  DitherCell cells[kDecodeBatch];
  int32_t integers[kDecodeBatch];
};

struct Found {
  int32_t values[kDecodeBatch] = {};
  uint8_t flags[kDecodeBatch] = {};
  uint8_t more_flags[kDecodeBatch] = {};

  bool operator==(const Found& other) const {
    return std::memcmp(this, &other, sizeof(Found)) == 0;
  }
};

TEST(Engines, RunTheSdksLoops) {
  for (const DecodeEngine& engine : Engines()) {
    if (engine.points == nullptr) continue;
    for (uint8_t number = 0; number < 40; ++number) {
      const DitherKind kind = number % 2 == 0 ? DitherKind::kGaussian : DitherKind::kUniform;
      const Coordinates some(kind, number);
      for (const size_t count : {size_t{1}, size_t{31}, size_t{500}, size_t{kDecodeBatch}}) {
        const Span<const uint64_t> words(some.words, count);
        const Span<const DitherCell> cells(some.cells, count);
        Found fast;
        Found plain;
        engine.points(cells, some.integers, fast.values, fast.flags, fast.more_flags);
        lrq::PointsLoop(cells, some.integers, plain.values, plain.flags, plain.more_flags);
        EXPECT_EQ(fast, plain);
        engine.extended(words, fast.flags);
        lrq::ExtendedLoop(words, plain.flags);
        EXPECT_EQ(fast, plain);
        for (const int32_t bound :
             {0, 1, 900000, kind == DitherKind::kGaussian ? 8600000 : 900001}) {
          engine.least(cells, bound, fast.values, fast.flags);
          lrq::LeastLoop(cells, bound, plain.values, plain.flags);
          EXPECT_EQ(fast, plain);
          engine.above(cells, bound, some.integers, fast.flags);
          lrq::AboveLoop(cells, bound, some.integers, plain.flags);
          EXPECT_EQ(fast, plain);
        }
      }
    }
  }
}

TEST(DecodeLoops, FlagWhatQuantizerAndDitherMustSettle) {
  int settled = 0;
  for (uint8_t number = 0; number < 40; ++number) {
    const DitherKind kind = number % 2 == 0 ? DitherKind::kGaussian : DitherKind::kUniform;
    const Coordinates some(kind, number);
    const int32_t bound = kind == DitherKind::kGaussian ? 8600000 / (1 + number) : 20000 * number;
    Found points;
    lrq::PointsLoop(some.cells, some.integers, points.values, points.flags, points.more_flags);
    Found least;
    lrq::LeastLoop(some.cells, bound, least.values, least.flags);
    Found above;
    lrq::AboveLoop(some.cells, bound, some.integers, above.flags);
    for (uint32_t j = 0; j < kDecodeBatch; ++j) {
      const DitherCell& cell = some.cells[j];
      const int32_t m = some.integers[j];
      int32_t expected = 0;
      ASSERT_EQ(Dequantize(some.dither, j, cell, m, &expected), Status::kOk);
      if (points.flags[j] == 0) {
        ASSERT_EQ(points.values[j], expected);
        ++settled;
      }
      int32_t offset = 0;
      ASSERT_EQ(some.dither.ExactOffset(j, cell, &offset), Status::kOk);
      ASSERT_EQ(DequantizeAt(cell, m, offset), expected);
      Wide squares;
      ASSERT_EQ(AddSquaredDistances(some.dither, j, {&cell, 1}, {&m, 1}, &squares), Status::kOk);
      if (points.more_flags[j] == 0) {
        ASSERT_EQ(squares.low, 0u);
      }
      ASSERT_EQ(Quantize(some.dither, j, cell, -bound, &expected), Status::kOk);
      if (least.flags[j] == 0) {
        ASSERT_EQ(least.values[j], expected);
      }
      ASSERT_EQ(Quantize(some.dither, j, cell, bound, &expected), Status::kOk);
      if (above.flags[j] == 0) {
        ASSERT_LE(m, expected);
      }
    }
  }
  EXPECT_GT(settled, 38 * static_cast<int>(kDecodeBatch));
}

TEST(Engines, FindTheModelsContexts) {
  std::mt19937_64 random(7);
  std::vector<uint64_t> words;
  for (int bits = 0; bits <= kDitherBits; ++bits) {
    for (const int64_t near : {-2, -1, 0, 1, 2}) {
      const uint64_t half = (uint64_t{3} << bits) >> 1;
      words.push_back(((uint64_t{1} << bits) + near) & kDitherMask);
      words.push_back((half + near) & kDitherMask);
      words.push_back(~(half + near) & kDitherMask);
    }
  }
  while (words.size() % kDecodeBatch != 0) words.push_back(random() >> random() % 64);
  for (const DecodeEngine& engine : Engines()) {
    if (engine.contexts == nullptr) continue;
    for (size_t first = 0; first < words.size(); first += kDecodeBatch) {
      uint8_t contexts[kDecodeBatch];
      engine.contexts({words.data() + first, kDecodeBatch}, contexts);
      for (size_t i = 0; i < kDecodeBatch; ++i) {
        ASSERT_EQ(contexts[i], UpdateModel::Context(Dither::Fraction(words[first + i])))
            << std::hex << words[first + i];
      }
    }
  }
}

TEST(FastEngine, SelectsWhatTheSdkSelects) {
  const Dither plain(TestKey(), DitherKind::kGaussian);
  const Dither fast(TestKey(), DitherKind::kGaussian, FastEngine());
  uint64_t words[kMaxDitherBatch];
  for (uint32_t first = 0; first < 200000; first += kMaxDitherBatch) {
    ASSERT_EQ(plain.Generate(first, words), Status::kOk);
    DitherCell found[kMaxDitherBatch];
    ASSERT_EQ(fast.SelectAll(first, words, found), Status::kOk);
    for (uint32_t i = 0; i < kMaxDitherBatch; ++i) {
      DitherCell expected;
      ASSERT_EQ(plain.Select(first + i, words[i], &expected), Status::kOk);
      ASSERT_EQ(std::memcmp(&found[i], &expected, sizeof(expected)), 0) << first + i;
    }
  }
}

}  // namespace
}  // namespace sotto::server
