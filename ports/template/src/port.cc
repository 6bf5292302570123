#include "sotto/template/port.h"

#include <algorithm>
#include <cstring>

#include "vendor.h"

namespace sotto::board {
namespace {

// The hardware counts in 32 bits and wraps around.
uint64_t NowMs(void*) {
  static uint64_t now_ms = 0;
  now_ms += static_cast<uint32_t>(vendor_tick_ms() - static_cast<uint32_t>(now_ms));
  return now_ms;
}

// A generator that repeats a word has failed: the continuous test of FIPS 140-2, section 4.9.2. A
// correct generator repeats a word once in 2^32 words, which costs this device a round.
Status Entropy(void*, MutableByteSpan out) {
  static uint32_t last = 0;
  for (size_t filled = 0; filled < out.size();) {
    uint32_t word = 0;
    if (vendor_random(&word) != 0 || word == last) return Status::kEntropyFailed;
    last = word;
    const size_t count = std::min(sizeof(word), out.size() - filled);
    std::memcpy(out.data() + filled, &word, count);
    filled += count;
  }
  return Status::kOk;
}

}  // namespace

Port SystemPort() {
  Port port;
  port.now_ms = NowMs;
  port.entropy = Entropy;
  return port;
}

}  // namespace sotto::board
