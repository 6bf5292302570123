// A model's parameters as the tensors of other programs. Part of sotto::server/export.
//
// Sotto's tensors have the channel as their last axis; consumers mostly have it before height and
// width. One table says how each tensor of a layer lies there: MapTensors(). Writers gather by it,
// readers scatter by it, so the two cannot differ. server/EXPORT.md documents it: PyTorch's
// nn.Sequential has the same names, shapes and orders. Pure functions, safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sotto/model_info.h"

namespace sotto::server {

struct Tensor {
  std::string name;
  std::vector<uint64_t> shape;
  std::vector<float> values;  // row-major
};

// How the numbers between two layers lie in an exported net.
struct TensorOrder {
  // The channel is the slowest axis of `shape`, [channels][height][width]; else the fastest, as in
  // Sotto. Where a tensor has one channel or one position, both are the same.
  bool is_channels_first = false;
  nn::Shape shape;  // before any Flatten

  bool operator==(const TensorOrder& other) const {
    return is_channels_first == other.is_channels_first && shape == other.shape;
  }
};

// Throws std::invalid_argument for a model with personal layers, whose values no server has.
void RequireAllShared(const ModelInfo& model);

// Of the sample: an image has its channels first; a sequence, a vector and tokens are as in Sotto.
TensorOrder OrderOfInput(const ModelInfo& model);
// Of the sum of two tensors of one shape. Where their orders differ, both are taken in Sotto's.
TensorOrder OrderOfSum(const TensorOrder& a, const TensorOrder& b);

// One tensor of a layer in an exported net.
struct TensorMap {
  std::string name;  // "0.weight": of the first layer
  std::vector<uint64_t> shape;
  const char* axes;            // for people: "outputs, inputs, rows, columns"
  size_t layer = 0;            // from 0
  std::vector<uint32_t> from;  // [shape] number i is the layer's parameter from[i]
};

// All tensors in the order of the layers, frozen ones included.
std::vector<TensorMap> MapTensors(const ModelInfo& model);

//   parameters  [model.parameters]
std::vector<Tensor> ExportTensors(const ModelInfo& model, Span<const float> parameters);

// The parameters of a model from such tensors, in any order. Throws std::invalid_argument that says
// what is wrong and what is expected: for a tensor that is absent, that the model does not have or
// that has another shape, and for frozen weights other than the model's.
std::vector<float> ImportTensors(const ModelInfo& model, const std::vector<Tensor>& tensors);

}  // namespace sotto::server
