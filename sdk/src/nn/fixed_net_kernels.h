// The vector kernels of nets in fixed point. Part of sotto/nn; private to the SDK.
//
// Numbers are stored in the memory of floats, as the bits of their raw integers. A result out of
// range saturates; a kernel returns whether one did. Pure functions, safe in any thread; the caller
// owns the arrays, which do not overlap, n >= 1.
//
// Sums of products are exact: a weight has 31 bits and an operand 32, so one factor of n products
// is first shifted right by OperandShift(n), and then no sum leaves 64 bits, whatever the numbers:
//   n * 2^30 * 2^(31 - shift) + bias and rounding < (n + 1) * 2^(61 - shift) <= 2^63
// A sum is rounded once.
#pragma once

#include <cstddef>

#include "base/exact_arithmetic.h"
#include "nn/fixed_kernels.h"

namespace sotto::nn {

// A tensor on the way forward, below 128 in magnitude, in units of 6e-8.
using Activation = Fixed<32, 24>;
// A tensor on the way back, below 8 in magnitude, in units of 4e-9.
using Delta = Fixed<32, 28>;
// The gradient so far, below 1,024 in magnitude, in units of 1e-6. One bit short of 32, so that a
// sum with a product of the two fits.
using Gradient = Fixed<31, 20>;
static_assert(Delta::kFractionBits + Activation::kFractionBits - 32 == Gradient::kFractionBits,
              "the upper word of delta * activation is in the gradient's units");

// The smallest shift >= 2 with n + 1 <= 2^(shift + 2). n < 2^24.
constexpr int OperandShift(size_t n) {
  int shift = 2;
  while (n >> (shift + 2) != 0) ++shift;
  return shift;
}

// y = x / 2^shift, rounded. shift >= 2. y may be x.
void FixedShift(const float* x, size_t n, int shift, float* y);

// y[o] = bias[o] + sum_i weights[o * n + i] * x[i] for o < outputs.
//   weights, bias  Weight
//   x              Activation, shifted by OperandShift(n)
//   y              Activation
bool FixedRowProducts(const float* weights, const float* bias, const float* x, size_t n,
                      size_t outputs, float* y);

// y[i] = sum_o weights[o * n + i] * a[o] for i < n.
//   weights  Weight
//   a        Delta, shifted by OperandShift(rows)
//   y        Delta
bool FixedTransposedProduct(const float* weights, const float* a, size_t n, size_t rows, float* y);

// m[o * n + i] += a[o] * x[i] for o < rows: each product is rounded.
//   a  Delta
//   x  Activation
//   m  Gradient
bool FixedAddOuterProduct(const float* a, size_t rows, const float* x, size_t n, float* m);

// y += x.
//   x  Delta
//   y  Gradient
bool FixedAddDeltas(const float* x, size_t n, float* y);

// y += x, for numbers of 32 bits.
bool FixedAdd(const float* x, size_t n, float* y);

// y += scale * x.
//   x  has `x_fraction_bits` bits of fraction, as Gradient or Weight has
//   y  Weight
bool FixedStep(Rate scale, const float* x, int x_fraction_bits, size_t n, float* y);

// Whether all are zero.
bool IsZeroRaw(const float* x, size_t n);

}  // namespace sotto::nn
