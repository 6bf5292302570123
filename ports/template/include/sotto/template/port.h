// A port to copy: clock, entropy and a UART of a board without an operating system. Part of
// ports/template.
//
// One thread at a time uses the port. Only OnByteReceived() and OnBytesLost() are for the UART's
// interrupt handler. The state is static, as there is one board. ports/PORTING.md says what to
// change.
#ifndef SOTTO_TEMPLATE_PORT_H_
#define SOTTO_TEMPLATE_PORT_H_

#include "sotto/port.h"
#include "sotto/tls.h"

namespace sotto::board {

// Bytes that may arrive before the program reads them. A power of two, and at least as many as the
// server sends without waiting for an answer: one frame of at most max_frame bytes with 29 bytes of
// TLS around it, and less than 512 bytes in the handshake.
constexpr uint32_t kReceiveBufferSize = 2048;

// Clock and entropy. The clock must be read at least once in 49 days: its counter wraps around.
Port SystemPort();

// The UART as the pipe below TLS. If a received byte does not fit into the buffer, the link is
// lost: receiving then fails until RestartLink(), so no byte is skipped silently.
TlsIo Link();

// Drops the received bytes, which belong to a session that is over. Call it before
// SecureLink::Begin().
void RestartLink();

// Called by the UART's interrupt handler for each byte.
void OnByteReceived(uint8_t byte);

// Called by the UART's interrupt handler if the hardware reports a dropped or damaged byte
// (overrun, framing error). The link is then lost.
void OnBytesLost();

}  // namespace sotto::board

#endif  // SOTTO_TEMPLATE_PORT_H_
