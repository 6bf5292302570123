#include "nn/gradient_norm.h"

#include <cmath>

#include "base/exact_arithmetic.h"
#include "nn/kernels.h"
#include "sotto/num.h"

namespace sotto::nn {

Real GradientNorm::Squares(const Real* x, size_t n) {
  constexpr size_t kBlock = 256;
  Real sum = 0;
  for (; n > 0; ++blocks_) {
    const size_t size = n < kBlock ? n : kBlock;
    sum += SumOfSquares(x, size);
    x += size;
    n -= size;
  }
  return sum;
}

Status GradientNorm::FactorFor(Real most, Real* factor) const {
  const Real norm = std::sqrt(sum_);
  if (!IsFinite(static_cast<float>(norm))) return Status::kNotFinite;
  const Real floor = Real{1} - static_cast<Real>(blocks_ + 100) * Real{0x1p-24};
  const Real limit = most * floor;
  *factor = norm > limit ? limit / norm : Real{1};
  return Status::kOk;
}

}  // namespace sotto::nn
