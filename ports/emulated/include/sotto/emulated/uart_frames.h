// Frames over the board's UART0: with a CRC, in byte stuffing (sotto/serial_frames.h). What the
// UART loses or damages costs a frame. Part of ports/emulated.
//
// sotto-gateway is the other end. One thread; in place of UartSend() and UartReceive().
#pragma once

#include "sotto/frame_link.h"

namespace sotto::emulated {

// Frames of up to kLargestFrame bytes. Neither call fails. While the program computes, the UART's
// buffer holds a turn of frames: at 4 bytes more than a frame has, keep the window within it.
FrameIo UartFrames();

// Drops what has arrived: it belongs to a session that is over.
void DiscardUartFrames();

}  // namespace sotto::emulated
