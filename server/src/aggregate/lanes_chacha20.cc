// ChaCha20 (RFC 8439), four blocks in parallel, in vectors that the compiler makes of the
// instructions of any processor. Part of sotto::server/aggregate.
#include <algorithm>
#include <cstring>

#include "aggregate/dither_engine.h"
#include "sotto/bytes.h"

namespace sotto::server {
namespace {

// A word of four blocks.
typedef uint32_t FourWords __attribute__((vector_size(16)));
typedef uint8_t FourWordsBytes __attribute__((vector_size(16)));

constexpr size_t kBlocks = 4;
constexpr size_t kWords = kChaChaBlockSize / 4;

// Whole bytes move in one instruction.
inline FourWords RotateBy16(FourWords x) {
  const auto bytes = reinterpret_cast<FourWordsBytes>(x);
  return reinterpret_cast<FourWords>(
      __builtin_shufflevector(bytes, bytes, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
}

inline FourWords RotateBy8(FourWords x) {
  const auto bytes = reinterpret_cast<FourWordsBytes>(x);
  return reinterpret_cast<FourWords>(
      __builtin_shufflevector(bytes, bytes, 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14));
}

template <int kBits>
inline FourWords Rotate(FourWords x) {
  return x << kBits | x >> (32 - kBits);
}

inline void QuarterRound(FourWords& a, FourWords& b, FourWords& c, FourWords& d) {
  a += b;
  d = RotateBy16(d ^ a);
  c += d;
  b = Rotate<12>(b ^ c);
  a += b;
  d = RotateBy8(d ^ a);
  c += d;
  b = Rotate<7>(b ^ c);
}

// Word i of four consecutive blocks, of which `state` is the input of the first.
inline FourWords InputOf(const uint32_t (&state)[kWords], size_t i) {
  const FourWords all = {state[i], state[i], state[i], state[i]};
  const FourWords next = {0, 1, 2, 3};
  return i == 12 ? all + next : all;
}

void FourBlocks(const uint32_t (&state)[kWords], uint8_t (&out)[kBlocks * kChaChaBlockSize]) {
  FourWords x[kWords];
  for (size_t i = 0; i < kWords; ++i) x[i] = InputOf(state, i);
  for (int round = 0; round < 20; round += 2) {
    for (size_t i = 0; i < 4; ++i) QuarterRound(x[i], x[4 + i], x[8 + i], x[12 + i]);
    for (size_t i = 0; i < 4; ++i) {
      QuarterRound(x[i], x[4 + (i + 1) % 4], x[8 + (i + 2) % 4], x[12 + (i + 3) % 4]);
    }
  }
  for (size_t i = 0; i < kWords; ++i) {
    x[i] += InputOf(state, i);
    for (size_t block = 0; block < kBlocks; ++block) {
      StoreU32Le(x[i][block], out + block * kChaChaBlockSize + 4 * i);
    }
  }
}

}  // namespace

Status LanesKeystream(const Key& key, uint32_t stream, uint32_t first_block, MutableByteSpan out) {
  uint32_t state[kWords] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  for (size_t i = 0; i < 8; ++i) state[4 + i] = LoadU32Le(key.bytes + 4 * i);
  state[12] = first_block;
  state[13] = stream;
  uint8_t blocks[kBlocks * kChaChaBlockSize];
  for (size_t done = 0; done < out.size(); done += sizeof(blocks), state[12] += kBlocks) {
    FourBlocks(state, blocks);
    std::memcpy(out.data() + done, blocks, std::min(sizeof(blocks), out.size() - done));
  }
  SecureWipe(state, sizeof(state));
  SecureWipe(blocks, sizeof(blocks));
  return Status::kOk;
}

}  // namespace sotto::server
