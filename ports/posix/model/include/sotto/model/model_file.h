// Models that a file describes. Part of sotto::model_file. server/MODELS.md is the format's manual.
//
//   name = "tiny"
//   input = [4]
//   [[layer]]
//   kind = "dense"
//   outputs = 3
//
// A file is at most kMaxSmallFile bytes and kMaxLayers layers; work and memory are bounded for any
// content. Stateless, safe in any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "sotto/model_info.h"

namespace sotto::posix {

constexpr size_t kMaxLayers = 256;

// Owns what the ModelInfo points to: every user of the model holds a copy of this pointer.
using SharedModel = std::shared_ptr<const ModelInfo>;

// Reads a model file, and the weights of its frozen layers beside it. Throws std::invalid_argument,
// "PATH:LINE: what is wrong, and what is expected", or posix::FileError.
SharedModel ReadModelFile(const std::string& path);

// The same for the text of a file.
//   path  for messages; frozen weights are sought beside it
SharedModel ParseModel(const std::string& path, const std::string& text);

// Whether a value of --model is a file: it ends in .toml or has a / in it.
bool IsModelFile(const std::string& value);

// The model of that name, or of that file. Throws as ReadModelFile() does, and for an unknown name.
SharedModel OpenModel(const std::string& value);

// The same net trained in fixed point, while `model` exists. Null if the SDK has no fixed point for
// it.
SharedModel WithFixedPoint(const ModelInfo& model);
bool IsFixedPoint(const ModelInfo& model);

}  // namespace sotto::posix
