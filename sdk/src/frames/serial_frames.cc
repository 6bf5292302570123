#include "sotto/serial_frames.h"

namespace sotto {
namespace {

constexpr size_t kCrcSize = 2;
static_assert(kLargestFrame + kCrcSize < 254, "one block of the byte stuffing, so one byte more");

// CRC-16/IBM-3740, also called CCITT-FALSE: polynomial 0x1021, begins with 0xffff.
uint16_t AddToCrc(uint16_t crc, uint8_t byte) {
  crc = static_cast<uint16_t>(crc ^ byte << 8);
  for (int bit = 0; bit < 8; ++bit) {
    crc = static_cast<uint16_t>((crc & 0x8000) != 0 ? crc << 1 ^ 0x1021 : crc << 1);
  }
  return crc;
}

uint16_t Crc(ByteSpan bytes) {
  uint16_t crc = 0xffff;
  for (const uint8_t byte : bytes) crc = AddToCrc(crc, byte);
  return crc;
}

// Replaces each 0 behind bytes[0] by the distance to the next one; bytes[0] begins the chain.
void Stuff(uint8_t* bytes, size_t size) {
  size_t link = 0;
  for (size_t i = 1; i < size; ++i) {
    if (bytes[i] != 0) continue;
    bytes[link] = static_cast<uint8_t>(i - link);
    link = i;
  }
  bytes[link] = static_cast<uint8_t>(size - link);
}

// The reverse; false if the chain does not end at the end.
bool Unstuff(uint8_t* bytes, size_t size) {
  size_t link = 0;
  while (link < size) {
    const size_t next = link + bytes[link];
    bytes[link] = 0;
    link = next;
  }
  return link == size;
}

}  // namespace

size_t EncodeSerialFrame(ByteSpan frame, uint8_t* out) {
  __builtin_memcpy(out + 1, frame.data(), frame.size());
  const uint16_t crc = Crc(frame);
  out[1 + frame.size()] = static_cast<uint8_t>(crc);
  out[2 + frame.size()] = static_cast<uint8_t>(crc >> 8);
  const size_t stuffed = 1 + frame.size() + kCrcSize;
  Stuff(out, stuffed);
  out[stuffed] = 0;
  return stuffed + 1;
}

bool SerialFrameReader::Feed(uint8_t byte) {
  if (byte == 0) {
    const bool is_whole = !is_too_long_ && filled_ > 1 + kCrcSize && Decode();
    filled_ = 0;
    is_too_long_ = false;
    return is_whole;
  }
  if (filled_ < memory_.size()) {
    memory_[filled_++] = byte;
  } else {
    is_too_long_ = true;
  }
  return false;
}

bool SerialFrameReader::Decode() {
  if (!Unstuff(memory_.data(), filled_)) return false;
  size_ = filled_ - 1 - kCrcSize;
  const uint8_t* const crc = memory_.data() + 1 + size_;
  return Crc({memory_.data() + 1, size_}) == (crc[0] | crc[1] << 8);
}

}  // namespace sotto
