// The frame reader finds the frames of any stream, and writes nothing beyond its buffer.
#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include "sotto/bytes.h"
#include "sotto/wire.h"
#include "unit/sdk/hex.h"
#include "unit/sdk/wire_messages.h"

namespace sotto {
namespace {

TEST(FrameReader, FramesAreFoundHoweverTheStreamIsCut) {
  std::vector<uint8_t> stream = Frame(HelloAtItsLimits(), kMinMaxFrame);
  const std::vector<uint8_t> second = Frame(ChunkOf(kMinMaxFrame), kMinMaxFrame);
  const size_t first_size = stream.size();
  stream.insert(stream.end(), second.begin(), second.end());
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    std::vector<uint8_t> buffer(kMinMaxFrame);
    FrameReader reader({buffer.data(), buffer.size()});
    std::vector<std::vector<uint8_t>> bodies;
    for (size_t at = 0; at < stream.size();) {
      size_t taken = 0;
      const size_t size = std::min(piece, stream.size() - at);
      ASSERT_EQ(reader.Feed(View(stream).subspan(at, size), &taken), Status::kOk);
      at += taken;
      if (!reader.complete()) continue;
      EXPECT_TRUE(reader.missing().empty());
      bodies.emplace_back(reader.body().begin(), reader.body().end());
      reader.Next();
    }
    ASSERT_EQ(bodies.size(), 2u);
    EXPECT_EQ(bodies[0].size(), first_size - kFrameHeaderSize);
    EXPECT_EQ(bodies[1], BodyOf(second));
  }
}

TEST(FrameReader, BytesCanBeReceivedInPlace) {
  const std::vector<uint8_t> frame = Frame(HelloAtItsLimits());
  std::vector<uint8_t> buffer(kMinMaxFrame);
  FrameReader reader({buffer.data(), buffer.size()});
  size_t at = 0;
  while (!reader.complete()) {
    const MutableByteSpan space = reader.missing();
    ASSERT_FALSE(space.empty());
    EXPECT_EQ(reader.Received(space.size() + 1), Status::kInvalidArgument);
    std::copy_n(frame.begin() + static_cast<std::ptrdiff_t>(at), space.size(), space.begin());
    at += space.size();
    ASSERT_EQ(reader.Received(space.size()), Status::kOk);
  }
  EXPECT_EQ(at, frame.size());
  EXPECT_TRUE(Equal(reader.body(), Body(frame)));
}

TEST(FrameReader, AnEmptyOrOversizedFrameIsMalformed) {
  for (const char* header : {"0000", "0101", "ffff"}) {
    std::vector<uint8_t> buffer(256);
    FrameReader reader({buffer.data(), buffer.size()});
    std::vector<uint8_t> bytes = FromHex(header);
    bytes.push_back(1);
    size_t taken = 0;
    EXPECT_EQ(reader.Feed(View(bytes), &taken), Status::kMalformed) << header;
    EXPECT_FALSE(reader.complete());
    EXPECT_TRUE(reader.missing().empty());
    EXPECT_EQ(reader.Feed(View(bytes), &taken), Status::kMalformed) << "it stays so";
    EXPECT_EQ(reader.Received(0), Status::kMalformed);
  }
  std::vector<uint8_t> buffer(256);
  FrameReader reader({buffer.data(), buffer.size()});
  size_t taken = 0;
  EXPECT_EQ(reader.Feed(View(FromHex("0001")), &taken), Status::kOk) << "256 is the largest";
  EXPECT_EQ(reader.missing().size(), 256u);
}

}  // namespace
}  // namespace sotto
