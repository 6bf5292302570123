#include "sotto/model/model_file.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "description.h"
#include "sotto/model/layer_kinds.h"
#include "sotto/model/model_text.h"
#include "sotto/models.h"
#include "sotto/nn.h"
#include "sotto/options/toml.h"
#include "sotto/posix/files.h"
#include "sotto/posix/text.h"
#include "sotto/update_scale.h"
#include "steps.h"
#include "table.h"

namespace sotto::posix {
namespace {

using nn::LayerPlan;
using nn::Shape;

constexpr char kExpectedInput[] =
    "[features], [length, channels] or [height, width, channels], each at least 1";

// A model and all that its ModelInfo points to.
struct OwnedModel {
  std::string name;
  std::vector<LayerPlan> layers;
  std::vector<float> frozen;
  OwnedSteps preparation;
  OwnedDescription description;
  ModelInfo info;
};

nn::LossPlan InFixedPoint(nn::LossPlan loss) {
  switch (loss.kind) {
    case nn::LossKind::kSoftmaxCrossEntropy:
      loss.errors = nn::SoftmaxCrossEntropy::FixedPlan().errors;
      break;
    case nn::LossKind::kOneVsAll:
      loss.errors = nn::OneVsAll::FixedPlan().errors;
      break;
    case nn::LossKind::kMeanSquaredError:
      loss.errors = nn::MeanSquaredError<>::FixedPlan().errors;
      break;
  }
  return loss;
}

// The functions that `use` gives, for a model that prepares samples or does not.
template <void (*use)(ModelInfo*)>
void Use(ModelInfo* info) {
  info->preparation.empty() ? use(info) : nn::internal::UsePrepared<use>(info);
  if (!info->class_names.empty()) info->update_digest = nn::internal::UpdatePreparedDigest;
  if (DescribesSamples(*info)) info->update_digest = nn::internal::UpdateDescribedDigest;
  if (info->personal > 0) nn::internal::UsePersonal(info->personal, info);
}

// Changes the model, or says why there is no fixed point for it: see FixedPoint in nn.h.
std::string ChangeToFixedPoint(OwnedModel* model) {
  constexpr uint32_t kMaxInputs = 8192;  // of a single layer
  ModelInfo& info = model->info;
  if (info.personal > 0) return "has no personal layers";
  info.layers = {model->layers.data(), model->layers.size()};
  if (nn::IsSoftmaxRegression(info.layers, info.loss)) {
    if (info.PreparedShape().size() > kMaxInputs)
      return fmt::format("takes at most {} inputs", kMaxInputs);
    model->layers[0].functions = {};
    info.loss.errors = nullptr;
    Use<nn::internal::UseFixedSoftmaxRegression>(&info);
    return "";
  }
  for (LayerPlan& layer : model->layers) {
    const LayerKindRow& kind = KindOf(layer);
    if (layer.frozen != nullptr) return "has no frozen layers";
    if (kind.in_fixed_point == nullptr) return fmt::format("has no {}", kind.name);
    layer = kind.in_fixed_point(layer);
  }
  info.loss = InFixedPoint(info.loss);
  Use<nn::internal::UseFixedNet>(&info);
  return "";
}

bool IsModelName(const std::string& name) {
  return !name.empty() && name.size() <= kMaxNameLength &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '-';
         });
}

class Builder {
 public:
  Builder(Beside beside, const Document& document)
      : beside_(std::move(beside)), document_(document), top_(document.model) {}

  std::shared_ptr<const OwnedModel> Build() {
    top_.RequireKnown({"name", "input", "tokens", "missing", "classes", "features", "units",
                       "samples", "loss", "target", "arithmetic", "frozen", "frozen-weights",
                       "personal"});
    ReadName();
    ReadInput();
    ReadPreparation();
    ReadLayers();
    ReadFrozen();
    ReadPersonal();
    ReadLoss();
    CountParameters();
    ReadDescription(top_, &model_->description, &info());
    UseFunctions();
    RequireOwnName();
    return model_;
  }

 private:
  ModelInfo& info() { return model_->info; }

  void ReadName() {
    model_->name = top_.Text("name", "name = \"my-net\"");
    if (!IsModelName(model_->name)) {
      top_.Refuse("name",
                  fmt::format("a name has 1 to {} characters of A-Z a-z 0-9 . -", kMaxNameLength));
    }
    info().name = model_->name.c_str();
  }

