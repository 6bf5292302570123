// The tables of a model file. Part of sotto::model_file.
#pragma once

#include <string>
#include <vector>

#include "table.h"

namespace sotto::posix {

struct Document {
  Table model;                // its own keys
  std::vector<Table> steps;   // [[prepare]], at most kMaxSteps
  std::vector<Table> layers;  // [[layer]], at most kMaxLayers
};

// Throws std::invalid_argument for a table that no model file has, or TomlError.
//   path  for messages
Document ReadTables(const std::string& path, const std::string& text);

}  // namespace sotto::posix
