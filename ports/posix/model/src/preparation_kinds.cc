#include "sotto/model/preparation_kinds.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdexcept>

#include "sotto/model/layer_kinds.h"
#include "sotto/model/model_text.h"
#include "sotto/nn.h"

namespace sotto::posix {
namespace {

using nn::PreparationKind;
using nn::PreparationStep;

using Holds = PreparationKey::Holds;

std::string WhyNoSignal(const nn::Shape& shape, uint32_t least) {
  if (shape.height > 1) {
    return fmt::format("it takes a signal, input = [length] or [length, axes], not {}",
                       ShapeText(shape));
  }
  const uint32_t length = nn::SignalOf(shape).length;
  if (length >= least) return "";
  return fmt::format("it takes a signal of at least {} readings, not {}", least, length);
}

std::string WhyNoFrames(const PreparationStep& step, const nn::Shape& shape) {
  if (std::string why = WhyNoSignal(shape, nn::kLeastWindow); !why.empty()) return why;
  const nn::FrameSettings frames = nn::FrameSettingsOf(step);
  const uint32_t length = nn::SignalOf(shape).length;
  const uint32_t most = std::min(length, nn::kMostWindow);
  if (frames.window < nn::kLeastWindow || frames.window > most) {
    return fmt::format("window = {}; expected {} to {} readings, of a signal of {}", frames.window,
                       nn::kLeastWindow, most, length);
  }
  const uint32_t powers = frames.transform() / 2;
  if (frames.bands > powers) {
    return fmt::format("bands = {}, but a window of {} has {} frequencies", frames.bands,
                       frames.window, powers);
  }
  if (frames.frames(length) == 1 || frames.bands <= frames.hop) return "";
  return fmt::format(
      "bands = {} are more than the {} readings of a hop; take fewer bands or a "
      "longer hop",
      frames.bands, frames.hop);
}

uint64_t FrameTableSize(const PreparationStep& step) { return nn::FrameSettingsOf(step).tables(); }

std::vector<float> FrameTables(const PreparationStep& step) {
  const nn::FrameSettings frames = nn::FrameSettingsOf(step);
  std::vector<float> tables(frames.tables());
  nn::FillFrameTables(frames, {tables.data(), tables.size()});
  return tables;
}

std::string WhyNoMel(const PreparationStep& step, const nn::Shape& shape) {
  if (std::string why = WhyNoFrames(step, shape); !why.empty()) return why;
  const nn::FrameSettings mel = nn::FrameSettingsOf(step);
  if (mel.high <= mel.low || mel.high > mel.rate / 2) {
    return fmt::format(
        "low = {} and high = {}; expected low below high, and high at most half of "
        "the rate, {} Hz",
        mel.low, mel.high, mel.rate / 2);
  }
  const std::vector<float> tables = FrameTables(step);
  if (nn::HasFullBands(mel, {tables.data(), tables.size()})) return "";
  return fmt::format(
      "a band of {} from {} to {} Hz is narrower than the {:.4g} Hz between two "
      "frequencies; take fewer bands or a longer window",
      mel.bands, mel.low, mel.high, static_cast<double>(mel.rate) / mel.transform());
}

std::string WhyNoDct(const PreparationStep& step, const nn::Shape& shape) {
  const nn::DctSettings dct = nn::DctSettingsOf(step);
  const nn::Signal signal = nn::SignalOf(shape);
  if (dct.bands != signal.length) {
    return fmt::format("bands = {}, but {} have {}", dct.bands, ShapeText(shape), signal.length);
  }
  if (dct.coefficients <= dct.bands) return "";
  return fmt::format("coefficients = {} are more than bands = {}", dct.coefficients, dct.bands);
}

uint64_t DctTableSize(const PreparationStep& step) {
  const nn::DctSettings dct = nn::DctSettingsOf(step);
  return uint64_t{dct.coefficients} * dct.bands;
}

std::vector<float> DctTables(const PreparationStep& step) {
  const nn::DctSettings dct = nn::DctSettingsOf(step);
  std::vector<float> tables(static_cast<size_t>(DctTableSize(step)));
  nn::FillDctTables(dct, {tables.data(), tables.size()});
  return tables;
}

PreparationKey WholeNumber(const char* name, uint32_t least = 1) {
  PreparationKey key = {name, Holds::kSetting};
  key.least = least;
  return key;
}

// Steps that turn a signal into features.
std::vector<PreparationKindRow> SignalPreparations() {
  const PreparationKey window = WholeNumber("window");
  const PreparationKey hop = WholeNumber("hop");
  const PreparationKey bands = WholeNumber("bands");
  return {
      {"difference",
       "each reading minus the one before it; one reading less",
       "Difference",
       PreparationKind::kDifference,
       {},
       [](auto&) { return nn::internal::DifferenceStep(); },
       [](auto&, const nn::Shape& shape) { return WhyNoSignal(shape, 2); }},
      {"stats",
       "of each axis mean, deviation, root mean square, crest factor, zero crossings",
       "Stats",
       PreparationKind::kStats,
       {},
       [](auto&) { return nn::internal::StatsStep(); },
       [](auto&, const nn::Shape& shape) { return WhyNoSignal(shape, nn::kStats); }},
      {"spectrum",
       "of each frame the logarithm of the power in bands of equal width",
       "Spectrum",
       PreparationKind::kSpectrum,
       {window, hop, bands},
       [](auto& v) { return nn::internal::SpectrumStep(v.first, v.second); },
       WhyNoFrames,
       FrameTableSize,
       FrameTables},
      {"mel",
       "of each frame the logarithm of the power in bands of equal width for the ear, low to high "
       "in Hz",
       "Mel",
       PreparationKind::kMel,
       {window, hop, bands, WholeNumber("rate"), WholeNumber("low", 0), WholeNumber("high")},
       [](auto& v) { return nn::internal::MelStep(v.first, v.second); },
       WhyNoMel,
       FrameTableSize,
       FrameTables},
      {"dct",
       "of each frame's bands the first coefficients of their cosine transform: behind mel, MFCCs",
       "Dct",
       PreparationKind::kDct,
       {bands, WholeNumber("coefficients")},
       [](auto& v) { return nn::internal::DctStep(v.first, v.second); },
       WhyNoDct,
       DctTableSize,
       DctTables},
  };
}

std::vector<PreparationKindRow> AllPreparations() {
  PreparationKey value = {"value"};
  PreparationKey factor = {"factor", Holds::kNumbers, "1", 1.0f};
  PreparationKey offset = {"offset", Holds::kNumbers, "0", 0.0f};
  PreparationKey mean = {"mean"};
  PreparationKey deviation = {"deviation"};
  deviation.is_positive = true;
  PreparationKey padding = {"padding", Holds::kSize};
  std::vector<PreparationKindRow> rows = {
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
  for (PreparationKindRow& row : SignalPreparations()) rows.push_back(std::move(row));
  return rows;
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

// The first kMost numbers, for people.
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

uint32_t WholeNumberOf(const PreparationStep& step, size_t index) {
  const bool is_size = KindOf(step).keys[index].holds == Holds::kSize;
  return is_size ? step.size : static_cast<uint32_t>(step.first[index]);
}

std::string PreparationText(const PreparationStep& step) {
  std::vector<std::string> texts;
  const PreparationKindRow& row = KindOf(step);
  for (size_t i = 0; i < row.keys.size(); ++i) {
    const PreparationKey& key = row.keys[i];
    texts.push_back(fmt::format("{} {}", key.name,
                                key.holds == Holds::kNumbers
                                    ? NumbersText(NumbersOf(step, i))
                                    : std::to_string(WholeNumberOf(step, i))));
  }
  if (step.is_random) texts.emplace_back("in training only");
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string PreparationType(const PreparationStep& step, size_t number) {
  const PreparationKindRow& row = KindOf(step);
  if (row.keys.empty()) return row.type;
  std::vector<std::string> arguments;
  for (size_t i = 0; i < row.keys.size(); ++i) {
    const PreparationKey& key = row.keys[i];
    arguments.push_back(key.holds == Holds::kNumbers ? ConstantName(key, number)
                                                     : std::to_string(WholeNumberOf(step, i)));
  }
  return fmt::format("{}<{}>", row.type, fmt::join(arguments, ", "));
}

std::string PreparationConstants(const ModelInfo& model) {
  std::string text;
  for (size_t i = 0; i < model.preparation.size(); ++i) {
    const PreparationStep& step = model.preparation[i];
    const std::vector<PreparationKey>& keys = KindOf(step).keys;
    for (size_t k = 0; k < keys.size(); ++k) {
      if (keys[k].holds != Holds::kNumbers) continue;
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