  void ReadInput() {
    const std::vector<uint32_t> axes = top_.Numbers("input", kExpectedInput);
    if (axes.empty() || axes.size() > 3) {
      top_.Refuse("input", fmt::format("{} axes; expected {}", axes.size(), kExpectedInput));
    }
    input_.channels = axes.back();
    if (axes.size() > 1) input_.width = axes[axes.size() - 2];
    if (axes.size() > 2) input_.height = axes[0];
    uint64_t size = 1;
    for (const uint32_t axis : axes) {
      size *= axis;
      if (size > kMaxTensor) {
        top_.Refuse("input",
                    fmt::format("{} is more than {} numbers", fmt::join(axes, " x "), kMaxTensor));
      }
    }
    if (!top_.Has("tokens")) return;
    tokens_ = top_.Number("tokens", 1);
    if (axes.size() != 1) top_.Refuse("input", "a model of tokens has input = [length]");
    input_ = {1, axes[0], 1};
  }

  void ReadPreparation() {
    const bool prepares = top_.Has("missing") || !document_.steps.empty();
    if (tokens_ > 0 && prepares) {
      (document_.steps.empty() ? top_ : document_.steps[0])
          .Refuse("tokens are ids: nothing prepares them; leave missing and [[prepare]] out");
    }
    model_->preparation = ReadSteps(beside_, top_, document_.steps, input_);
    const std::vector<nn::PreparationStep>& steps = model_->preparation.steps;
    info().preparation = {steps.data(), steps.size()};
    prepared_ = nn::PreparedShape(info().preparation, input_);
  }

  void ReadLayers() {
    if (document_.layers.empty()) top_.Refuse("there is no layer; expected [[layer]]");
    Shape reaches = prepared_;
    std::string from =
        (prepared_ == input_ ? "the input, " : "the prepared input, ") + ShapeText(prepared_);
    uint64_t parameters = 0;
    for (const Table& layer : document_.layers) {
      const LayerPlan plan = ReadLayer(layer, reaches, from);
      parameters += plan.parameters();
      if (parameters > kMaxParameters) {
        layer.Refuse(fmt::format("up to here the model has {} parameters; the most are {}",
                                 parameters, kMaxParameters));
      }
      model_->layers.push_back(plan);
      reaches = branches_.Follow(
          plan.info, reaches, [&](const Shape&) { return plan.info.output; },
          [](const Shape& sum, const Shape&) { return sum; });
      from = fmt::format("layer {} ({}), which gives {}", model_->layers.size(), KindOf(plan).name,
                         ShapeText(reaches));
    }
    RequireBranchesEnded();
    model_->layers[0].prepared_in =
        static_cast<uint32_t>(nn::PreparationFloats(info().preparation, input_));
    nn::PlaceTensors(model_->layers.data(), model_->layers.size());
    if (tokens_ > 0 && model_->layers[0].tokens == 0) {
      document_.layers[0].Refuse("the first layer of a model of tokens is embedding");
    }
    info().inputs = input_.size();
    info().outputs = reaches.size();
  }

  void RequireBranchesEnded() const {
    if (branches_.waiting().empty()) return;
    document_.layers.back().Refuse(
        fmt::format("branch {0} still waits behind the last layer; end it by kind = \"add\" and "
                    "branch = {0}",
                    branches_.waiting().begin()->first));
  }

  LayerPlan ReadLayer(const Table& table, const Shape& input, const std::string& from) {
    const LayerKindRow& row = KindIn(LayerKinds(), table, "for example kind = \"dense\"");
    const Table named = TableOf(row, table, "layer", model_->layers.size() + 1);
    if (!model_->layers.empty() && std::string(row.name) == "embedding") {
      named.Refuse("embedding is the first layer of its model");
    }
    const LayerValues values = ReadValues(named, row);
    try {
      return row.plan(values, input);
    } catch (const std::invalid_argument& error) {
      named.Refuse(fmt::format("does not fit {}: {}", from, error.what()));
    }
  }

  LayerValues ReadValues(const Table& table, const LayerKindRow& row) const {
    LayerValues values;
    values.tokens = tokens_;
    values.branches = &branches_.waiting();
    for (const LayerKey& key : row.keys) {
      if (key.fallback != nullptr && !table.Has(key.name)) continue;
      values.values[key.name] = key.choices.empty() ? table.Number(key.name, key.least)
                                                    : table.Choice(key.name, key.choices);
    }
    return values;
  }

