// The ChaCha20 keystream by libsodium, several blocks side by side. Part of
// sotto::server/aggregate.
//
// The same bytes as the SDK's from Mbed TLS, which computes one block after the other, in a fifth
// of the time: the server regenerates every device's dither. A board keeps the smaller code.
#ifndef SOTTO_AGGREGATE_KEYSTREAM_H_
#define SOTTO_AGGREGATE_KEYSTREAM_H_

#include "sotto/crypto.h"

namespace sotto::server {

// ChaCha20Keystream(), which see. Safe from any thread. Fastest for multiples of 512 bytes.
Status FastKeystream(const Key& key, uint32_t stream, uint32_t first_block, MutableByteSpan out);

}  // namespace sotto::server

#endif  // SOTTO_AGGREGATE_KEYSTREAM_H_
