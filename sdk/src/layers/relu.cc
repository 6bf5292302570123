#include "sotto/layers/relu.h"

#include "nn/bits.h"

namespace sotto::nn::internal {

void ReluForward(const LayerCall& call) {
  BitArray positive(call.kept);
  const size_t n = call.info.input.size();
  for (size_t i = 0; i < n; i += 32) {
    uint32_t bits = 0;
    for (size_t j = i; j < n && j < i + 32; ++j) {
      const bool is_positive = call.input[j] > Real{0};
      bits |= uint32_t{is_positive} << (j - i);
      if (!is_positive) call.input[j] = Real{0};
    }
    positive.Set(i / 32, bits);
  }
}

void ReluInputDelta(const LayerCall& call) {
  const BitArray positive(call.kept);
  const size_t n = call.info.input.size();
  for (size_t i = 0; i < n; i += 32) {
    const uint32_t bits = positive.Get(i / 32);
    for (size_t j = i; j < n && j < i + 32; ++j) {
      if ((bits >> (j - i) & 1) == 0) call.input[j] = Real{0};
    }
  }
}

}  // namespace sotto::nn::internal