  void ReadFrozen() {
    if (top_.Has("frozen") != top_.Has("frozen-weights")) {
      top_.Refuse(top_.Has("frozen") ? "frozen" : "frozen-weights",
                  "frozen = N, the number of layers, and frozen-weights = \"FILE\" go together");
    }
    if (!top_.Has("frozen")) return;
    const uint32_t count = top_.Number("frozen", 1);
    if (count > model_->layers.size()) {
      top_.Refuse("frozen", fmt::format("frozen = {}, but there are {} layers", count,
                                        model_->layers.size()));
    }
    size_t numbers = 0;
    for (size_t i = 0; i < count; ++i) numbers += model_->layers[i].parameters();
    if (numbers == 0) {
      top_.Refuse("frozen", fmt::format("the first {} layers have no parameters", count));
    }
    ReadWeights(numbers);
    const float* next = model_->frozen.data();
    for (size_t i = 0; i < count; ++i) {
      LayerPlan& layer = model_->layers[i];
      if (layer.parameters() > 0) layer.frozen = next;
      next += layer.parameters();
    }
  }

  void ReadPersonal() {
    if (!top_.Has("personal")) return;
    std::vector<LayerPlan>& layers = model_->layers;
    const uint32_t count = top_.Number("personal", 1);
    if (count > layers.size()) {
      top_.Refuse("personal",
                  fmt::format("personal = {}, but there are {} layers", count, layers.size()));
    }
    const size_t first = layers.size() - count;
    for (size_t i = first; i < layers.size(); ++i) {
      if (layers[i].frozen != nullptr) {
        top_.Refuse("personal", fmt::format("layer {} is frozen; a personal layer is trained, and "
                                            "stands behind all others",
                                            i + 1));
      }
      layers[i].is_personal = layers[i].parameters() > 0;
    }
    const auto is_personal = [](const LayerPlan& layer) { return layer.is_personal; };
    if (std::none_of(layers.begin(), layers.end(), is_personal)) {
      top_.Refuse("personal", fmt::format("the last {} layers have no parameters", count));
    }
    const auto is_shared = [](const LayerPlan& layer) { return layer.shared() > 0; };
    if (std::none_of(layers.begin(), layers.end(), is_shared)) {
      top_.Refuse("personal", "no layer is left that is trained and sent; make fewer personal");
    }
  }

  void ReadWeights(size_t numbers) {
    const FloatFile file(beside_, top_, "frozen-weights", "a file of float32, little-endian");
    if (file.bytes() != 4 * uintmax_t{numbers}) {
      top_.Refuse("frozen-weights",
                  fmt::format("{} has {} bytes; the frozen layers have {} parameters of 4 bytes, "
                              "{} bytes",
                              file.path(), file.bytes(), numbers, 4 * numbers));
    }
    model_->frozen = file.Read(numbers);
  }

  void ReadLoss() {
    const uint32_t loss =
        top_.Has("loss") ? top_.Choice("loss", {"softmax", "one-vs-all", "mean-squared-error"}) : 0;
    if (loss < 2 && top_.Has("target")) {
      top_.Refuse("target", "the target of softmax and one-vs-all is a class; leave the key out");
    }
    if (loss == 0) info().loss = nn::SoftmaxCrossEntropy::Plan();
    if (loss == 1) info().loss = nn::OneVsAll::Plan();
    if (loss == 2) info().loss = SquaredError();
    info().classes = info().loss.Classes(info().outputs);
  }

  nn::LossPlan SquaredError() const {
    if (top_.Choice("target", {"vector", "input"}) == 0) {
      return nn::MeanSquaredError<nn::TargetKind::kVector>::Plan();
    }
    const LayerPlan& first = model_->layers[0];
    const LayerPlan& last = model_->layers.back();
    if (last.info.output.size() != first.info.input.size()) {
      top_.Refuse("target", fmt::format("the target is the input, {} numbers, but the last layer "
                                        "gives {}",
                                        first.info.input.size(), last.info.output.size()));
    }
    const auto overwrites =
        std::find_if(model_->layers.begin(), model_->layers.end(), nn::internal::OverwritesSample);
    if (overwrites != model_->layers.end()) {
      top_.Refuse("target",
                  fmt::format("layer {} ({}) overwrites the sample, which the loss "
                              "needs; let another layer read the sample first",
                              overwrites - model_->layers.begin() + 1, KindOf(*overwrites).name));
    }
    return nn::MeanSquaredError<nn::TargetKind::kInput>::Plan();
  }

