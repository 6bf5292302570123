// The device on the board's UART. Its size is measured; it is not run.
#include "size/device.h"
#include "sotto/emulated/clock.h"
#include "sotto/emulated/uart.h"

namespace sotto {

bool Exchange(const Request& request, MutableByteSpan frames, Reply* reply) {
  const MutableByteSpan send = frames.first(kFrameHeaderSize + kMaxFrame);
  size_t size = 0;
  if (EncodeRequest(request, kMaxFrame, send, &size) != Status::kOk) return false;
  for (size_t sent = 0; sent < size;) {
    sent += static_cast<size_t>(emulated::UartSend({send.data() + sent, size - sent}));
  }
  FrameReader reader(frames.subspan(send.size()));
  while (!reader.complete()) {
    const int received = emulated::UartReceive(reader.missing());
    if (received < 0) return false;
    if (reader.Received(static_cast<size_t>(received)) != Status::kOk) return false;
  }
  return DecodeReply(reader.body(), reply) == Status::kOk;
}

void SleepMs(uint32_t ms) { emulated::SleepMs(ms); }

}  // namespace sotto

int main(int, char**) {
  sotto::emulated::StartClock();
  sotto::emulated::StartUart();
  sotto::TakePart();
  return 0;
}
