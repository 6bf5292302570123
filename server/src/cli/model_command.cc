#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "cli/commands.h"
#include "cli/model_source.h"
#include "cli/rows.h"
#include "sotto/model/layer_kinds.h"
#include "sotto/model/model_bundle.h"
#include "sotto/model/model_file.h"
#include "sotto/model/model_text.h"
#include "sotto/model/preparation_kinds.h"
#include "sotto/models.h"
#include "views/output_file.h"
#include "views/report.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

struct ShowOptions {
  std::string model;
  uint32_t batch_size = 10;
  std::string json;
  std::string store;
  std::optional<uint32_t> job;
  bool cpp = false;
  bool c = false;
  bool toml = false;
  std::string numbers;
};

using ModelShowRow = posix::Field<ShowOptions>;

std::string InputText(const ModelInfo& model) {
  const nn::LayerPlan& first = model.layers[0];
  if (first.tokens == 0) return posix::ShapeText(model.SampleShape());
  return fmt::format("{} tokens of {}", first.info.input.width, first.tokens);
}

// "28,000"
std::string Grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<size_t>(at), ",");
  }
  return text;
}

// A layer's type without its namespace.
std::string LayerText(const nn::LayerPlan& layer) {
  const std::string space = "sotto::nn::";
  std::string text = posix::CppType(layer);
  for (size_t at = 0; (at = text.find(space)) != std::string::npos;) text.erase(at, space.size());
  return text;
}

std::string ParametersText(const nn::LayerPlan& layer) {
  const std::string count = Grouped(layer.parameters());
  if (layer.is_personal) return count + " personal";
  return layer.frozen == nullptr ? count : count + " frozen";
}

std::string DescribeLayers(const ModelInfo& model) {
  std::string text = fmt::format("\n      {:<32}{:<16}{:>14}{:>24}\n", "layer", "output",
                                 "parameters", "multiply-accumulates");
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const nn::LayerPlan& layer = model.layers[i];
    text += fmt::format("{:>4}  {:<32}{:<16}{:>14}{:>24}\n", i + 1, LayerText(layer),
                        posix::ShapeText(layer.info.output), ParametersText(layer),
                        Grouped(posix::MultiplyAccumulates(layer)));
  }
  return text;
}

std::string Joined(Span<const char* const> names) {
  return fmt::format("{}", fmt::join(names.begin(), names.end(), ", "));
}

std::string DescribeNames(const ModelInfo& model) {
  std::string text;
  const auto add = [&](const char* what, const std::string& names) {
    if (!names.empty()) text += fmt::format("{}{:<20}{}\n", text.empty() ? "\n" : "", what, names);
  };
  add("classes", Joined(model.class_names));
  add("features", Joined(model.feature_names));
  add("units", Joined(model.feature_units));
  add("samples", model.sample_kind == nullptr ? "" : model.sample_kind);
  return text;
}

// What a device does to a sample first, and what the model's numbers mean.
std::string DescribeSamples(const ModelInfo& model) {
  std::string text;
  if (!model.preparation.empty()) text += "\n      samples are prepared by\n";
  for (size_t i = 0; i < model.preparation.size(); ++i) {
    const nn::PreparationStep& step = model.preparation[i];
    const std::string values = posix::PreparationText(step);
    text += fmt::format("{:>4}  {}{}{}\n", i + 1, posix::KindOf(step).name,
                        values.empty() ? "" : ": ", values);
  }
  return text + DescribeNames(model);
}

std::string DescribeMemory(const ModelInfo& model, uint32_t batch_size, const char* arithmetic) {
  const posix::DeviceMemory memory = posix::MemoryOnDevice(model, batch_size);
  std::string text = fmt::format(
      "\non a device, {}, batches of at most {}\n"
      "  model and update  {:>12} bytes, 8 a parameter{}\n"
      "  workspace         {:>12} bytes\n",
      arithmetic, batch_size, Grouped(memory.vectors),
      model.personal > 0 ? ", 4 a personal one" : "", Grouped(memory.workspace));
  if (memory.velocity > 0) {
    text += fmt::format("  momentum          {:>12} bytes more, for jobs that have it\n",
                        Grouped(memory.velocity));
  }
  if (memory.gradient > 0) {
    const bool is_of_batch = model.gradient_for == GradientClipOf::kBatch;
    text +=
        fmt::format("  gradient clip     {:>12} bytes more, for jobs that clip gradients of {}\n",
                    Grouped(memory.gradient), is_of_batch ? "batches" : "samples");
  }
  if (memory.constants > 0) {
    text += fmt::format("  frozen layers     {:>12} bytes of flash\n", Grouped(memory.constants));
  }
  if (memory.record > 0) {
    text += fmt::format("  personal layers   {:>12} bytes of the store\n", Grouped(memory.record));
  }
  if (memory.preparation > 0) {
    text += fmt::format("  preparation       {:>12} bytes of flash\n", Grouped(memory.preparation));
  }
  return text;
}