  void CountParameters() {
    for (const LayerPlan& layer : model_->layers) {
      info().parameters += layer.shared();
      info().personal += layer.trained() - layer.shared();
    }
    if (info().parameters == 0) top_.Refuse("nothing is trained: no layer has parameters");
    info().layers = {model_->layers.data(), model_->layers.size()};
  }

  void UseFunctions() {
    if (nn::IsSoftmaxRegression(info().layers, info().loss)) {
      model_->layers[0].functions = {};  // not used
      Use<nn::internal::UseSoftmaxRegression>(&info());
    } else {
      Use<nn::internal::UseNet>(&info());
    }
    if (!top_.Has("arithmetic")) return;
    if (top_.Choice("arithmetic", {"float32", "fixed-point"}) == 0) return;
    const std::string why_not = ChangeToFixedPoint(model_.get());
    if (!why_not.empty()) {
      top_.Refuse("arithmetic", fmt::format("fixed point {}; use float32", why_not));
    }
  }

  // Two nets of one name would be hard to tell apart in logs and ledgers.
  void RequireOwnName() const {
    const ModelInfo* const named = FindModel(model_->name.c_str());
    if (named == nullptr) return;
    uint8_t theirs[kSha256Size];
    uint8_t ours[kSha256Size];
    if (ModelDigest(*named, theirs) != Status::kOk ||
        ModelDigest(model_->info, ours) != Status::kOk) {
      throw std::runtime_error("SHA-256 failed");
    }
    if (std::equal(theirs, theirs + kSha256Size, ours)) return;
    top_.Refuse("name", fmt::format("{} is the name of another net, see `sotto model`; choose one "
                                    "of your own",
                                    model_->name));
  }

  Beside beside_;
  const Document& document_;
  const Table& top_;
  std::shared_ptr<OwnedModel> model_ = std::make_shared<OwnedModel>();
  Shape input_;
  Shape prepared_;  // what the steps make of it
  uint32_t tokens_ = 0;
  BranchValues<Shape> branches_;  // behind the layers so far
};

}  // namespace

SharedModel ParseModel(const Beside& beside, const std::string& text) {
  try {
    const Document document = ReadTables(beside.path, text);
    const std::shared_ptr<const OwnedModel> model = Builder(beside, document).Build();
    return {model, &model->info};
  } catch (const TomlError& error) {
    throw std::invalid_argument(error.In(beside.path));
  }
}

SharedModel ParseModel(const std::string& path, const std::string& text) {
  return ParseModel(Beside{path}, text);
}

SharedModel ReadModelFile(const std::string& path) {
  RequireRegularFile(path);
  const std::optional<std::string> text = ReadCleanText(path);
  if (!text) throw std::invalid_argument(path + ": there is no such file");
  return ParseModel(path, *text);
}

bool IsModelFile(const std::string& value) {
  const std::string end = ".toml";
  return value.find('/') != std::string::npos ||
         (value.size() >= end.size() && value.substr(value.size() - end.size()) == end);
}

SharedModel OpenModel(const std::string& value) {
  if (IsModelFile(value)) return ReadModelFile(value);
  if (const ModelInfo* named = FindModel(value.c_str())) return {SharedModel(), named};
  std::error_code ignored;
  if (std::filesystem::is_regular_file(value, ignored)) {
    throw std::invalid_argument(
        fmt::format("{}: a file that describes a model has a name that ends in .toml; rename it, "
                    "or if it holds trained parameters, name the model that has them",
                    value));
  }
  std::vector<std::string> names;
  for (const ModelInfo& model : Models()) names.emplace_back(model.name);
  throw std::invalid_argument(
      fmt::format("{}: no such model{} The names: {}. A model of your own is a file, NAME.toml: "
                  "server/MODELS.md",
                  value, Suggestion(value, names), fmt::join(names, ", ")));
}

SharedModel WithFixedPoint(const ModelInfo& model) {
  const auto fixed = std::make_shared<OwnedModel>();
  fixed->layers.assign(model.layers.begin(), model.layers.end());
  fixed->info = model;
  return ChangeToFixedPoint(fixed.get()).empty() ? SharedModel(fixed, &fixed->info) : nullptr;
}

bool IsFixedPoint(const ModelInfo& model) {
  return model.begin_training == nn::internal::FixedBegin;
}

}  // namespace sotto::posix
