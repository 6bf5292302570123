// Relu in fixed point.
#include "nn/bits.h"
#include "nn/fixed_kernels.h"
#include "sotto/layers/relu.h"

namespace sotto::nn::internal {

void FixedReluForward(const LayerCall& call) {
  BitArray positive(call.kept);
  const size_t n = call.info.input.size();
  for (size_t i = 0; i < n; i += 32) {
    uint32_t bits = 0;
    for (size_t j = i; j < n && j < i + 32; ++j) {
      const int32_t x = LoadRaw(call.input + j);
      const int32_t y = x > 0 ? x : 0;
      bits |= (0u - static_cast<uint32_t>(y)) >> 31 << (j - i);
      StoreRaw(y, call.input + j);
    }
    positive.Set(i / 32, bits);
  }
}

void FixedReluInputDelta(const LayerCall& call) {
  const BitArray positive(call.kept);
  const size_t n = call.info.input.size();
  for (size_t i = 0; i < n; i += 32) {
    uint32_t bits = positive.Get(i / 32);
    for (size_t j = i; j < n && j < i + 32; ++j, bits >>= 1) {
      const int32_t mask = -static_cast<int32_t>(bits & 1);
      StoreRaw(LoadRaw(call.input + j) & mask, call.input + j);
    }
  }
}

}  // namespace sotto::nn::internal