// One table if both arithmetics take the same.
std::string DescribeDevices(const ModelInfo& model, uint32_t batch_size) {
  if (posix::IsFixedPoint(model)) return DescribeMemory(model, batch_size, "fixed point");
  const posix::SharedModel fixed = posix::WithFixedPoint(model);
  if (!fixed) return DescribeMemory(model, batch_size, "float32");
  const std::string both = DescribeMemory(model, batch_size, "float32 or fixed point");
  if (both == DescribeMemory(*fixed, batch_size, "float32 or fixed point")) return both;
  return DescribeMemory(model, batch_size, "float32") +
         DescribeMemory(*fixed, batch_size, "fixed point");
}

std::string Describe(const ModelInfo& model, const ShowOptions& o) {
  const posix::Work work = posix::MultiplyAccumulates(model);
  std::string text =
      fmt::format("{}: {} in, {} out, loss {}, target {}\n", model.name, InputText(model),
                  model.outputs, posix::LossName(model.loss), posix::TargetName(model.loss));
  text += DescribeSamples(model);
  text += DescribeLayers(model);
  text += fmt::format(
      "\nparameters          {}, a download of {} bytes{}\n"
      "digest              {}\n"
      "multiply-accumulates of a sample: {} forward, {} in training\n",
      Grouped(model.parameters), Grouped(uint64_t{4} * model.parameters),
      model.personal > 0
          ? fmt::format("; {} personal ones stay on the device", Grouped(model.personal))
          : "",
      posix::ModelDigestHex(model), Grouped(work.forward), Grouped(work.training));
  return text + DescribeDevices(model, o.batch_size);
}

Json ToJson(const nn::Shape& shape) { return {shape.height, shape.width, shape.channels}; }

Json ToJson(const posix::DeviceMemory& memory) {
  return {{"vectors_bytes", memory.vectors},     {"workspace_bytes", memory.workspace},
          {"velocity_bytes", memory.velocity},   {"gradient_bytes", memory.gradient},
          {"constants_bytes", memory.constants}, {"preparation_bytes", memory.preparation},
          {"record_bytes", memory.record}};
}

// Of each float32 its shortest decimal, not all digits of a double.
Json ToJson(Span<const float> numbers) {
  Json json = Json::array();
  for (const float number : numbers) json.push_back(std::stod(fmt::format("{}", number)));
  return json;
}

Json ToJson(const nn::PreparationStep& step) {
  const posix::PreparationKindRow& kind = posix::KindOf(step);
  Json json = {{"kind", kind.name}};
  for (size_t i = 0; i < kind.keys.size(); ++i) {
    const bool has_numbers = kind.keys[i].holds == posix::PreparationKey::Holds::kNumbers;
    json[kind.keys[i].name] = has_numbers ? ToJson(i == 0 ? step.first : step.second)
                                          : Json(posix::WholeNumberOf(step, i));
  }
  json["in_training_only"] = step.is_random;
  json["output"] = ToJson(step.output);
  return json;
}

Json ToJson(const nn::LayerPlan& layer) {
  return {{"kind", posix::KindOf(layer).name},
          {"type", LayerText(layer)},
          {"input", ToJson(layer.info.input)},
          {"output", ToJson(layer.info.output)},
          {"parameters", layer.parameters()},
          {"frozen", layer.frozen != nullptr},
          {"personal", layer.is_personal},
          {"multiply_accumulates", posix::MultiplyAccumulates(layer)}};
}

std::vector<std::string> NamesOf(Span<const char* const> names) {
  return {names.begin(), names.end()};
}

Json ToJson(const ModelInfo& model, uint32_t batch_size) {
  const posix::Work work = posix::MultiplyAccumulates(model);
  Json json = {{"name", model.name},
               {"digest", posix::ModelDigestHex(model)},
               {"input", ToJson(model.SampleShape())},
               {"tokens", model.layers[0].tokens},
               {"outputs", model.outputs},
               {"classes", model.classes},
               {"loss", posix::LossName(model.loss)},
               {"target", posix::TargetName(model.loss)},
               {"parameters", model.parameters},
               {"personal", model.personal}};
  json["class_names"] = NamesOf(model.class_names);
  json["feature_names"] = NamesOf(model.feature_names);
  json["feature_units"] = NamesOf(model.feature_units);
  json["sample_kind"] = model.sample_kind == nullptr ? Json() : Json(model.sample_kind);
  json["preparation"] = Json::array();
  for (const nn::PreparationStep& step : model.preparation) {
    json["preparation"].push_back(ToJson(step));
  }
  for (const nn::LayerPlan& layer : model.layers) json["layers"].push_back(ToJson(layer));
  json["multiply_accumulates_forward"] = work.forward;
  json["multiply_accumulates_training"] = work.training;
  json["batch_size"] = batch_size;
  json["float32"] = nullptr;
  json["fixed_point"] = nullptr;
  if (!posix::IsFixedPoint(model))
    json["float32"] = ToJson(posix::MemoryOnDevice(model, batch_size));
  if (const posix::SharedModel fixed = posix::WithFixedPoint(model)) {
    json["fixed_point"] = ToJson(posix::MemoryOnDevice(*fixed, batch_size));
  }
  return json;
}

