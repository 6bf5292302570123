// The mean of squared errors in fixed point. Part of sotto/nn; private to the SDK.
#pragma once

#include "base/exact_arithmetic.h"
#include "nn/fixed_net_kernels.h"

namespace sotto::nn {

class FixedSquares {
 public:
  void Add(Activation error) {
    sum_ += static_cast<uint64_t>(int64_t{error.raw()} * error.raw()) >> 16;
  }
  //   n  how many were added, at least one
  float Mean(size_t n) const {
    return static_cast<float>(sum_) * 0x1p-32f / static_cast<float>(static_cast<uint32_t>(n));
  }

 private:
  uint64_t sum_ = 0;  // in units of 2^-32
};

}  // namespace sotto::nn
