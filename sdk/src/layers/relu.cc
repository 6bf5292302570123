#include "sotto/layers/relu.h"

#include "base/exact_arithmetic.h"
#include "nn/bits.h"

namespace sotto::nn::internal {
namespace {

constexpr size_t kBits = 32;

// Clears the numbers whose bits are not set: of at most 32.
void ClearOthers(uint32_t bits, size_t n, Real* x) {
  const uint32_t all = n < kBits ? (uint32_t{1} << n) - 1 : ~uint32_t{0};
  for (uint32_t zeros = all & ~bits; zeros != 0; zeros &= zeros - 1) {
    x[__builtin_ctz(zeros)] = Real{0};
  }
}

}  // namespace

void ReluForward(const LayerCall& call) {
  BitArray positive(call.kept);
  const size_t n = call.info.input.size();
  for (size_t i = 0; i < n; i += kBits) {
    uint32_t bits = 0;
    for (size_t j = i; j < n && j < i + kBits; ++j) {
      bits |= uint32_t{call.input[j] > Real{0}} << (j - i);
    }
    positive.Set(i / kBits, bits);
    ClearOthers(bits, n - i, call.input + i);
  }
}

void ReluInputDelta(const LayerCall& call) {
  const BitArray positive(call.kept);
  const size_t n = call.info.input.size();
  for (size_t i = 0; i < n; i += kBits) {
    ClearOthers(positive.Get(i / kBits), n - i, call.input + i);
  }
}

}  // namespace sotto::nn::internal
