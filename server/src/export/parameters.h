// Reads the parameters of a model from a file of any format that is read back. Part of
// sotto::server/export.
//
// Reentrant: safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "export/format.h"

namespace sotto::server {

// The bytes of a file. Throws std::runtime_error, "PATH: why", if it cannot be read, and
// std::invalid_argument if it is no regular file or larger than any model.
std::string ReadModelBytes(const std::string& path);

// The parameters in a file: see ParametersFromBytes(). Throws as ReadModelBytes(), and
// std::invalid_argument, "PATH: what is wrong, and what is expected".
std::vector<float> ReadModelParameters(const std::string& path, const ModelInfo& model,
                                       Metadata* metadata);

}  // namespace sotto::server
