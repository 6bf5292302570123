#include "sotto/emulated/uart_frames.h"

#include "sotto/emulated/clock.h"
#include "sotto/emulated/uart.h"
#include "sotto/serial_frames.h"

namespace sotto::emulated {
namespace {

uint8_t reader_memory[kLargestSerialFrame];
SerialFrameReader reader(reader_memory);

int SendFrame(void*, const uint8_t* frame, size_t size) {
  uint8_t bytes[kLargestSerialFrame];
  const ByteSpan all = {bytes, EncodeSerialFrame({frame, size}, bytes)};
  for (size_t sent = 0; sent < all.size();) {
    sent += static_cast<size_t>(UartSend(all.subspan(sent)));
  }
  return 0;
}

// True if a whole frame has arrived.
bool TakeBytes() {
  uint8_t byte = 0;
  int got = 0;
  while ((got = UartReceive({&byte, 1})) == 1) {
    if (reader.Feed(byte)) return true;
  }
  if (got < 0) DiscardUartFrames();  // the UART has lost bytes: the link repairs that
  return false;
}

// UartWait() returns after a millisecond at most, or with each byte.
int ReceiveFrame(void*, uint8_t* out, size_t size, uint32_t timeout_ms) {
  const uint64_t begin_ms = NowMs();
  while (!TakeBytes()) {
    if (NowMs() - begin_ms >= timeout_ms) return 0;
    UartWait();
  }
  const ByteSpan frame = reader.frame();
  if (frame.size() > size) return 0;
  __builtin_memcpy(out, frame.data(), frame.size());
  return static_cast<int>(frame.size());
}

}  // namespace

FrameIo UartFrames() { return {SendFrame, ReceiveFrame, nullptr}; }

void DiscardUartFrames() {
  UartDiscard();
  reader.Reset();
}

}  // namespace sotto::emulated
