// Tests of the fast dither engine: it computes the same bits as the SDK's engine.
#include "aggregate/dither_engine.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "sotto/update_codec.h"

namespace sotto::server {
namespace {

Key TestKey() {
  Key key;
  for (size_t i = 0; i < kKeySize; ++i) key.bytes[i] = static_cast<uint8_t>(7 * i + 1);
  return key;
}

TEST(FastKeystream, IsTheSdksBitForBit) {
  for (const uint32_t stream : {0u, 2u, 0xffffffffu}) {
    for (const uint32_t first_block : {0u, 5u, 0x00fffffeu}) {
      for (size_t size = 1; size <= 1100; ++size) {
        std::vector<uint8_t> fast(size, 0xaa);
        std::vector<uint8_t> plain(size, 0x55);
        ASSERT_EQ(FastKeystream(TestKey(), stream, first_block, {fast.data(), size}), Status::kOk);
        ASSERT_EQ(ChaCha20Keystream(TestKey(), stream, first_block, {plain.data(), size}),
                  Status::kOk);
        ASSERT_EQ(fast, plain) << stream << " " << first_block << " " << size;
      }
    }
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

// Every piece of every table is met, and every length a batch can have.
TEST(Avx2Cells, AreTheSdksBitForBit) {
  const DitherEngine::CellsFunction cells_in_avx2 = Avx2Cells();
  if (cells_in_avx2 == nullptr) GTEST_SKIP() << "this processor has no AVX2";
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
    cells_in_avx2({words, count}, {found, count});
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(found[i].step_q27, expected[i].step_q27) << std::hex << words[i];
      ASSERT_EQ(found[i].left_q27, expected[i].left_q27) << std::hex << words[i];
      ASSERT_EQ(found[i].offset_q27, expected[i].offset_q27) << std::hex << words[i];
      ASSERT_EQ(found[i].remainder, expected[i].remainder) << std::hex << words[i];
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
