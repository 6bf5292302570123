// The vector kernels of training in float32, in one fixed order of operations. Part of sotto/nn;
// private to the SDK.
//
// A sum over n elements runs in kLanes lanes: lane l adds the elements l, l + 8, l + 16, ... in
// this order; then lanes l and l + 4, l and l + 2, l and l + 1 are added. Where a function says so,
// a sum has another order. Every other operation is elementwise. Compiled without fused
// multiply-add, so a board and a server get the same bits. Pure functions, safe in any thread; all
// pointers are to caller-owned float32 arrays of n elements, n >= 1.
#pragma once

#include <cstddef>

#include "base/exact_arithmetic.h"
#include "sotto/layer.h"

namespace sotto::nn {

constexpr int kLanes = 8;
constexpr int kColumns = 4;  // of DenseForwardOfColumns()

// y[o] = bias[o] + sum_i weights[o * n + i] * x[i] for o < outputs.
void DenseForward(const Real* weights, const Real* bias, const Real* x, size_t n, size_t outputs,
                  Real* y);

// The same for kColumns vectors x side by side, of which the first `columns` count:
// y[c * outputs + o] = bias[o] + sum_i weights[o * n + i] * x[i * kColumns + c], a sum from the
// bias in the order of i.
void DenseForwardOfColumns(const Real* weights, const Real* bias, const Real* x, size_t n,
                           size_t outputs, size_t columns, Real* y);

// y += scale * x. x and y do not overlap.
void AddScaled(Real scale, const Real* x, size_t n, Real* y);

// AddScaled() for two rows, which share the loads of x: y0 += scale0 * x, y1 += scale1 * x. No two
// of x, y0 and y1 overlap.
void AddScaledToTwo(Real scale0, Real scale1, const Real* x, size_t n, Real* y0, Real* y1);

// m[o * n + i] += a[o] * x[i] for o < rows. Rows whose a[o] is zero are left alone: m is a sum that
// began at zero, which adding zeros would not change. No two of them overlap.
void AddOuterProduct(const Real* a, size_t rows, const Real* x, size_t n, Real* m);

// y[i] = sum_o m[o * n + i] * a[o] for i < n: a sum in the order of o. Rows whose a[o] is zero are
// passed over where that saves work, which changes nothing: m is finite. y overlaps nothing.
void TransposedProduct(const Real* m, const Real* a, size_t n, size_t rows, Real* y);

// y[i] += sum_t a[t * n + i] * b[t * n + i] for i < n: a sum from y[i] in the order of t < rows. y
// overlaps nothing.
void AddRowProducts(const Real* a, const Real* b, size_t rows, size_t n, Real* y);

// y[i] += sum_t a[t * n + i] for i < n: a sum from y[i] in the order of t < rows. y does not
// overlap a.
void AddRowSums(const Real* a, size_t rows, size_t n, Real* y);

// m[t * n + i] += a[t * n + i] * x[i] for t < rows and i < n. No two of them overlap.
void AddScaledColumns(const Real* a, const Real* x, size_t rows, size_t n, Real* m);

// y = 0.
void FillZero(size_t n, Real* y);

// y = x. They do not overlap.
void Copy(const Real* x, size_t n, Real* y);

// Rows of n numbers, one every `stride` numbers: y = x. They do not overlap.
void CopyRows(const Real* x, size_t x_stride, size_t rows, size_t n, Real* y, size_t y_stride);

// y *= scale.
void Scale(Real scale, size_t n, Real* y);

// y = decay * y + scale * x. They do not overlap.
void DecayAndAdd(Real decay, Real scale, const Real* x, size_t n, Real* y);

// y = decay * y - pull * (y - center).
void DecayAndPull(Real decay, Real pull, const Real* center, size_t n, Real* y);

// y += scale * (a - b). y overlaps neither a nor b.
void AddScaledDifference(Real scale, const Real* a, const Real* b, size_t n, Real* y);

// sum_i x[i]^2, in 4 lanes: lane l adds the elements l, l + 4, ..., and lane 0 also those behind
// the last four.
Real SumOfSquares(const Real* x, size_t n);

// sum_i (a[i] - b[i])^2.
Real SquaredDistance(const Real* a, const Real* b, size_t n);

// y = center + scale * (y - center).
void PullTowards(const Real* center, Real scale, size_t n, Real* y);

}  // namespace sotto::nn
