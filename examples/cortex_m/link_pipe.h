// The bytes below TLS, which never block. Part of examples/cortex_m.
//
// uart_pipe.cc: the UART as it is. frame_pipe.cc: a frame link over the UART, which repairs the
// UART's losses; the program sotto-gateway is its other end. CMakeLists.txt chooses. One thread.
#pragma once

#include "sotto/port.h"
#include "sotto/span.h"

namespace sotto {

// Begins a new session, and drops the bytes of an earlier one. Returns kOk or kEntropyFailed.
Status OpenPipe(const Port& port);

// As TlsIo's calls.
int PipeSend(ByteSpan bytes);
int PipeReceive(MutableByteSpan out);

// Waits until bytes have perhaps come or gone, a few milliseconds at most.
void PipeWait(const Port& port, bool wants_write);

// Delivers what was sent, as far as the other side takes it within a second or two.
void ClosePipe(const Port& port);

}  // namespace sotto
