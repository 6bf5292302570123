// ChaCha20 (RFC 8439), eight blocks in parallel. Part of sotto::server/aggregate.
//
// libsodium, too, computes blocks in parallel, but only consecutive ones, and only with AVX2. The
// blocks of the streams that extend a dither are not consecutive, and AVX-512 has an instruction
// that rotates.
#include "aggregate/dither_engine.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#include "sotto/bytes.h"

#define SOTTO_AVX2 __attribute__((target("avx2")))
#define SOTTO_AVX512 __attribute__((target("avx2,avx512f,avx512vl")))
namespace sotto::server {
namespace {

using Lanes = __m256i;
constexpr size_t kLanes = 8;
constexpr uint32_t kWordsPerBlock = kChaChaBlockSize / 8;
constexpr size_t kStateWords = kChaChaBlockSize / 4;
constexpr int kCounter = 12;

// The input of the block function, with a counter of zero.
struct State {
  uint32_t of[kStateWords] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
};

State StateOf(const Key& key, uint32_t stream) {
  State state;
  for (int i = 0; i < 8; ++i) state.of[4 + i] = LoadU32Le(key.bytes + 4 * i);
  state.of[kCounter + 1] = stream;
  return state;
}

namespace avx2 {
#define SOTTO_TARGET SOTTO_AVX2

// Whole bytes move in one instruction.
template <int kBits>
SOTTO_TARGET inline Lanes Rotate(Lanes x) {
  if constexpr (kBits == 16) {
    const Lanes from = _mm256_setr_epi8(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13,  //
                                        2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    return _mm256_shuffle_epi8(x, from);
  } else if constexpr (kBits == 8) {
    const Lanes from = _mm256_setr_epi8(3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14,  //
                                        3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14);
    return _mm256_shuffle_epi8(x, from);
  } else {
    return _mm256_or_si256(_mm256_slli_epi32(x, kBits), _mm256_srli_epi32(x, 32 - kBits));
  }
}

#include "aggregate/chacha20_lanes.inc"
#undef SOTTO_TARGET
}  // namespace avx2

namespace avx512 {
#define SOTTO_TARGET SOTTO_AVX512

template <int kBits>
SOTTO_TARGET inline Lanes Rotate(Lanes x) {
  return _mm256_rol_epi32(x, kBits);
}

#include "aggregate/chacha20_lanes.inc"
#undef SOTTO_TARGET
}  // namespace avx512

}  // namespace

Status Avx2ScatteredWords(const Key& key, uint32_t stream, Span<const uint32_t> indices,
                          Span<uint64_t> words) {
  return avx2::ScatteredWords(key, stream, indices, words);
}

Status Avx512ScatteredWords(const Key& key, uint32_t stream, Span<const uint32_t> indices,
                            Span<uint64_t> words) {
  return avx512::ScatteredWords(key, stream, indices, words);
}

Status Avx2Keystream(const Key& key, uint32_t stream, uint32_t first_block, MutableByteSpan out) {
  return avx2::Keystream(key, stream, first_block, out);
}

Status Avx512Keystream(const Key& key, uint32_t stream, uint32_t first_block, MutableByteSpan out) {
  return avx512::Keystream(key, stream, first_block, out);
}

}  // namespace sotto::server

#endif
