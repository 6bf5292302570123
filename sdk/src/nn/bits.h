// Bits in the memory of a net's numbers, 32 in each. Part of sotto/nn; private to the SDK.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/exact_arithmetic.h"
#include "sotto/layer.h"

namespace sotto::nn {

class BitArray {
 public:
  explicit BitArray(Real* memory) : memory_(memory) {}

  uint32_t Get(size_t word) const {
    uint32_t bits = 0;
    __builtin_memcpy(&bits, memory_ + word, sizeof(bits));
    return bits;
  }
  void Set(size_t word, uint32_t bits) { __builtin_memcpy(memory_ + word, &bits, sizeof(bits)); }

 private:
  Real* memory_;
};

}  // namespace sotto::nn
