// Frames on a stream of bytes come whole and undamaged, or not at all.
#include "sotto/serial_frames.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace sotto {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes Encode(const Bytes& frame) {
  Bytes out(frame.size() + kSerialOverhead);
  EXPECT_EQ(EncodeSerialFrame({frame.data(), frame.size()}, out.data()), out.size());
  return out;
}

// The frames in a stream of bytes.
std::vector<Bytes> Read(const Bytes& stream, size_t memory_size = kLargestSerialFrame) {
  Bytes memory(memory_size);
  SerialFrameReader reader({memory.data(), memory.size()});
  std::vector<Bytes> frames;
  for (const uint8_t byte : stream) {
    if (reader.Feed(byte)) frames.emplace_back(reader.frame().begin(), reader.frame().end());
  }
  return frames;
}

Bytes Random(size_t size, uint32_t values, std::mt19937& random) {
  Bytes bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() % values);
  return bytes;
}

// server/PROTOCOL.md has this example; the check value of the CRC is the catalogue's.
TEST(SerialFrames, TheBytesAreThoseOfTheSpecification) {
  EXPECT_EQ(Encode({'1', '2', '3', '4', '5', '6', '7', '8', '9'}),
            (Bytes{0x0c, '1', '2', '3', '4', '5', '6', '7', '8', '9', 0xb1, 0x29, 0}));
  EXPECT_EQ(Encode({0x11, 0, 0x22}), (Bytes{0x02, 0x11, 0x04, 0x22, 0xef, 0xbc, 0}));
}

TEST(SerialFrames, EveryFrameComesBack) {
  std::mt19937 random(1);
  Bytes stream;
  std::vector<Bytes> frames;
  for (size_t size = 1; size <= kLargestFrame; ++size) {
    for (const uint32_t values : {1u, 2u, 256u}) {
      frames.push_back(Random(size, values, random));
      const Bytes encoded = Encode(frames.back());
      EXPECT_EQ(std::count(encoded.begin(), encoded.end(), 0), 1);
      stream.insert(stream.end(), encoded.begin(), encoded.end());
    }
  }
  EXPECT_EQ(Read(stream), frames);
}

TEST(SerialFrames, ALostOrChangedByteCostsItsFrameOnly) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 2000; ++trial) {
    const Bytes before = Random(1 + random() % 60, 4, random);
    const Bytes damaged = Random(1 + random() % 60, 4, random);
    const Bytes after = Random(1 + random() % 60, 4, random);
    Bytes stream = Encode(before);
    Bytes middle = Encode(damaged);
    const size_t at = random() % (middle.size() - 1);  // not the 0, which would join two frames
    if (random() % 2 == 0) {
      middle.erase(middle.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      middle[at] = static_cast<uint8_t>(middle[at] ^ (1u << random() % 8));
    }
    const Bytes end = Encode(after);
    stream.insert(stream.end(), middle.begin(), middle.end());
    stream.insert(stream.end(), end.begin(), end.end());
    EXPECT_EQ(Read(stream), (std::vector<Bytes>{before, after})) << "trial " << trial;
  }
}

TEST(SerialFrames, WhatIsLongerThanTheMemoryIsDropped) {
  const Bytes longer = Encode(Bytes(65, 7));
  Bytes stream = Encode(Bytes(64, 7));
  stream.insert(stream.end(), longer.begin(), longer.end());
  const Bytes last = Encode({5});
  stream.insert(stream.end(), last.begin(), last.end());
  EXPECT_EQ(Read(stream, 64 + kSerialOverhead - 1), (std::vector<Bytes>{Bytes(64, 7), {5}}));
}

TEST(SerialFrames, NoiseIsNoFrame) {
  std::mt19937 random(3);
  EXPECT_LE(Read(Random(100'000, 256, random)).size(), 1u);  // 390 pieces, one in 65,536 passes
  EXPECT_TRUE(Read(Bytes(1000, 0)).empty());
}

}  // namespace
}  // namespace sotto