posix::SharedModel OpenShown(const ShowOptions& o) {
  if (o.model.empty() == o.store.empty()) {
    throw std::invalid_argument("name a model, or --store STORE for the one that a job trains");
  }
  if (o.job && o.store.empty()) throw std::invalid_argument("--job N is of --store STORE");
  return o.store.empty() ? posix::OpenModel(o.model) : OpenModelOfStore(o.store, o.job);
}

// The model file, after the files of numbers that it names.
std::string TomlText(const ModelInfo& model, const std::string& folder) {
  const posix::ModelFileText file = posix::FileTextOf(model, model.name);
  for (const posix::ModelFileText::Numbers& part : file.files) {
    if (folder.empty()) {
      fmt::print(stderr, "note: this file needs {} beside it; --numbers FOLDER writes it\n",
                 part.name);
    } else {
      WriteModel({"--numbers", folder + "/" + part.name},
                 {part.numbers.data(), part.numbers.size()});
    }
  }
  return file.text;
}

void ShowModel(const ShowOptions& o) {
  if (o.cpp + o.c + o.toml > 1) {
    throw std::invalid_argument("--cpp, --c and --toml print other texts; say one");
  }
  if (!o.numbers.empty() && !o.toml) throw std::invalid_argument("--numbers FOLDER is of --toml");
  RequireOutput(o.json, o.store);
  const posix::SharedModel model = OpenShown(o);
  if (o.c && model->personal > 0) {
    throw std::invalid_argument(fmt::format(
        "model {} has personal layers, and sotto_c.h takes no store for them; write the "
        "device in C++ (--cpp)",
        model->name));
  }
  const std::string text = o.toml  ? TomlText(*model, o.numbers)
                           : o.cpp ? posix::CppText(*model)
                           : o.c   ? posix::CText(*model, o.batch_size)
                                   : Describe(*model, o);
  PrintResults(o.json, text, ToJson(*model, o.batch_size));
}

void ListModels() {
  fmt::print("{:<20}{:<20}{:>8}{:>12}  {}\n", "model", "input", "outputs", "parameters", "layers");
  for (const ModelInfo& model : Models()) {
    fmt::print("{:<20}{:<20}{:>8}{:>12}  {}\n", model.name, InputText(model), model.outputs,
               Grouped(model.parameters), model.layers.size());
  }
  fmt::print(
      "`sotto model show NAME` tells more; a model of your own is a file: server/MODELS.md\n");
}

posix::Command ShowCommand() {
  return posix::CommandFor<ShowOptions>(
             "show", "print a model's layers, parameters and digest, and what it costs a device")
      .Takes({
          ModelShowRow("", &ShowOptions::model, "a name, or a file: FILE.toml").Argument("MODEL"),
          ModelShowRow("store", &ShowOptions::store,
                       "instead of MODEL: the model that a job of this store trains"),
          ModelShowRow("job", &ShowOptions::job, "with --store: the job's number, from 1")
              .Within({1, 1e9})
              .ByDefault("the last one"),
          ModelShowRow("batch-size", &ShowOptions::batch_size,
                       "samples in the device's largest mini-batch")
              .Within({1, 65535}),
          JsonRow<ShowOptions>(),
          ModelShowRow("cpp", &ShowOptions::cpp,
                       "print instead the model as a C++ type for firmware"),
          ModelShowRow("c", &ShowOptions::c,
                       "print instead the model as a header for firmware in C, for sotto_c.h"),
          ModelShowRow(
              "toml", &ShowOptions::toml,
              "print instead the model as a model file, with all its keys, also of a named model"),
          ModelShowRow(
              "numbers", &ShowOptions::numbers,
              "with --toml: write the files of numbers that the model file names into this folder"),
      })
      .Runs(ShowModel);
}

}  // namespace

posix::Command ModelCommand() {
  posix::Command model = posix::CommandOf(
      "model",
      "list the named models; show a model's layers and costs; export, evaluate, predict, find or "
      "attach a threshold",
      {ShowCommand(), ModelExportCommand(), ModelPredictCommand(), ModelEvaluateCommand(),
       ModelThresholdCommand(), ModelAttachCommand(),
       TablesCommand("kinds", "the kinds of layers and of steps in model files",
                     posix::KindsTables)});
  model.run = ListModels;
  return model;
}

}  // namespace sotto::server
