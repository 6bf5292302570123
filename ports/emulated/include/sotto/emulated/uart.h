// The board's UART0 as a byte pipe that never blocks: 115,200 baud, 8 bits, no parity. Part of
// ports/emulated.
//
// An interrupt puts received bytes into a buffer of kUartBuffer bytes. While the program computes,
// the buffer can hold a whole answer of a server whose frames are at most 900 bytes. If a peer
// sends more, QEMU stops it. On a real board without flow control lines bytes are then lost, and
// the next UartReceive() returns -1. The pipe has no connection: when the other end has gone, no
// bytes arrive. One thread.
#pragma once

#include <cstddef>

#include "sotto/span.h"

namespace sotto::emulated {

constexpr size_t kUartBuffer = 1024;

// Once, before the functions below.
void StartUart();

// Sends as many bytes from the front of `bytes` as the UART takes at once. Returns how many.
int UartSend(ByteSpan bytes);

// Reads received bytes, at most out.size(). Returns how many. If bytes were lost, returns -1 until
// UartDiscard() is called.
int UartReceive(MutableByteSpan out);

// Drops all received bytes, which belong to a session that is over, and clears a loss.
void UartDiscard();

// Sleeps until a byte arrives or any interrupt runs: at most a millisecond after StartClock().
// Returns at once if a byte is in the buffer.
void UartWait();

}  // namespace sotto::emulated
