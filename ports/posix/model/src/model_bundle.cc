#include "sotto/model/model_bundle.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdexcept>

#include "sotto/bytes.h"
#include "sotto/model/layer_kinds.h"
#include "sotto/model/model_text.h"
#include "sotto/model/preparation_kinds.h"
#include "sotto/options/numbers.h"
#include "sotto/update_scale.h"
#include "steps.h"
#include "table.h"

namespace sotto::posix {
namespace {

constexpr char kHead[] = "sotto-model 1\n\0";  // and the null byte of the literal
constexpr size_t kHeadSize = sizeof(kHead);
constexpr size_t kMaxFiles = 2 * kMaxSteps + 1;
constexpr size_t kMaxInText = 64;  // numbers of a key; more of them are a file
static_assert(kHeadSize == 16, "as the header says");
static_assert(kMaxBundle >= kHeadSize + 8 + 4 * kMaxFiles + kMaxBundleText +
                                4 * (size_t{kMaxParameters} + kMaxTensor),
              "each model has a bundle");

// With a point or an exponent, so that TOML reads a float, which has a sign at zero, too. The
// shortest text of a float32 can be one that a double rounds to its neighbour.
std::string RealText(float number) {
  std::string text = fmt::format("{}", number);
  const auto back = static_cast<float>(ParseReal(text).value_or(0));
  if (FloatBits(back) != FloatBits(number)) text = fmt::format("{}", double{number});
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string TomlText(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string TomlText(const Span<const char* const>& texts) {
  std::vector<std::string> quoted;
  for (const char* const text : texts) quoted.push_back(TomlText(text));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

class FileWriter {
 public:
  FileWriter(const ModelInfo& model, const std::string& prefix) : model_(model), prefix_(prefix) {}

  ModelFileText Write() {
    Set("name", TomlText(model_.name));
    Set("input", fmt::format("[{}]", fmt::join(InputAxes(model_), ", ")));
    if (model_.layers[0].tokens > 0) Set("tokens", model_.layers[0].tokens);
    if (!model_.class_names.empty()) Set("classes", TomlText(model_.class_names));
    if (!model_.feature_names.empty()) Set("features", TomlText(model_.feature_names));
    if (!model_.feature_units.empty()) Set("units", TomlText(model_.feature_units));
    if (model_.sample_kind != nullptr) Set("samples", TomlText(model_.sample_kind));
    Set("loss", TomlText(LossName(model_.loss)));
    if (model_.loss.target != nn::TargetKind::kClass) {
      Set("target", TomlText(TargetName(model_.loss)));
    }
    if (IsFixedPoint(model_)) Set("arithmetic", TomlText("fixed-point"));
    WriteFrozen();
    if (const size_t personal = PersonalLayers(model_); personal > 0) Set("personal", personal);
    for (const nn::PreparationStep& step : model_.preparation) WriteStep(step);
    for (const nn::LayerPlan& layer : model_.layers) WriteLayer(layer);
    return std::move(written_);
  }

 private:
  template <class Value>
  void Set(const char* key, const Value& value) {
    written_.text += fmt::format("{} = {}\n", key, value);
  }

  void Begin(const char* table, const char* kind) {
    written_.text += fmt::format("\n[[{}]]\n", table);
    Set("kind", TomlText(kind));
  }

  // Of a file that the text then names.
  std::string Attach(std::vector<float> numbers) {
    const std::string name = fmt::format("{}-{}.f32", prefix_, written_.files.size() + 1);
    written_.files.push_back({name, std::move(numbers)});
    return TomlText(name);
  }

  void WriteFrozen() {
    const size_t frozen = FrozenLayers(model_);
    if (frozen == 0) return;
    std::vector<float> weights;
    for (size_t i = 0; i < frozen; ++i) {
      const nn::LayerPlan& layer = model_.layers[i];
      if (layer.frozen == nullptr) continue;
      weights.insert(weights.end(), layer.frozen, layer.frozen + layer.parameters());
    }
    Set("frozen", frozen);
    Set("frozen-weights", Attach(std::move(weights)));
  }

  std::string NumbersIn(Span<const float> numbers) {
    if (numbers.size() > kMaxInText) return Attach({numbers.begin(), numbers.end()});
    std::vector<std::string> texts;
    for (const float number : numbers) texts.push_back(RealText(number));
    return numbers.size() == 1 ? texts[0] : fmt::format("[{}]", fmt::join(texts, ", "));
  }

  void WriteStep(const nn::PreparationStep& step) {
    const PreparationKindRow& row = KindOf(step);
    Begin("prepare", row.name);
    for (size_t i = 0; i < row.keys.size(); ++i) {
      const PreparationKey& key = row.keys[i];
      if (key.holds == PreparationKey::Holds::kNumbers) {
        Set(key.name, NumbersIn(i == 0 ? step.first : step.second));
      } else {
        Set(key.name, WholeNumberOf(step, i));
      }
    }
  }

  void WriteLayer(const nn::LayerPlan& layer) {
    const LayerKindRow& row = KindOf(layer);
    Begin("layer", row.name);
    for (const LayerKey& key : row.keys) {
      if (key.of == nullptr) continue;
      const uint32_t value = key.of(layer);
      if (key.choices.empty()) {
        Set(key.name, value);
      } else {
        Set(key.name, TomlText(key.choices[value]));
      }
    }
  }

  const ModelInfo& model_;
  const std::string& prefix_;
  ModelFileText written_;
};

constexpr char kPrefix[] = "numbers";
constexpr char kBundlePath[] = "description";  // for messages: a bundle's text has no path

void AddU32(size_t value, std::vector<uint8_t>* bytes) {
  bytes->resize(bytes->size() + 4);
  StoreU32Le(static_cast<uint32_t>(value), bytes->data() + bytes->size() - 4);
}

[[noreturn]] void RefuseBundle(const std::string& why) {
  throw std::invalid_argument(fmt::format("{}: {}", kBundlePath, why));
}

// Takes bytes from the front of a bundle.
class BundleReader {
 public:
  explicit BundleReader(ByteSpan rest) : rest_(rest) {}

  ByteSpan Take(size_t count) {
    if (count > rest_.size()) RefuseBundle("it ends too early; it was cut, or is no model's");
    const ByteSpan taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  uint32_t U32() { return LoadU32Le(Take(4).data()); }
  bool is_empty() const { return rest_.empty(); }

 private:
  ByteSpan rest_;
};

// Nothing of a bundle goes unread: each file is named by its number.
void RequireNamed(const std::string& text, const Beside::Files& files) {
  for (const auto& [name, numbers] : files) {
    if (text.find(TomlText(name)) == std::string::npos) RefuseBundle("its text names no " + name);
  }
}

}  // namespace

ModelFileText FileTextOf(const ModelInfo& model, const std::string& prefix) {
  return FileWriter(model, prefix).Write();
}

std::vector<uint8_t> BundleOf(const ModelInfo& model) {
  const ModelFileText file = FileTextOf(model, kPrefix);
  std::vector<uint8_t> bundle(kHead, kHead + kHeadSize);
  AddU32(file.text.size(), &bundle);
  AddU32(file.files.size(), &bundle);
  for (const ModelFileText::Numbers& part : file.files) AddU32(part.numbers.size(), &bundle);
  bundle.insert(bundle.end(), file.text.begin(), file.text.end());
  for (const ModelFileText::Numbers& part : file.files) {
    for (const float number : part.numbers) AddU32(FloatBits(number), &bundle);
  }
  std::string why = "another digest";
  try {
    const SharedModel again = ParseBundle({bundle.data(), bundle.size()});
    if (ModelDigestHex(*again) == ModelDigestHex(model)) return bundle;
  } catch (const std::invalid_argument& error) {
    why = error.what();
  }
  throw std::logic_error(
      fmt::format("{}: no model file describes this model: {}", model.name, why));
}

SharedModel ParseBundle(ByteSpan bundle) {
  if (bundle.size() > kMaxBundle) {
    RefuseBundle(fmt::format("{} bytes; the most are {}", bundle.size(), kMaxBundle));
  }
  BundleReader reader(bundle);
  const ByteSpan head = reader.Take(kHeadSize);
  if (!std::equal(head.begin(), head.end(), reinterpret_cast<const uint8_t*>(kHead))) {
    RefuseBundle(
        "no description of a model, or one of a later version; take the same version of Sotto");
  }
  const uint32_t text_size = reader.U32();
  const uint32_t count = reader.U32();
  if (text_size > kMaxBundleText || count > kMaxFiles)
    RefuseBundle("its text or its files are too many");
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < count; ++i) numbers.push_back(reader.U32());
  const ByteSpan bytes = reader.Take(text_size);
  const std::string text(bytes.begin(), bytes.end());
  if (text.find('\0') != std::string::npos) RefuseBundle("its text has a null byte");
  Beside::Files files;
  for (uint32_t i = 0; i < count; ++i) {
    files.emplace(fmt::format("{}-{}.f32", kPrefix, i + 1), reader.Take(size_t{4} * numbers[i]));
  }
  if (!reader.is_empty()) RefuseBundle("bytes follow its end");
  RequireNamed(text, files);
  return ParseModel(Beside{kBundlePath, &files}, text);
}

}  // namespace sotto::posix
