// SOTTO_FRAMES is the largest frame, in bytes. Your radio replaces UartFrames().
#include "link_pipe.h"
#include "sotto/bytes.h"
#include "sotto/emulated/uart.h"
#include "sotto/emulated/uart_frames.h"
#include "sotto/frame_link.h"
#include "sotto/serial_frames.h"

namespace sotto {
namespace {

constexpr uint8_t kFrameSize = SOTTO_FRAMES;

// A whole turn lies in the UART's buffer while the board computes.
constexpr uint8_t kWindow = kFrameSize <= 56 ? 16 : 4;
static_assert(kWindow * (kFrameSize + kSerialOverhead) <= emulated::kUartBuffer,
              "a turn of frames");

constexpr uint32_t kCloseMs = 2000;

FrameLinkConfig Config() {
  FrameLinkConfig config;
  config.max_frame = kFrameSize;
  config.window = kWindow;
  config.first_pause_ms = 200;
  config.longest_pause_ms = 2000;
  return config;
}

uint8_t memory[FrameLinkBytes(kFrameSize, kWindow)];
FrameLink link(Config(), memory);

Status Move(const Port& port) { return MoveFrames(&link, emulated::UartFrames(), port, 5); }

}  // namespace

Status OpenPipe(const Port& port) {
  uint8_t nonce[4] = {};
  const Status status = port.entropy(port.context, MutableByteSpan(nonce));
  if (status != Status::kOk) return status;
  emulated::DiscardUartFrames();
  return link.Open(LoadU32Le(nonce), port.now_ms(port.context));
}

int PipeSend(ByteSpan bytes) { return link.Send(bytes.data(), bytes.size()); }

int PipeReceive(MutableByteSpan out) { return link.Receive(out.data(), out.size()); }

// If the connection is lost, PipeReceive() says so.
void PipeWait(const Port& port, bool) { (void)Move(port); }

void ClosePipe(const Port& port) {
  const uint64_t begin_ms = port.now_ms(port.context);
  link.Close();
  while (link.state() == FrameLink::State::kClosing &&
         port.now_ms(port.context) - begin_ms < kCloseMs) {
    if (Move(port) != Status::kOk) return;
  }
}

}  // namespace sotto
