// A vector for each token of a sequence: row `token` of a table that is learned. Part of sotto/nn.
//
//   y[t] = W[token[t]]
//
// Input: a sequence of `length` ids, Shape {1, length, 1}, whole numbers below the vocabulary.
// Output: {1, length, width}. Ids come first in a net, since a layer before it would get no delta.
// LayerPlan::tokens tells the net the vocabulary: a training refuses a sample with any other number
// before it computes. Elsewhere such a number counts as token 0, so nothing is read beyond W.
//
// Parameters: W row-major [vocabulary][width], as in PyTorch's nn.Embedding; no biases. W starts at
// Glorot's bound for a product with one-hot vectors, sqrt(6 / (vocabulary + width)).
//
// Gradient: sparse. W[token[t]] += delta[t], in the order of t; other rows are not touched. Source:
// the product with a one-hot vector, Bengio et al., JMLR 3 (2003), section 2.
//
// Memory: none but the tensors and the sum of gradients.
#pragma once

#include "sotto/layer.h"

namespace sotto {
namespace nn {
namespace internal {

void EmbeddingForward(const LayerCall& call);
void EmbeddingAddGradient(const LayerCall& call, Real* gradient);

constexpr LayerPlan EmbeddingPlan(uint32_t vocabulary, uint32_t width, const Shape& input) {
  LayerPlan plan;
  plan.info = {LayerKind::kEmbedding, input, {1, input.width, width}, {}, vocabulary};
  plan.functions.forward = EmbeddingForward;
  plan.functions.add_gradient = EmbeddingAddGradient;
  plan.weights = vocabulary * width;
  plan.fan_in = width;
  plan.tokens = vocabulary;
  return plan;
}

}  // namespace internal

// LayerInfo::size is `vocabulary`.
template <uint32_t vocabulary, uint32_t width>
struct Embedding {
  static_assert(vocabulary >= 1 && width >= 1, "a table has at least one row and one column");
  static_assert(vocabulary <= 1u << 24, "a float32 holds each token exactly");

  static constexpr bool Fits(const Shape& input) {
    return input.height == 1 && input.channels == 1;
  }

  static constexpr LayerPlan Plan(const Shape& input) {
    return internal::EmbeddingPlan(vocabulary, width, input);
  }
};

}  // namespace nn
}  // namespace sotto
