// Frames on a stream of bytes that may lose or change some: a UART, RS-485, a pseudo terminal.
// Part of sotto/frames. server/PROTOCOL.md, "Links of small frames", has the bytes.
//
// A frame travels with a CRC of 16 bits, in Consistent Overhead Byte Stuffing (S. Cheshire and
// M. Baker, 1999), so the byte 0 stands at its end and nowhere else. That is four bytes more. A
// reader that has lost bytes finds the next frame behind the next 0; what was damaged is dropped,
// but for one damaged frame in 65,536. One thread at a time.
#pragma once

#include "sotto/frame_link.h"

namespace sotto {

constexpr size_t kSerialOverhead = 4;
constexpr size_t kLargestSerialFrame = kLargestFrame + kSerialOverhead;

// Encodes a frame of 1 to kLargestFrame bytes.
//   out  [frame.size() + kSerialOverhead]; must not overlap the frame
// Returns the number of bytes, frame.size() + kSerialOverhead.
size_t EncodeSerialFrame(ByteSpan frame, uint8_t* out);

class SerialFrameReader {
 public:
  //   memory  [kLargestSerialFrame], or max_frame + kSerialOverhead if longer frames may be dropped
  explicit SerialFrameReader(MutableByteSpan memory) : memory_(memory) {}

  // The next byte of the stream. Returns true if a whole frame ends with it, undamaged.
  bool Feed(uint8_t byte);

  // That frame, until the next Feed().
  ByteSpan frame() const { return {memory_.data() + 1, size_}; }

  // Bytes are missing: forget what has begun.
  void Reset() { *this = SerialFrameReader(memory_); }

 private:
  bool Decode();

  MutableByteSpan memory_;
  size_t filled_ = 0;
  bool is_too_long_ = false;
  size_t size_ = 0;  // of the last frame
};

}  // namespace sotto
