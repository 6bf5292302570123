// A port to copy: clock, entropy and a UART of a board without an operating system.
//
// One context uses the port at a time; OnByteReceived() and OnBytesLost() alone are for the UART's
// interrupt handler.
// The state is static, as there is one board. ports/PORTING.md says what to change.
#ifndef SOTTO_TEMPLATE_PORT_H_
#define SOTTO_TEMPLATE_PORT_H_

#include "sotto/port.h"
#include "sotto/tls.h"

namespace sotto::board {

// Bytes that may arrive while nobody reads: a power of two, and at least what the server sends
// without waiting for an answer. That is one frame of at most max_frame bytes with 69 bytes of TLS
// around it, and in the handshake less than 512 bytes.
constexpr uint32_t kReceiveBufferSize = 2048;

// Clock and entropy. The clock must be read once in 49 days, or it loses them.
Port SystemPort();

// The UART as the pipe below TLS. A byte that found no room is a lost link, not a hole in the
// stream: receiving then fails until RestartLink().
TlsIo Link();

// Forgets what has arrived: bytes of a session that is over. Before SecureLink::Begin().
void RestartLink();

// From the UART's interrupt handler, for each byte.
void OnByteReceived(uint8_t byte);

// From the same, if the hardware says that it dropped a byte or received one damaged (overrun,
// framing error): the link is lost.
void OnBytesLost();

}  // namespace sotto::board

#endif  // SOTTO_TEMPLATE_PORT_H_
