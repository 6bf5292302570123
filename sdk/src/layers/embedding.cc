#include "sotto/layers/embedding.h"

#include "base/exact_arithmetic.h"
#include "nn/kernels.h"

namespace sotto::nn::internal {
namespace {

// Where the row of the token at position t begins.
size_t Row(const LayerCall& call, size_t t) {
  const Real id = call.input[t];
  const bool is_token = id > Real{0} && id < static_cast<Real>(call.info.size);
  return (is_token ? static_cast<size_t>(id) : 0) * call.info.output.channels;
}

}  // namespace

void EmbeddingForward(const LayerCall& call) {
  const size_t width = call.info.output.channels;
  for (size_t t = 0; t < call.info.input.width; ++t) {
    Copy(call.parameters + Row(call, t), width, call.output + t * width);
  }
}

void EmbeddingAddGradient(const LayerCall& call, Real* gradient) {
  const size_t width = call.info.output.channels;
  for (size_t t = 0; t < call.info.input.width; ++t) {
    AddScaled(Real{1}, call.output + t * width, width, gradient + Row(call, t));
  }
}

}  // namespace sotto::nn::internal
