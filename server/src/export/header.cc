// A C++ header with the net's type and the trained parameters; C takes the numbers.
#include <fmt/format.h>

#include "export/writers.h"
#include "sotto/model/model_file.h"
#include "sotto/model/model_text.h"
#include "sotto/model/preparation_kinds.h"
#include "sotto/predict.h"
#include "sotto/version.h"

namespace sotto::server {
namespace {

constexpr size_t kWidth = 100;

// Numbers between braces, as many in a line as fit.
template <class Format>
std::string Braced(size_t count, Format format) {
  std::string text = "{\n";
  std::string line = "   ";
  for (size_t i = 0; i < count; ++i) {
    const std::string number = format(i);
    if (line.size() + number.size() + 2 > kWidth) {
      text += line + "\n";
      line = "   ";
    }
    line += " " + number + ",";
  }
  return text + line + "\n};\n";
}

// Nine digits give the same float32 back.
std::string FloatText(float value) {
  std::string text = fmt::format("{:.9g}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

std::string Floats(const std::vector<float>& values) {
  return Braced(values.size(), [&](size_t i) { return FloatText(values[i]); });
}

// -2^31 would be no int32_t in C; the format has 31 bits.
std::string RawIntegers(Span<const float> values) {
  return Braced(values.size(), [&](size_t i) {
    return std::to_string(FixedParameter::FromFloat(values[i]).raw());
  });
}

std::vector<float> FrozenWeights(const ModelInfo& model) {
  std::vector<float> weights;
  for (const nn::LayerPlan& layer : model.layers) {
    if (layer.frozen == nullptr) continue;
    weights.insert(weights.end(), layer.frozen, layer.frozen + layer.parameters());
  }
  return weights;
}

// Metadata may come from a file: within a comment they stay one line.
std::string CommentText(std::string text) {
  for (char& c : text) {
    if (c < ' ' || c > '~' || c == '\\') c = ' ';
  }
  return text;
}

std::string Head(const TrainedModel& model, const std::string& name) {
  std::string text = fmt::format(
      "// Model {} with trained parameters, by Sotto {}.\n"
      "// For Predict() in sotto/predict.h; C takes the numbers alone.\n",
      model.info.name, kVersion);
  for (const auto& [key, value] : model.metadata) {
    text += fmt::format("//   {}: {}\n", CommentText(key), CommentText(value));
  }
  return text + fmt::format("#ifndef SOTTO_{0}_H_\n#define SOTTO_{0}_H_\n\n", name);
}

// The C++ part in front of the parameters.
std::string NetPart(const TrainedModel& model, const std::string& name) {
  std::string text = fmt::format(
      "#if defined(__cplusplus)\n#include \"sotto/predict.h\"\n\nnamespace {} {{\n\n", name);
  if (const std::vector<float> frozen = FrozenWeights(model.info); !frozen.empty()) {
    text +=
        fmt::format("// Of the frozen layers.\ninline constexpr float kFrozenWeights[{}] = {}\n",
                    frozen.size(), Floats(frozen));
  }
  text += posix::PreparationConstants(model.info) + posix::ClassNamesConstant(model.info);
  return text + fmt::format(
                    "using Net = {};\n"
                    "constexpr sotto::ModelInfo kModel = "
                    "sotto::MakePredictionModel<Net>(\"{}\"{});\n\n",
                    posix::NetText(model.info), model.info.name,
                    model.info.class_names.empty() ? "" : ", kClassNames");
}

std::string ThresholdPart(const TrainedModel& model) {
  const std::optional<float> threshold = ThresholdIn(model.metadata);
  if (!threshold) return "";
  return fmt::format(
      "// A sample whose PredictionError() is larger is an anomaly.\n"
      "inline constexpr float kThreshold = {};\n\n",
      FloatText(*threshold));
}

}  // namespace

std::string WriteHeader(const TrainedModel& model) {
  const std::string name = posix::ModelNamespace(model.info.name);
  const bool is_fixed = posix::IsFixedPoint(model.info);
  const Span<const float> parameters = model.parameters;
  std::string text = Head(model, name) + NetPart(model, name) + ThresholdPart(model);
  text += is_fixed ? "// Raw integers of sotto::FixedParameter, in units of 2^-24.\n" : "";
  text += fmt::format(
      "inline constexpr\n#else\n#include <stdint.h>\nstatic const\n#endif\n"
      "{} kParameters[{}] = ",
      is_fixed ? "int32_t" : "float", parameters.size());
  text += is_fixed ? RawIntegers(parameters) : Floats({parameters.begin(), parameters.end()});
  return text + fmt::format(
                    "\n#if defined(__cplusplus)\n}}  // namespace {0}\n#endif\n\n"
                    "#endif  // SOTTO_{0}_H_\n",
                    name);
}

}  // namespace sotto::server
