#include "aggregate/keystream.h"

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

TEST(FastKeystream, DecodesToTheSameValues) {
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
      std::vector<int32_t> fast(update.size());
      std::vector<int32_t> plain(update.size());
      const ByteSpan encoded(bytes.data(), size);
      ASSERT_EQ(DecodeUpdate(TestKey(), format, encoded, {fast.data(), fast.size()}, FastKeystream),
                Status::kOk);
      ASSERT_EQ(DecodeUpdate(TestKey(), format, encoded, {plain.data(), plain.size()}),
                Status::kOk);
      EXPECT_EQ(fast, plain);
    }
  }
}

}  // namespace
}  // namespace sotto::server
