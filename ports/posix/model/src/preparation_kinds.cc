#include "sotto/model/preparation_kinds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdexcept>

#include "sotto/model/model_text.h"
#include "sotto/nn.h"

namespace sotto::posix {
namespace {

using nn::PreparationKind;
using nn::PreparationStep;

std::vector<PreparationKindRow> AllPreparations() {
  PreparationKey value = {"value"};
  PreparationKey factor = {"factor", false, "1", 1.0f};
  PreparationKey offset = {"offset", false, "0", 0.0f};
  PreparationKey mean = {"mean"};
  PreparationKey deviation = {"deviation"};
  deviation.is_positive = true;
  PreparationKey padding = {"padding", true};
  return {
      {"fill-missing",
       "value in place of a missing number",
       "FillMissing",
       PreparationKind::kFillMissing,
       {value},
       [](auto& v) { return nn::internal::FillMissingStep(v.first); }},
      {"rescale",
       "factor * x + offset",
       "Rescale",
       PreparationKind::kRescale,
       {factor, offset},
       [](auto& v) { return nn::internal::RescaleStep(v.first, v.second); }},
      {"normalise",
       "(x - mean) / deviation",
       "Normalise",
       PreparationKind::kNormalise,
       {mean, deviation},
       [](auto& v) { return nn::internal::NormaliseStep(v.first, v.second); }},
      {"unit-norm",
       "x / its L2 norm, of the whole sample",
       "UnitNorm",
       PreparationKind::kUnitNorm,
       {},
       [](auto&) { return nn::internal::UnitNormStep(); }},
      {"random-crop",
       "moves an image by up to padding pixels, zeros follow; in training only",
       "RandomCrop",
       PreparationKind::kRandomCrop,
       {padding},
       [](auto& v) { return nn::internal::RandomCropStep(v.size); }},
      {"random-flip",
       "mirrors an image from left to right, with probability 1/2; in training only",
       "RandomFlip",
       PreparationKind::kRandomFlip,
       {},
       [](auto&) { return nn::internal::RandomFlipStep(); }},
  };
}

// With a point, so that C++ takes it as a number with a fraction.
std::string FloatLiteral(float number) {
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

// "kMean2"
std::string ConstantName(const PreparationKey& key, size_t number) {
  std::string name = key.name;
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return fmt::format("k{}{}", name, number);
}

Span<const float> NumbersOf(const PreparationStep& step, size_t key) {
  return key == 0 ? step.first : step.second;
}

// At most so many numbers, for people.
std::string NumbersText(Span<const float> numbers) {
  constexpr size_t kMost = 4;
  std::vector<std::string> texts;
  for (size_t i = 0; i < numbers.size() && i < kMost; ++i) {
    texts.push_back(fmt::format("{:g}", numbers[i]));
  }
  if (numbers.size() == 1) return texts.front();
  if (numbers.size() > kMost) texts.push_back(fmt::format("... {} numbers", numbers.size()));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

// An array's numbers, some on each line.
std::string Initializer(Span<const float> numbers) {
  constexpr size_t kOnOneLine = 8;
  std::string text;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const bool breaks = numbers.size() > kOnOneLine && i % kOnOneLine == 0;
    text += breaks ? "\n    " : i > 0 ? " " : "";
    text += FloatLiteral(numbers[i]) + (i + 1 < numbers.size() ? "," : "");
  }
  return text;
}

std::string Quoted(const char* text) {
  std::string quoted = "\"";
  for (; *text != '\0'; ++text) {
    if (*text == '"' || *text == '\\') quoted += '\\';
    quoted += *text;
  }
  return quoted + '"';
}

// An array of names; empty if there are none.
std::string NamesConstant(const char* constant, Span<const char* const> names) {
  if (names.empty()) return "";
  std::vector<std::string> quoted;
  for (const char* const name : names) quoted.push_back(Quoted(name));
  return fmt::format("inline constexpr const char* {}[] = {{\n    {}}};\n", constant,
                     fmt::join(quoted, ",\n    "));
}

}  // namespace

const std::vector<PreparationKindRow>& PreparationKinds() {
  static const std::vector<PreparationKindRow> kKinds = AllPreparations();
  return kKinds;
}

const PreparationKindRow& KindOf(const PreparationStep& step) {
  for (const PreparationKindRow& row : PreparationKinds()) {
    if (row.kind == step.kind) return row;
  }
  throw std::logic_error("the table of steps lacks a step");
}

std::string PreparationText(const PreparationStep& step) {
  std::vector<std::string> texts;
  const PreparationKindRow& row = KindOf(step);
  for (size_t i = 0; i < row.keys.size(); ++i) {
    const PreparationKey& key = row.keys[i];
    texts.push_back(
        fmt::format("{} {}", key.name,
                    key.is_count ? std::to_string(step.size) : NumbersText(NumbersOf(step, i))));
  }
  if (step.is_random) texts.emplace_back("in training only");
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string PreparationType(const PreparationStep& step, size_t number) {
  const PreparationKindRow& row = KindOf(step);
  if (row.keys.empty()) return row.type;
  std::vector<std::string> arguments;
  for (const PreparationKey& key : row.keys) {
    arguments.push_back(key.is_count ? std::to_string(step.size) : ConstantName(key, number));
  }
  return fmt::format("{}<{}>", row.type, fmt::join(arguments, ", "));
}

std::string PreparationConstants(const ModelInfo& model) {
  std::string text;
  for (size_t i = 0; i < model.preparation.size(); ++i) {
    const PreparationStep& step = model.preparation[i];
    const std::vector<PreparationKey>& keys = KindOf(step).keys;
    for (size_t k = 0; k < keys.size(); ++k) {
      if (keys[k].is_count) continue;
      text += fmt::format("inline constexpr float {}[] = {{{}}};\n", ConstantName(keys[k], i + 1),
                          Initializer(NumbersOf(step, k)));
    }
  }
  return text;
}

std::string ClassNamesConstant(const ModelInfo& model) {
  return NamesConstant("kClassNames", model.class_names);
}

std::string DescriptionConstants(const ModelInfo& model) {
  if (!DescribesSamples(model)) return "";
  const auto name = [](Span<const char* const> names, const char* constant) {
    return names.empty() ? "{}" : constant;
  };
  return NamesConstant("kFeatureNames", model.feature_names) +
         NamesConstant("kFeatureUnits", model.feature_units) +
         fmt::format(
             "inline constexpr sotto::ModelDescription kDescription = {{\n"
             "    {}, {}, {},\n    {}}};\n",
             name(model.class_names, "kClassNames"), name(model.feature_names, "kFeatureNames"),
             name(model.feature_units, "kFeatureUnits"),
             model.sample_kind == nullptr ? "nullptr" : Quoted(model.sample_kind));
}

}  // namespace sotto::posix
