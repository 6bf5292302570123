#include <cstring>

#include "sotto/serial_frames.h"
#include "sotto/template/port.h"

namespace sotto::board {
namespace {

// Bytes that nobody has taken after this time belong to a lost frame.
constexpr uint32_t kStuckMs = 1000;

uint64_t NowMs() { return SystemPort().now_ms(nullptr); }

int SendFrame(void*, const uint8_t* frame, size_t size) {
  uint8_t bytes[kLargestSerialFrame];
  const size_t total = EncodeSerialFrame({frame, size}, bytes);
  const TlsIo uart = Link();
  const uint64_t begin_ms = NowMs();
  for (size_t sent = 0; sent < total && NowMs() - begin_ms < kStuckMs;) {
    const int count = uart.send(nullptr, bytes + sent, total - sent);
    if (count < 0) return -1;
    sent += static_cast<size_t>(count);
  }
  return 0;
}

// True if a whole frame has arrived. Bytes that the UART has lost cost a frame, not the link.
bool TakeBytes(SerialFrameReader* reader) {
  uint8_t byte = 0;
  int got = 0;
  while ((got = Link().recv(nullptr, &byte, 1)) == 1) {
    if (reader->Feed(byte)) return true;
  }
  if (got < 0) {
    RestartLink();
    reader->Reset();
  }
  return false;
}

// Your board sleeps in this loop until an interrupt.
int ReceiveFrame(void*, uint8_t* out, size_t size, uint32_t timeout_ms) {
  static uint8_t memory[kLargestSerialFrame];
  static SerialFrameReader reader(memory);
  const uint64_t begin_ms = NowMs();
  while (!TakeBytes(&reader)) {
    if (NowMs() - begin_ms >= timeout_ms) return 0;
  }
  const ByteSpan frame = reader.frame();
  if (frame.size() > size) return 0;
  std::memcpy(out, frame.data(), frame.size());
  return static_cast<int>(frame.size());
}

}  // namespace

FrameIo Frames() { return {SendFrame, ReceiveFrame, nullptr}; }

}  // namespace sotto::board
