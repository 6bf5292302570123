// What a frame link takes, to be measured; table.sh builds it. The program returns each byte of its
// UART; SOTTO_FRAMES is the largest frame, 0: bytes without frames.
#include "sotto/emulated/clock.h"
#include "sotto/emulated/uart.h"
#include "sotto/emulated/uart_frames.h"
#include "sotto/frame_link.h"

namespace sotto {
namespace {

uint64_t NowMs(void*) { return emulated::NowMs(); }

#if SOTTO_FRAMES
uint8_t memory[FrameLinkBytes(SOTTO_FRAMES, SOTTO_WINDOW)];

FrameLinkConfig Config() {
  FrameLinkConfig config;
  config.max_frame = SOTTO_FRAMES;
  config.window = SOTTO_WINDOW;
  return config;
}

void Echo(const Port& port, MutableByteSpan bytes) {
  static FrameLink link(Config(), memory);
  if (link.Open(1, port.now_ms(port.context)) != Status::kOk) return;
  while (MoveFrames(&link, emulated::UartFrames(), port, 10) == Status::kOk) {
    const int got = link.Receive(bytes.data(), bytes.size());
    if (got > 0 && link.Send(bytes.data(), static_cast<size_t>(got)) < 0) return;
  }
}
#else
void Echo(const Port& port, MutableByteSpan bytes) {
  while (port.now_ms(port.context) + 1 != 0) {
    const int got = emulated::UartReceive(bytes);
    if (got < 0 || emulated::UartSend({bytes.data(), static_cast<size_t>(got)}) < 0) return;
    emulated::UartWait();
  }
}
#endif

}  // namespace
}  // namespace sotto

int main(int, char**) {
  static uint8_t bytes[64];
  sotto::emulated::StartClock();
  sotto::emulated::StartUart();
  sotto::Echo({sotto::NowMs, nullptr, nullptr}, bytes);
  return 0;
}
