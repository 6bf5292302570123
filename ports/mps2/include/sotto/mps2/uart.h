// The board's UART0 as a byte pipe that never blocks: 115,200 baud, 8 bits, no parity.
//
// An interrupt puts what arrives into a buffer of kUartBuffer bytes. That takes in a whole answer
// of a server whose frames are at most 1,024 bytes while the program computes; a peer that sends
// more meanwhile is stopped by QEMU, and would need flow control lines on a real board. A pipe has
// no connection: that the other end has gone shows as silence. One thread.
#ifndef SOTTO_MPS2_UART_H_
#define SOTTO_MPS2_UART_H_

#include <cstddef>

#include "sotto/span.h"

namespace sotto::mps2 {

constexpr size_t kUartBuffer = 2048;

// Once, before the functions below.
void StartUart();

// Sends from the front of `bytes` what the UART takes at once; returns how many it took.
int UartSend(ByteSpan bytes);

// Takes what has arrived, at most out.size() bytes; returns how many.
int UartReceive(MutableByteSpan out);

// Drops what has arrived: bytes of a session that is over.
void UartDiscard();

// Sleeps until a byte is there or some interrupt ran, a millisecond at most (StartClock()). Returns
// at once if a byte is there already.
void UartWait();

}  // namespace sotto::mps2

#endif  // SOTTO_MPS2_UART_H_
