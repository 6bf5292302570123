// The tensors of a model's trained parameters, with the names of their axes. Part of
// sotto::server/aggregate.
//
// Estimators that use the neighbourhood of parameters ask here what lies beside what. Axes have the
// field's letters:
//   O  outputs: output channels of a convolution, outputs of a dense layer, rows of any other
//      matrix, elements of a vector (biases, GroupNorm)
//   I  inputs: input channels, or the inputs of a dense layer that sees no image
//   H  rows of a convolution's kernel; rows of the image that a dense layer sees
//   W  columns of both; of a sequence its steps
// Sotto keeps channels last, so a convolution and a dense layer over an image are both OHWI.
// PyTorch has OIHW for a convolution, and for a dense layer behind Flatten too.
//
// A dense layer sees the image that its net flattened for it: Flatten and layers that work number
// by number do not change what lies beside what. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sotto/model_info.h"
#include "sotto/research/estimator.h"

namespace sotto::server {

// All trained tensors, in the order of the parameters.
//   sample  the shape of a sample, if the model knows only how many numbers it has: "28x28" or
//           "28x28x3"; absent: the model's own
// Throws std::invalid_argument for another text and for a shape of another size.
std::vector<TrainedTensor> TrainedTensors(const ModelInfo& model,
                                          const std::optional<std::string>& sample = std::nullopt);

// The positions of a tensor's elements in another order of flattening: element i of the result is
// the tensor's element number result[i].
//   order  kNaturalOrder, or a permutation of the letters OHWI; axes that the tensor lacks do not
//          count
constexpr char kNaturalOrder[] = "natural";  // as the parameters lie
std::vector<uint32_t> Flattened(const TrainedTensor& tensor, const std::string& order);

}  // namespace sotto::server
