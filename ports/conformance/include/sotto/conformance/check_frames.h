// Checks that a radio's functions are what sotto/frame_link.h needs, and that the link runs over
// them. Part of ports/conformance.
//
// Run it on the board itself. The radio's other end returns each frame as it is: a second board in
// a loop of receive and send, or on a UART a wire from TX to RX. Frames may be lost on both ways.
//
// It needs no heap and no operating system; 4 kB of static memory, 1.5 kB of stack. One thread.
#pragma once

#include "sotto/frame_link.h"

namespace sotto::conformance {

// A frame comes whole, unchanged and as it was sent, or not at all; two are never joined. More than
// a quarter of them come back, of each size up to max_frame. Receiving writes no more than it is
// asked for, and does not wait for longer. Then a device and a gateway, both on this board, move
// 2,000 bytes each way over a link of such frames: all arrive once and in order.
//   max_frame   20 to 250 bytes
//   timeout_ms  by the port's clock, for each of the two parts; one frame may take a hundredth of
//               it there and back
// Returns nullptr, or in words the rule that is broken. If it does not return, a call waits for
// ever.
const char* CheckFrames(const Port& port, const FrameIo& io, uint8_t max_frame,
                        uint32_t timeout_ms);

}  // namespace sotto::conformance
