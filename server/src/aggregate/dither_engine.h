// The fastest dither engine of this machine: the same bits as the SDK's. Part of
// sotto::server/aggregate.
//
// The server regenerates the dither of every device and decodes every update, so it uses faster
// code that a board must not carry: libsodium's ChaCha20 instead of Mbed TLS's, and vector
// instructions where the processor has them:
//   AVX2     a ChaCha20 of eight blocks in parallel, four cells in parallel, the decoder's loops
//   AVX-512  the same in fewer instructions, and eight cells in parallel
// All functions are safe from any thread.
#pragma once

#include <vector>

#include "sotto/decode_loops.h"
#include "sotto/dither.h"

namespace sotto::server {

// The fastest engine that this processor can run.
const DecodeEngine& FastEngine();

// All of them, the fastest last.
const std::vector<DecodeEngine>& Engines();

// ChaCha20Keystream() by libsodium, several blocks in parallel. Fastest for multiples of 512
// bytes. With SOTTO_OWN_KEYSTREAM by LanesKeystream(), for a processor that libsodium does not
// know.
Status FastKeystream(const Key& key, uint32_t stream, uint32_t first_block, MutableByteSpan out);

// ChaCha20Keystream(), four blocks in parallel, on any processor.
Status LanesKeystream(const Key& key, uint32_t stream, uint32_t first_block, MutableByteSpan out);

// True if the processor and the build support AVX2, and the parts of AVX-512 that are used.
bool HasAvx2();
bool HasAvx512();

// Call the rest only if the processor has the instructions that the name says.

// lrq::ComputeCells().
void Avx2Cells(Span<const uint64_t> words, Span<DitherCell> cells);
void Avx512Cells(Span<const uint64_t> words, Span<DitherCell> cells);

// ChaCha20Keystream(), eight blocks in parallel.
Status Avx2Keystream(const Key& key, uint32_t stream, uint32_t first_block, MutableByteSpan out);
Status Avx512Keystream(const Key& key, uint32_t stream, uint32_t first_block, MutableByteSpan out);

// DecodeEngine::ScatteredFunction, eight words in parallel.
Status Avx2ScatteredWords(const Key& key, uint32_t stream, Span<const uint32_t> indices,
                          Span<uint64_t> words);
Status Avx512ScatteredWords(const Key& key, uint32_t stream, Span<const uint32_t> indices,
                            Span<uint64_t> words);

// Sets the loops of an engine.
void SetAvx2Loops(DecodeEngine* engine);
void SetAvx512Loops(DecodeEngine* engine);

}  // namespace sotto::server
