// SOTTO_FRAMES is the largest frame, in bytes. With a radio of yours SendFrame() and ReceiveFrame()
// are its calls, and serial_frames.h is not needed.
#include "link_pipe.h"
#include "sotto/bytes.h"
#include "sotto/frame_link.h"
#include "sotto/mps2/uart.h"
#include "sotto/serial_frames.h"

namespace sotto {
namespace {

constexpr uint8_t kFrameSize = SOTTO_FRAMES;

// All that may arrive at once lies in the UART's buffer while the board computes.
constexpr uint8_t kWindow = kFrameSize <= 56 ? 16 : 4;
static_assert(kWindow * (kFrameSize + kSerialOverhead) <= mps2::kUartBuffer, "a turn of frames");

constexpr uint32_t kCloseMs = 2000;

FrameLinkConfig Config() {
  FrameLinkConfig config;
  config.max_frame = kFrameSize;
  config.window = kWindow;
  config.first_pause_ms = 200;
  config.longest_pause_ms = 2000;
  return config;
}

uint8_t link_memory[FrameLinkBytes(kFrameSize, kWindow)];
uint8_t reader_memory[kFrameSize + kSerialOverhead];
FrameLink link(Config(), link_memory);
SerialFrameReader reader(reader_memory);

int SendFrame(void*, const uint8_t* frame, size_t size) {
  uint8_t bytes[kFrameSize + kSerialOverhead];
  const ByteSpan all = {bytes, EncodeSerialFrame({frame, size}, bytes)};
  for (size_t sent = 0; sent < all.size();) {
    sent += static_cast<size_t>(mps2::UartSend(all.subspan(sent)));
  }
  return 0;
}

// True if a whole frame has arrived.
bool TakeBytes() {
  uint8_t byte = 0;
  int got = 0;
  while ((got = mps2::UartReceive({&byte, 1})) == 1) {
    if (reader.Feed(byte)) return true;
  }
  if (got < 0) {  // the UART has lost bytes: the link repairs that
    mps2::UartDiscard();
    reader.Reset();
  }
  return false;
}

// UartWait() returns after a millisecond at most.
int ReceiveFrame(void*, uint8_t* out, size_t size, uint32_t timeout_ms) {
  for (uint32_t waited_ms = 0; !TakeBytes(); ++waited_ms) {
    if (waited_ms >= timeout_ms) return 0;
    mps2::UartWait();
  }
  const ByteSpan frame = reader.frame();
  if (frame.size() > size) return 0;
  __builtin_memcpy(out, frame.data(), frame.size());
  return static_cast<int>(frame.size());
}

constexpr FrameIo kUart = {SendFrame, ReceiveFrame, nullptr};

}  // namespace

Status OpenPipe(const Port& port) {
  uint8_t nonce[4] = {};
  if (Status s = port.entropy(port.context, MutableByteSpan(nonce)); s != Status::kOk) return s;
  mps2::UartDiscard();
  reader.Reset();
  return link.Open(LoadU32Le(nonce), port.now_ms(port.context));
}

int PipeSend(ByteSpan bytes) { return link.Send(bytes.data(), bytes.size()); }

int PipeReceive(MutableByteSpan out) { return link.Receive(out.data(), out.size()); }

// Of a lost connection PipeReceive() tells.
void PipeWait(const Port& port, bool) { (void)MoveFrames(&link, kUart, port, 5); }

void ClosePipe(const Port& port) {
  const uint64_t begin_ms = port.now_ms(port.context);
  link.Close();
  while (link.state() == FrameLink::State::kClosing &&
         port.now_ms(port.context) - begin_ms < kCloseMs) {
    if (MoveFrames(&link, kUart, port, 5) != Status::kOk) return;
  }
}

}  // namespace sotto
