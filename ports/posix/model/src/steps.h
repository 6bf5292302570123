// The steps of a model file that prepare samples. Part of sotto::model_file.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "sotto/model_info.h"
#include "table.h"

namespace sotto::posix {

constexpr size_t kMaxSteps = 64;

// Steps and all that they point to.
struct OwnedSteps {
  std::vector<nn::PreparationStep> steps;
  std::list<std::vector<float>> numbers;
};

// Reads `missing` of the model, then each [[prepare]].
//   beside  where the files are that the keys name
//   top     the model's keys
//   shape   of a sample
// Throws std::invalid_argument as ReadModelFile() does.
OwnedSteps ReadSteps(const Beside& beside, const Table& top, const std::vector<Table>& tables,
                     const nn::Shape& shape);

}  // namespace sotto::posix
