// Reads the parameters of a model from a file of any format that is read back: little-endian
// float32, as `--model-out` writes them, and the formats of this folder. Part of
// sotto::server/export.
//
// Reentrant: safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "export/format.h"
#include "sotto/nn.h"

namespace sotto::server {

// The bytes of a file. Throws std::runtime_error, "PATH: why", if it cannot be read, and
// std::invalid_argument if it is no regular file or larger than any model.
std::string ReadModelBytes(const std::string& path);

// The parameters in a file: see ParametersFromBytes(). Throws as ReadModelBytes(), and
// std::invalid_argument, "PATH: what is wrong, and what is expected".
std::vector<float> ReadModelParameters(const std::string& path, const ModelInfo& model,
                                       Metadata* metadata);

// Reads the file of --initial-model: parameters with which a model can begin.
// Throws std::runtime_error if the file cannot be read. Throws std::invalid_argument that names the
// file for a file of another size or with other tensors, for a number that is not finite, and for
// one that the model's fixed-point format cannot hold.
std::vector<float> ReadParameters(const std::string& path, const ModelInfo& model);

// SHA-256 of the parameters as they travel, little-endian float32, in hexadecimal.
std::string ParametersDigest(Span<const float> parameters);

}  // namespace sotto::server
