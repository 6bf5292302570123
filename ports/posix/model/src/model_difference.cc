#include "sotto/model/model_difference.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "sotto/model/layer_kinds.h"
#include "sotto/model/model_text.h"
#include "sotto/model/preparation_kinds.h"

namespace sotto::posix {
namespace {

using Names = Span<const char* const>;

// The longest beginning of at most `most` bytes that cuts no character of UTF-8.
std::string CutText(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return text.substr(0, most);
}

// Without control characters, which would break a log's line, and not long.
//   same  how many bytes both texts begin with
std::string Shown(std::string text, size_t same) {
  constexpr size_t kMost = 40;
  constexpr size_t kBefore = 8;
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }, ' ');
  const bool skips = text.size() > kMost && same > kMost / 2;
  if (skips) text = "..." + text.substr(CutText(text, same - kBefore).size());
  return text.size() <= kMost ? text : CutText(text, kMost - 3) + "...";
}

// "NAME is A here and B in the job", or nothing if they are the same.
std::string Compared(const std::string& name, const std::string& own, const std::string& job) {
  if (own == job) return "";
  const auto differ = std::mismatch(own.begin(), own.end(), job.begin(), job.end());
  const auto same = static_cast<size_t>(differ.first - own.begin());
  return fmt::format("{} is {} here and {} in the job", name, Shown(own, same), Shown(job, same));
}

// In quotes if a blank at its end would hide.
std::string NameIn(Names names, size_t index) {
  const std::string name = names[index];
  const bool shows = !name.empty() && name.front() != ' ' && name.back() != ' ';
  return shows ? name : '"' + name + '"';
}

// Of classes, features or units.
std::string ComparedNames(const char* one, const char* many, Names own, Names job) {
  if (own.empty() != job.empty()) {
    return fmt::format("the {} have {} here and {} in the job", many,
                       own.empty() ? "no names" : "names", job.empty() ? "no names" : "names");
  }
  if (own.size() != job.size()) {
    return fmt::format("{} {} have names here and {} in the job", own.size(), many, job.size());
  }
  for (size_t i = 0; i < own.size(); ++i) {
    const std::string text = Compared(fmt::format("{} {}", one, i), NameIn(own, i), NameIn(job, i));
    if (!text.empty()) return text;
  }
  return "";
}

std::string LayersText(const ModelInfo& model, size_t i) {
  return i < model.layers.size() ? CppType(model.layers[i]) : "none";
}

std::string StepText(const ModelInfo& model, size_t i) {
  if (i >= model.preparation.size()) return "none";
  const nn::PreparationStep& step = model.preparation[i];
  const std::string values = PreparationText(step);
  return values.empty() ? KindOf(step).name : fmt::format("{}, {}", KindOf(step).name, values);
}

bool AreSame(Span<const float> a, Span<const float> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

std::string ComparedSteps(const ModelInfo& own, const ModelInfo& job) {
  const size_t count = std::max(own.preparation.size(), job.preparation.size());
  for (size_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("preparation step {}", i + 1);
    std::string text = Compared(name, StepText(own, i), StepText(job, i));
    if (!text.empty()) return text;
    const nn::PreparationStep& a = own.preparation[i];
    const nn::PreparationStep& b = job.preparation[i];
    if (AreSame(a.first, b.first) && AreSame(a.second, b.second)) continue;
    return fmt::format("{} ({}) has other numbers in the job", name, KindOf(a).name);
  }
  return "";
}

const char* UseText(const nn::LayerPlan& layer) {
  if (layer.frozen != nullptr) return "frozen";
  return layer.is_personal ? "personal" : "trained";
}

std::string ComparedLayers(const ModelInfo& own, const ModelInfo& job) {
  const size_t count = std::max(own.layers.size(), job.layers.size());
  for (size_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("layer {}", i + 1);
    std::string text = Compared(name, LayersText(own, i), LayersText(job, i));
    if (!text.empty()) return text;
    const nn::LayerPlan& a = own.layers[i];
    const nn::LayerPlan& b = job.layers[i];
    text = Compared("the output of " + name, ShapeText(a.info.output), ShapeText(b.info.output));
    if (!text.empty()) return text;
    text = Compared(name, UseText(a), UseText(b));
    if (!text.empty()) return text;
    if (a.frozen == nullptr || std::equal(a.frozen, a.frozen + a.parameters(), b.frozen)) continue;
    return fmt::format("the frozen weights of {} have other numbers in the job", name);
  }
  return "";
}

std::string InputText(const ModelInfo& model) {
  const nn::LayerPlan& first = model.layers[0];
  return first.tokens > 0 ? fmt::format("{} tokens below {}", model.inputs, first.tokens)
                          : ShapeText(model.SampleShape());
}

std::string FirstDifference(const ModelInfo& own, const ModelInfo& job) {
  std::string text = Compared("a sample", InputText(own), InputText(job));
  if (text.empty()) text = Compared("the loss", LossName(own.loss), LossName(job.loss));
  if (text.empty()) text = Compared("the target", TargetName(own.loss), TargetName(job.loss));
  if (text.empty()) {
    text =
        Compared("the number of outputs", std::to_string(own.outputs), std::to_string(job.outputs));
  }
  if (text.empty()) text = ComparedNames("class", "classes", own.class_names, job.class_names);
  if (text.empty()) {
    text = ComparedNames("feature", "features", own.feature_names, job.feature_names);
  }
  if (text.empty()) text = ComparedNames("unit", "units", own.feature_units, job.feature_units);
  if (text.empty()) {
    const auto kind = [](const ModelInfo& model) {
      return model.sample_kind == nullptr ? "not said" : model.sample_kind;
    };
    text = Compared("the kind of samples", kind(own), kind(job));
  }
  if (text.empty()) text = ComparedSteps(own, job);
  return text.empty() ? ComparedLayers(own, job) : text;
}

}  // namespace

std::string DifferenceOf(const ModelInfo& own, const ModelInfo& job) {
  const std::string ours = ModelDigestHex(own);
  const std::string theirs = ModelDigestHex(job);
  if (ours == theirs) return "";
  const std::string text = FirstDifference(own, job);
  return text.empty() ? Compared("the digest", ours.substr(0, 8), theirs.substr(0, 8))
                      : CutText(text, kMaxDifference);
}

}  // namespace sotto::posix
