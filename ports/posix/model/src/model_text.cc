#include "sotto/model/model_text.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vector>

#include "sotto/model/layer_kinds.h"
#include "sotto/model/model_file.h"
#include "sotto/model/preparation_kinds.h"
#include "sotto/models.h"
#include "sotto/nn.h"
#include "sotto/personal.h"
#include "sotto/posix/check.h"
#include "sotto/posix/hex.h"

namespace sotto::posix {
namespace {

using nn::LayerPlan;
using nn::Shape;

constexpr size_t kShownDigits = 8;  // of a digest, in a log
constexpr char kIn[] = "sotto::nn::";

uint32_t FrozenParameters(const ModelInfo& model) {
  uint32_t count = 0;
  for (const LayerPlan& layer : model.layers) count += layer.parameters() - layer.trained();
  return count;
}

// A vector in front of Dense needs no Input.
bool NeedsInput(const ModelInfo& model) {
  const nn::LayerInfo& first = model.layers[0].info;
  return first.kind != nn::LayerKind::kDense || first.input.size() != first.input.channels ||
         FrozenLayers(model) > 0 || !model.preparation.empty();
}

std::string InputCpp(const ModelInfo& model) {
  const char* const type = model.layers[0].tokens > 0 ? "Tokens" : "Input";
  return fmt::format("{}{}<{}>", kIn, type, fmt::join(InputAxes(model), ", "));
}

std::string LossCpp(const nn::LossPlan& loss) {
  switch (loss.kind) {
    case nn::LossKind::kSoftmaxCrossEntropy:
      return "";
    case nn::LossKind::kOneVsAll:
      return fmt::format("{}OneVsAll", kIn);
    case nn::LossKind::kMeanSquaredError:
      break;
  }
  if (loss.target == nn::TargetKind::kVector) return fmt::format("{}MeanSquaredError<>", kIn);
  return fmt::format("{0}MeanSquaredError<{0}TargetKind::kInput>", kIn);
}

std::vector<std::string> Entries(const ModelInfo& model) {
  std::vector<std::string> entries;
  if (NeedsInput(model)) entries.push_back(InputCpp(model));
  for (size_t i = 0; i < model.preparation.size(); ++i) {
    entries.push_back(kIn + PreparationType(model.preparation[i], i + 1));
  }
  const size_t frozen = FrozenLayers(model);
  const size_t layers = model.layers.size();
  const size_t personal = layers - PersonalLayers(model);  // the first one
  for (size_t i = 0; i < layers; ++i) {
    std::string entry = kIn + CppType(model.layers[i]);
    if (frozen > 0 && i == 0)
      entry = fmt::format("{}Frozen<kFrozenWeights,\n        {}", kIn, entry);
    if (i == personal) entry = fmt::format("{}Personal<\n        {}", kIn, entry);
    if ((i > 0 && i < frozen) || i > personal) entry = "    " + entry;
    if (i + 1 == frozen || (personal < layers && i + 1 == layers)) entry += ">";
    entries.push_back(entry);
  }
  if (const std::string loss = LossCpp(model.loss); !loss.empty()) entries.push_back(loss);
  return entries;
}

std::string KeyText(const LayerKey& key) {
  return key.choices.empty()
             ? fmt::format("`{}`", key.name)
             : fmt::format("`{} = \"{}\"`", key.name, fmt::join(key.choices, "\"` or `\""));
}

std::string KeyText(const PreparationKey& key) { return fmt::format("`{}`", key.name); }

template <class Row>
std::string TableOf(const std::vector<Row>& rows) {
  std::string table = "| kind | what it does | keys (what they are if absent) |\n|---|---|---|\n";
  for (const Row& row : rows) {
    std::vector<std::string> keys;
    for (const auto& key : row.keys) {
      keys.push_back(KeyText(key));
      if (key.fallback != nullptr) keys.back() += fmt::format(" ({})", key.fallback);
    }
    if (keys.empty()) keys.emplace_back("none");
    table += fmt::format("| `{}` | {} | {} |\n", row.name, row.does, fmt::join(keys, ", "));
  }
  return table;
}

char ToUpper(char c) { return 'a' <= c && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

// The type and the ModelInfo, in the model's namespace.
std::string CppConstants(const ModelInfo& model) {
  const std::string space = ModelNamespace(model.name);
  std::string text = fmt::format("namespace {} {{\n\n", space);
  if (const uint32_t frozen = FrozenParameters(model); frozen > 0) {
    text += fmt::format(
        "// The weights of the frozen layers, float32, in the order of the layers. Define the "
        "array in a\n// source file of the firmware; it stays in flash.\n"
        "extern const float kFrozenWeights[{}];\n\n",
        frozen);
  }
  if (const std::string constants =
          PreparationConstants(model) + ClassNamesConstant(model) + DescriptionConstants(model);
      !constants.empty()) {
    text += constants + "\n";
  }
  text += fmt::format("using Net = {};\n", NetText(model));
  const bool is_described = DescribesSamples(model);
  return text + fmt::format(
                    "constexpr sotto::ModelInfo kModel = "
                    "sotto::MakeModelInfo<Net{}>(\"{}\"{});\n\n}}  // namespace {}\n",
                    is_described ? ", kDescription" : "", model.name,
                    model.class_names.empty() || is_described ? "" : ", kClassNames", space);
}

}  // namespace

std::vector<uint32_t> InputAxes(const ModelInfo& model) {
  const Shape shape = model.SampleShape();
  if (model.layers[0].tokens > 0) return {shape.width};
  std::vector<uint32_t> axes = {shape.channels};
  if (shape.width > 1 || shape.height > 1) axes.insert(axes.begin(), shape.width);
  if (shape.height > 1) axes.insert(axes.begin(), shape.height);
  return axes;
}

size_t FrozenLayers(const ModelInfo& model) {
  size_t count = 0;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    if (model.layers[i].frozen != nullptr) count = i + 1;
  }
  return count;
}

size_t PersonalLayers(const ModelInfo& model) {
  for (size_t i = 0; i < model.layers.size(); ++i) {
    if (model.layers[i].is_personal) return model.layers.size() - i;
  }
  return 0;
}

std::string NetText(const ModelInfo& model) {
  const std::string net =
      fmt::format("{}Sequential<\n    {}>", kIn, fmt::join(Entries(model), ",\n    "));
  return IsFixedPoint(model) ? fmt::format("{}FixedPoint<{}>", kIn, net) : net;
}

// A name in C and C++ for every model's name.
std::string ModelNamespace(const std::string& name) {
  std::string identifier = "model";
  bool is_gap = true;
  for (const char c : name) {
    const bool is_part = c != '-' && c != '.';
    if (is_part && is_gap) identifier += '_';
    if (is_part) identifier += c;
    is_gap = !is_part;
  }
  return identifier;
}

std::string CppText(const ModelInfo& model) {
  return fmt::format("#include \"sotto/nn.h\"\n\n{}", CppConstants(model));
}

// The C++ part defines the function with the constants that C has, so they cannot differ.
std::string CText(const ModelInfo& model, uint32_t batch_size) {
  const std::string space = ModelNamespace(model.name);
  const std::string function = "sotto_" + space;
  std::string prefix = space;
  std::transform(prefix.begin(), prefix.end(), prefix.begin(), ToUpper);
  std::string text = fmt::format(
      "/* The model {0} for C. One C++ file of the firmware defines SOTTO_DEFINE_MODELS and\n"
      " * includes this header, too; all others call {1}(). */\n"
      "#ifndef SOTTO_{2}_H_\n#define SOTTO_{2}_H_\n\n#include \"sotto_c.h\"\n\n",
      model.name, function, prefix);
  const auto constant = [&](const char* name, size_t value, const char* comment) {
    text += fmt::format("#define {}_{} {}{}\n", prefix, name, value, comment);
  };
  constant("INPUTS", model.inputs, "");
  constant("OUTPUTS", model.outputs, "");
  constant("CLASSES", model.classes, "");
  constant("PARAMETERS", model.parameters, "");
  // C has no empty array.
  constant("PREDICT_FLOATS", std::max<size_t>(1, model.predict_floats(model)), "");
  constant("MAX_BATCH", batch_size, "");
  constant("WORKSPACE", MemoryOnDevice(model, batch_size).workspace,
           " /* bytes, for batches of MAX_BATCH */");
  return text + fmt::format(
                    "\n#ifdef __cplusplus\nextern \"C\"\n#endif\n"
                    "const sotto_model* {0}(void);\n\n"
                    "#if defined(__cplusplus) && defined(SOTTO_DEFINE_MODELS)\n"
                    "#include \"sotto/c_model.h\"\n#include \"sotto/client.h\"\n\n{1}\n"
                    "static_assert({2}::Net::kParameters == {3}_PARAMETERS);\n"
                    "static_assert(sotto::ClientWorkspaceBytes<{2}::Net, {3}_MAX_BATCH>() <=\n"
                    "              {3}_WORKSPACE);\n"
                    "const sotto_model* {0}(void) {{\n"
                    "  static constexpr sotto_model model = {{{2}::kModel}};\n"
                    "  return &model;\n}}\n#endif\n\n#endif /* SOTTO_{3}_H_ */\n",
                    function, CppConstants(model), space, prefix);
}

bool DescribesSamples(const ModelInfo& model) {
  return !model.feature_names.empty() || !model.feature_units.empty() ||
         model.sample_kind != nullptr;
}

const char* LossName(const nn::LossPlan& loss) {
  switch (loss.kind) {
    case nn::LossKind::kSoftmaxCrossEntropy:
      return "softmax";
    case nn::LossKind::kOneVsAll:
      return "one-vs-all";
    case nn::LossKind::kMeanSquaredError:
      return "mean-squared-error";
  }
  return "";
}

const char* TargetName(const nn::LossPlan& loss) {
  switch (loss.target) {
    case nn::TargetKind::kClass:
      return "class";
    case nn::TargetKind::kVector:
      return "vector";
    case nn::TargetKind::kInput:
      return "input";
  }
  return "";
}

// Before the first layer that is trained no delta is needed.
Work MultiplyAccumulates(const ModelInfo& model) {
  Work work;
  bool needs_delta = false;
  for (const LayerPlan& layer : model.layers) {
    const uint64_t forward = MultiplyAccumulates(layer);
    const bool is_trained = layer.trained() > 0;
    work.forward += forward;
    work.training += forward * (1 + (is_trained ? 1 : 0) + (needs_delta ? 1 : 0));
    needs_delta = needs_delta || is_trained;
  }
  return work;
}

DeviceMemory MemoryOnDevice(const ModelInfo& model, uint32_t batch_size) {
  constexpr size_t kChunk = 1000;  // of ClientWorkspaceBytes(), which takes turns with training
  const size_t training = sizeof(float) * model.training_floats(model, batch_size);
  DeviceMemory memory;
  memory.vectors = sizeof(float) * (size_t{model.parameters} + model.trained());
  memory.workspace =
      alignof(uint32_t) - 1 + std::max(training, kChunk) + sizeof(uint32_t) * size_t{batch_size};
  memory.velocity = model.has_momentum ? sizeof(float) * model.trained() : 0;
  memory.gradient = model.has_gradient_options ? sizeof(float) * model.trained() : 0;
  memory.record = model.personal > 0 ? PersonalRecordBytes(model.personal) : 0;
  memory.constants = sizeof(float) * FrozenParameters(model);
  for (const nn::PreparationStep& step : model.preparation) {
    memory.preparation += sizeof(float) * (step.first.size() + step.second.size());
  }
  return memory;
}

std::string ModelDigestHex(const ModelInfo& model) {
  uint8_t digest[kSha256Size] = {};
  Check(ModelDigest(model, digest), "SHA-256");
  return Hex(digest);
}

std::string DescribeModel(const ModelInfo& model) {
  return fmt::format("{} (digest {})", model.name, ModelDigestHex(model).substr(0, kShownDigits));
}

std::string DescribeModelOf(ByteSpan digest) {
  const std::string digits = Hex(digest);
  for (const ModelInfo& model : Models()) {
    if (ModelDigestHex(model) == digits) return DescribeModel(model);
  }
  return fmt::format("a model that is not built in (digest {})", digits.substr(0, kShownDigits));
}

std::string KindsTables() { return TableOf(LayerKinds()) + "\n" + TableOf(PreparationKinds()); }

}  // namespace sotto::posix
