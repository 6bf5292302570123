// The kinds of layers, one row each: name and keys in a model file, plan, C++ text, work. Part of
// sotto::model_file.
//
// To add a kind of layer on hosts: its row in layer_kinds.cc, and the table in server/MODELS.md as
// `sotto model kinds` prints it. Constant data and pure functions, safe in any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sotto/layer.h"
#include "sotto/model/branch_values.h"

namespace sotto::posix {

// Limits of a model file. They keep every product within 32 bits.
constexpr uint32_t kMaxNumber = uint32_t{1} << 24;  // of a key
constexpr uint32_t kMaxTensor = uint32_t{1} << 24;  // numbers in a layer's output, or kept by it

// A key of a kind of layer in a model file.
struct LayerKey {
  const char* name;
  // Of a plan: the key's number, or which of the choices. Null: the plan follows from other keys.
  uint32_t (*of)(const nn::LayerPlan& layer);
  const char* fallback = nullptr;         // its default, for people; null: it is required
  uint32_t least = 1;                     // of a number
  std::vector<std::string> choices = {};  // of a text; empty: the key is a number
};

// The keys of a layer as the file has them: numbers, and of a text which of the choices.
struct LayerValues {
  std::map<std::string, uint32_t> values;
  uint32_t tokens = 0;  // of the model; 0: samples are no tokens
  // That wait before the layer, by their numbers.
  const std::map<uint32_t, nn::Shape>* branches = nullptr;

  uint32_t Get(const std::string& key) const { return values.at(key); }
  uint32_t Get(const std::string& key, uint32_t fallback) const {
    const auto found = values.find(key);
    return found == values.end() ? fallback : found->second;
  }
};

struct LayerKindRow {
  const char* name;
  const char* does;
  const char* type;  // in C++: "Conv2d"
  std::vector<LayerKey> keys;
  // Throws std::invalid_argument, which says why, for an input that does not fit and for more
  // parameters than an update has.
  nn::LayerPlan (*plan)(const LayerValues& values, const nn::Shape& input);
  bool (*is)(const nn::LayerPlan& layer);  // of plans that no row before this one has
  // Of the type: "6, 5, 1, 2". Null: it has none.
  std::string (*arguments)(const nn::LayerPlan& layer) = nullptr;
  // Of a forward pass. Each parameter's gradient, and the input's delta, take as many again. Null:
  // none.
  uint64_t (*multiply_accumulates)(const nn::LayerPlan& layer) = nullptr;
  // The plan with the functions of fixed point. Null: the kind has none.
  nn::LayerPlan (*in_fixed_point)(nn::LayerPlan plan) = nullptr;
};

const std::vector<LayerKindRow>& LayerKinds();

// The row of a layer. Throws std::logic_error if the table lacks it.
const LayerKindRow& KindOf(const nn::LayerPlan& layer);

// A layer's type in C++, "Conv2d<6, 5, 1, 2>", and what its row says of its work.
std::string CppType(const nn::LayerPlan& layer);
uint64_t MultiplyAccumulates(const nn::LayerPlan& layer);

// "28 x 28 x 6", "128 x 3", "10"
std::string ShapeText(const nn::Shape& shape);

}  // namespace sotto::posix
