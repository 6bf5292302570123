// The kinds of steps that prepare samples, one row each: name and keys in a model file, step, C++
// type. Part of sotto::model_file.
//
// To add a kind on hosts: its row in preparation_kinds.cc, and the table in server/MODELS.md as
// `sotto model kinds` prints it. Constant data and pure functions, safe in any thread.
#pragma once

#include <string>
#include <vector>

#include "sotto/model_info.h"

namespace sotto::posix {

// A key of a kind of step in a model file.
struct PreparationKey {
  enum class Holds {
    kNumbers,  // PreparationStep::first of the first such key, ::second of the second
    kSize,     // PreparationStep::size
    kSetting,  // a whole number, one of PreparationStep::first
  };

  const char* name;
  Holds holds = Holds::kNumbers;
  const char* fallback = nullptr;  // its default, for people; null: it is required
  float fallback_number = 0.0f;
  bool is_positive = false;  // its numbers are above 0
  uint32_t least = 1;        // of a setting
};

struct PreparationKindRow {
  const char* name;
  const char* does;
  const char* type;  // in sotto::nn
  nn::PreparationKind kind;
  std::vector<PreparationKey> keys;
  // The step of these numbers and this size.
  nn::PreparationStep (*make)(const nn::PreparationStep& values);
  // Of a kind with settings: why samples of a shape cannot be prepared so, empty if they can; and
  // then the tables that are PreparationStep::second.
  std::string (*why_not)(const nn::PreparationStep& step, const nn::Shape& shape) = nullptr;
  uint64_t (*table_size)(const nn::PreparationStep& step) = nullptr;
  std::vector<float> (*tables)(const nn::PreparationStep& step) = nullptr;
};

const std::vector<PreparationKindRow>& PreparationKinds();

// The row of a step. Throws std::logic_error if the table lacks it.
const PreparationKindRow& KindOf(const nn::PreparationStep& step);

// What a step has under key `index`, which holds no array of numbers.
uint32_t WholeNumberOf(const nn::PreparationStep& step, size_t index);

// What a step has under each key, for people: "mean 0.1307, deviation 0.3081".
std::string PreparationText(const nn::PreparationStep& step);

// The type of step `number`, from 1: "Normalise<kMean2, kDeviation2>", without its namespace.
std::string PreparationType(const nn::PreparationStep& step, size_t number);

// The constants that the types name, as lines of a C++ header; empty if there are none.
std::string PreparationConstants(const ModelInfo& model);

// `class_names` of a model as a C++ array kClassNames; empty if classes have no names.
std::string ClassNamesConstant(const ModelInfo& model);

// The model's sotto::ModelDescription as a C++ constant kDescription, and the arrays that it names
// beside kClassNames; empty if nothing describes samples.
std::string DescriptionConstants(const ModelInfo& model);

}  // namespace sotto::posix
