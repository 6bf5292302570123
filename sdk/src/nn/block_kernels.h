// The kernels of blocks: what kernels.h computes for one sample, for several at once. Part of
// sotto/nn; private to the SDK. For hosts: no model of a firmware names them.
//
// A weight is read from memory once for all samples of a block, and several sums share a vector.
// Each sum has the same terms in the same order as in kernels.h, and nothing is contracted, so each
// output has the same bits. There is one set of kernels for each width of vectors that the CPU may
// have; all sets give the same bits.
//
// Rows lie apart by a stride: sample s of x begins at x + s * x.stride. Pure functions, safe in any
// thread; nothing overlaps unless a function says so.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/exact_arithmetic.h"
#include "sotto/layer.h"

namespace sotto::nn {

// Vectors of several samples.
struct BlockRows {
  Real* first;
  size_t stride;

  Real* operator[](size_t s) const { return first + s * stride; }
};

// Weights of a Dense: [outputs][n], then [outputs] biases.
struct DenseWeights {
  const Real* weights;
  const Real* bias;
  size_t n;
  size_t outputs;
};

// The most samples of a block.
constexpr size_t kMostSamples = 64;

// Reals of scratch for dense_forward: the samples, packed.
constexpr size_t DenseBlockScratch(size_t n, size_t samples) {
  constexpr size_t kPacked = 8;  // samples, and numbers
  return (samples + kPacked) * (n + kPacked);
}

// Reals of scratch for conv_forward and ConvAddGradient(): the filters, transposed, or patches; and
// a sample with its padding.
size_t ConvBlockScratch(const LayerInfo& info);

struct BlockKernels {
  const char* name;

  // y[s][o] = bias[o] + sum_i weights[o * n + i] * x[s][i]: DenseForward() of each sample.
  void (*dense_forward)(const DenseWeights& dense, const BlockRows& x, size_t samples,
                        Real* scratch, const BlockRows& y);
  // y[s][i] = sum_o weights[o * n + i] * a[s][o]: TransposedProduct() of each sample.
  void (*dense_input_delta)(const DenseWeights& dense, const BlockRows& a, size_t samples,
                            const BlockRows& y);
  // gradient[o * n + i] += a[s][o] * x[s][i]: AddOuterProduct() of each sample, in their order.
  void (*dense_add_gradient)(const BlockRows& a, size_t outputs, const BlockRows& x, size_t n,
                             size_t samples, Real* gradient);
  // y[o * n + i] = decay * y[o * n + i] + rate * g, g the sum of the same products from zero.
  void (*dense_step)(const BlockRows& a, size_t outputs, const BlockRows& x, size_t n,
                     size_t samples, Real decay, Real rate, Real* y);
  // Conv2dForward() of each sample.
  void (*conv_forward)(const LayerInfo& info, const Real* parameters, const BlockRows& x,
                       size_t samples, Real* scratch, const BlockRows& y);
  // y[s][i] = x[s][i] if it is above zero, else 0, in place.
  void (*relu)(const BlockRows& x, size_t samples, size_t n);
};

// Conv2dAddGradient() of each sample, in their order.
//   scratch  [ConvBlockScratch()]
void ConvAddGradient(const BlockKernels& kernels, const LayerInfo& info, const BlockRows& x,
                     const BlockRows& deltas, size_t samples, Real* scratch, Real* gradient);

// All that this CPU can run, the fastest last. At least one.
Span<const BlockKernels* const> AllBlockKernels();

}  // namespace sotto::nn
