// What a model file says of samples, for people and for all devices: the names of classes and of
// features, units, and the kind of a sample. Part of sotto::model_file.
#pragma once

#include <string>
#include <vector>

#include "sotto/model_info.h"
#include "table.h"

namespace sotto::posix {

// Texts, and the pointers to them that a ModelInfo has. It stays where it is once texts() was
// called.
struct OwnedTexts {
  std::vector<std::string> names;
  std::vector<const char*> pointers;

  Span<const char* const> texts();
};

struct OwnedDescription {
  OwnedTexts classes;
  OwnedTexts features;
  OwnedTexts units;
  std::string kind;
};

// Reads `classes`, `features`, `units` and `samples`, and sets the members of *info that point to
// *description, which outlives it.
//   info  shape, tokens and classes of the model are known
// Throws std::invalid_argument as ReadModelFile() does.
void ReadDescription(const Table& top, OwnedDescription* description, ModelInfo* info);

}  // namespace sotto::posix
