// The vector kernels of training in float32, in one fixed order of operations. Part of sotto/nn;
// private to the SDK.
//
// A sum over n elements runs in kLanes lanes: lane l adds the elements l, l + 8, l + 16, ... in
// this order; then lanes l and l + 4, l and l + 2, l and l + 1 are added. Every other operation is
// elementwise. Compiled without fused multiply-add, so a board and a server get the same bits.
// Pure functions, safe in any thread; all pointers are to caller-owned float32 arrays of n
// elements, n >= 1.
#ifndef SOTTO_NN_KERNELS_H_
#define SOTTO_NN_KERNELS_H_

#include <cstddef>

namespace sotto::nn {

constexpr int kLanes = 8;

// y[o] = bias[o] + sum_i weights[o * n + i] * x[i] for o < outputs.
void DenseForward(const float* weights, const float* bias, const float* x, size_t n, size_t outputs,
                  float* y);

// y += scale * x. x and y do not overlap.
void AddScaled(float scale, const float* x, size_t n, float* y);

// AddScaled() for two rows, which share the loads of x: y0 += scale0 * x, y1 += scale1 * x. No two
// of x, y0 and y1 overlap.
void AddScaledToTwo(float scale0, float scale1, const float* x, size_t n, float* y0, float* y1);

// y *= scale.
void Scale(float scale, size_t n, float* y);

// sum_i (a[i] - b[i])^2.
float SquaredDistance(const float* a, const float* b, size_t n);

// y = center + scale * (y - center).
void PullTowards(const float* center, float scale, size_t n, float* y);

}  // namespace sotto::nn

#endif  // SOTTO_NN_KERNELS_H_
