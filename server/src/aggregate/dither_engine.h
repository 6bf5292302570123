// The fastest dither engine of this machine: the same bits as the SDK's. Part of
// sotto::server/aggregate.
//
// The server regenerates the dither of every device, so it uses faster code that a board must not
// carry: libsodium's ChaCha20 instead of Mbed TLS's, and four cells in parallel where the processor
// has AVX2. All functions are safe from any thread.
#ifndef SOTTO_AGGREGATE_DITHER_ENGINE_H_
#define SOTTO_AGGREGATE_DITHER_ENGINE_H_

#include "sotto/dither.h"

namespace sotto::server {

// The fastest engine that this processor can run.
DitherEngine FastEngine();

// ChaCha20Keystream() by libsodium, several blocks in parallel. Fastest for multiples of 512
// bytes.
Status FastKeystream(const Key& key, uint32_t stream, uint32_t first_block, MutableByteSpan out);

// lrq::ComputeCells() in AVX2. Null if the processor or the build does not support AVX2.
DitherEngine::CellsFunction Avx2Cells();

}  // namespace sotto::server

#endif  // SOTTO_AGGREGATE_DITHER_ENGINE_H_
