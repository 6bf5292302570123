// Files of a model's parameters: little-endian float32, as `--model-out` writes them, and the
// formats of server/src/export that are read back. Part of sotto::server/spec.
//
// Reentrant: safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "sotto/nn.h"

namespace sotto::server {

// Reads the parameters with which a model can begin.
// Throws std::runtime_error if the file cannot be read. Throws std::invalid_argument that names the
// file for a file of another size or with other tensors, for a number that is not finite, and for
// one that the model's fixed-point format cannot hold.
std::vector<float> ReadParameters(const std::string& path, const ModelInfo& model);

// SHA-256 of the parameters as they travel, little-endian float32, in hexadecimal.
std::string ParametersDigest(Span<const float> parameters);

}  // namespace sotto::server
