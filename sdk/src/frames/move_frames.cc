// Apart from frame_link.cc, for devices that move their frames themselves.
#include "sotto/frame_link.h"

namespace sotto {

Status MoveFrames(FrameLink* link, const FrameIo& io, const Port& port, uint32_t timeout_ms) {
  constexpr int kMost = 64;  // frames of one call
  uint8_t frame[kLargestFrame];
  const auto send_due = [&] {
    for (int i = 0; i < kMost; ++i) {
      const size_t size = link->NextFrame(port.now_ms(port.context), frame);
      if (size == 0) return true;
      if (io.send(io.context, frame, size) < 0) return false;
    }
    return true;
  };
  if (!send_due()) return Status::kLinkLost;
  const uint32_t due_ms = link->WaitMs(port.now_ms(port.context));
  uint32_t wait_ms = due_ms < timeout_ms ? due_ms : timeout_ms;
  for (int i = 0; i < kMost; ++i) {
    const int size = io.receive(io.context, frame, sizeof(frame), wait_ms);
    if (size < 0) return Status::kLinkLost;
    if (size == 0) break;
    link->OnFrame({frame, static_cast<size_t>(size)}, port.now_ms(port.context));
    wait_ms = 0;
  }
  return send_due() ? link->status() : Status::kLinkLost;
}

}  // namespace sotto
