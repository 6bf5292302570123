// A port to copy: clock, entropy, a UART and a store in the flash of a board without an operating
// system. Part of ports/template.
//
// One thread at a time uses the port. Only OnByteReceived() and OnBytesLost() are for the UART's
// interrupt handler. The state is static, as there is one board. ports/PORTING.md says what to
// change.
#pragma once

#include "sotto/frame_link.h"
#include "sotto/kept_model.h"
#include "sotto/paged_store.h"
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
// SecureLink::Begin() or FrameLink::Open().
void RestartLink();

// The UART as a link of frames, for a UART that loses bytes, with sotto-gateway at its other end:
// use it in place of Link(). A board with a radio deletes it, and gives FrameIo the radio's two
// calls.
FrameIo Frames();

// Called by the UART's interrupt handler for each byte.
void OnByteReceived(uint8_t byte);

// Called by the UART's interrupt handler if the hardware reports a dropped or damaged byte
// (overrun, framing error). The link is then lost.
void OnBytesLost();

// The flash of the store: kStorePages stretches of kStorePageSize bytes, which no other code writes
// and no image of the firmware covers. A stretch is a whole number of the flash's pages, and holds
// the longest record and 64 bytes: one page is enough for a Client.
constexpr uint32_t kFlashPageSize = 2048;
constexpr uint32_t kStorePageSize = kFlashPageSize;
constexpr uint8_t kErasedByte = 0xff;  // as an erased byte reads; 0x00 on some flash

// The store in that flash. The first call after a reset of the program's variables looks for the
// records.
//
// Wear. A save erases one stretch, the older of its slot's two. Flash stands some 10,000 erases of
// a page, so a slot stands some 20,000 saves: one for each update with private noise
// (update_ledger.h), two at most for a publication of a node without a server. ports/PORTING.md has
// a table of years. Flash that stands more erases, an EEPROM or FRAM may take its place.
PersistentStore Store();

// Makes the store empty; call it once, when the board is produced. Memory that is not erased when
// it is new, such as FRAM and EEPROM, needs it; flash does not. Returns the statuses of
// PagedStore::Format(): a store that has had a record stays as it is.
Status FormatStore();

// The flash of a model, behind the store's, for a device that predicts or whose round's model is
// not in RAM (sotto/kept_model.h). Leave it out of other ports.
constexpr size_t kModelParameters = 7850;  // of your net
constexpr size_t kModelFlashSize = ModelFlashBytes(kModelParameters, kFlashPageSize);
ModelFlash FlashOfModel();

}  // namespace sotto::board
