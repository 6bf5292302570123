// The board's UART0 as a byte pipe that never blocks: 115,200 baud, 8 bits, no parity.
//
// An interrupt puts what arrives into a buffer of kUartBuffer bytes. That takes in a whole answer
// of a server whose frames are at most 900 bytes while the program computes. A peer that sends
// more meanwhile is stopped by QEMU; on a real board, without flow control lines, bytes are lost,
// and the next call says so. A pipe has no connection: that the other end has gone shows as
// silence. One thread.
#ifndef SOTTO_MPS2_UART_H_
#define SOTTO_MPS2_UART_H_

#include <cstddef>

#include "sotto/span.h"

namespace sotto::mps2 {

constexpr size_t kUartBuffer = 1024;

// Once, before the functions below.
void StartUart();

// Sends from the front of `bytes` what the UART takes at once; returns how many it took.
int UartSend(ByteSpan bytes);

// Takes what has arrived, at most out.size() bytes; returns how many, or -1 until UartDiscard() if
// bytes were lost.
int UartReceive(MutableByteSpan out);

// Drops what has arrived, bytes of a session that is over, and begins anew.
void UartDiscard();

// Sleeps until a byte is there or some interrupt ran, a millisecond at most (StartClock()). Returns
// at once if a byte is there already.
void UartWait();

}  // namespace sotto::mps2

#endif  // SOTTO_MPS2_UART_H_
