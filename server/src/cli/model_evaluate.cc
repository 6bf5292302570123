#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/json_output.h"
#include "cli/model_data.h"
#include "cli/model_export.h"
#include "cli/model_source.h"
#include "cli/output_file.h"
#include "export/predictor.h"
#include "sotto/predict.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

struct EvaluateOptions {
  ModelSource source;
  std::string data;
  std::string json;
};

struct ClassCount {
  size_t correct = 0;
  size_t total = 0;
};

struct Measured {
  size_t samples = 0;
  double loss = 0;  // the mean of what a training minimises
  size_t correct = 0;
  std::vector<ClassCount> classes;  // [model.classes]

  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(samples); }
};

// In double, from the scores, so that no small probability becomes zero.
double LossOf(const ModelInfo& model, Span<const float> outputs, uint32_t label) {
  const auto softplus = [](double x) {
    return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
  };
  double loss = 0;
  if (model.loss.kind == nn::LossKind::kSoftmaxCrossEntropy) {
    const double largest = *std::max_element(outputs.begin(), outputs.end());
    double sum = 0;
    for (const float score : outputs) sum += std::exp(double{score} - largest);
    return std::log(sum) + largest - double{outputs[label]};
  }
  for (uint32_t k = 0; k < outputs.size(); ++k) {
    const bool is_it = outputs.size() == 1 ? label == 1 : label == k;
    loss += softplus(is_it ? -double{outputs[k]} : double{outputs[k]});
  }
  return loss;
}

double SquaredError(Span<const float> outputs, const std::vector<float>& target) {
  double sum = 0;
  for (size_t i = 0; i < target.size(); ++i) {
    const double difference = double{outputs[i]} - double{target[i]};
    sum += difference * difference;
  }
  return sum / static_cast<double>(target.size());
}

class Measurement {
 public:
  Measurement(const ModelInfo& model, const Dataset& data) : model_(model), data_(data) {
    measured_.classes.resize(model.classes);
  }

  Measured Measure(const std::vector<float>& outputs) {
    measured_.samples = data_.size();
    for (size_t i = 0; i < data_.size(); ++i) {
      Add(i, {outputs.data() + i * model_.outputs, model_.outputs});
    }
    measured_.loss /= static_cast<double>(data_.size());
    return measured_;
  }

 private:
  void Add(size_t index, Span<const float> outputs) {
    if (model_.classes > 0) return AddClass(data_.Label(index), outputs);
    std::vector<float> target(model_.outputs);
    const Span<float> memory(target.data(), target.size());
    if (model_.loss.target == nn::TargetKind::kInput) {
      data_.CopyFeatures(index, memory);
      nn::Prepare(model_.preparation, model_.layers[0].info.input, memory);
    } else {
      data_.CopyTarget(index, memory);
    }
    measured_.loss += SquaredError(outputs, target);
  }

  void AddClass(uint32_t label, Span<const float> outputs) {
    const size_t correct = PredictedClass(model_, outputs) == label ? 1 : 0;
    measured_.loss += LossOf(model_, outputs, label);
    measured_.correct += correct;
    measured_.classes[label].correct += correct;
    ++measured_.classes[label].total;
  }

  const ModelInfo& model_;
  const Dataset& data_;
  Measured measured_;
};

void RequireTargets(const EvaluateOptions& o, const ModelInfo& model, const SampleInfo& info) {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument(fmt::format("--data {}: {}", o.data, why));
  };
  if (model.classes > 0 && info.classes == 0) {
    refuse("its samples have no labels to compare with; `sotto model predict` needs none");
  }
  if (model.classes > 0 && info.classes > model.classes) {
    refuse(fmt::format("its labels are of {} classes, and model {} has {}", info.classes,
                       model.name, model.classes));
  }
  if (model.loss.target == nn::TargetKind::kVector && info.targets != model.outputs) {
    refuse(fmt::format("its samples have {} target numbers, and model {} predicts {}", info.targets,
                       model.name, model.outputs));
  }
}

std::string ClassName(const SampleInfo& info, size_t label) {
  return info.class_names.empty() ? std::to_string(label) : info.class_names[label];
}

std::string Describe(const Measured& m, const SampleInfo& info) {
  if (m.classes.empty()) {
    return fmt::format("mean squared error   {:.6g}, {} samples\n", m.loss, m.samples);
  }
  std::string text =
      fmt::format("accuracy             {:.4f}, {} of {} samples\nloss                 {:.4f}\n",
                  m.accuracy(), m.correct, m.samples, m.loss);
  for (size_t k = 0; k < m.classes.size(); ++k) {
    if (m.classes[k].total == 0) continue;
    text += fmt::format(
        "  class {:<14} {:.4f}, {} of {}\n", ClassName(info, k),
        static_cast<double>(m.classes[k].correct) / static_cast<double>(m.classes[k].total),
        m.classes[k].correct, m.classes[k].total);
  }
  return text;
}

Json ToJson(const Measured& m, const SampleInfo& info, const Metadata& metadata) {
  Json json;
  for (const auto& [name, value] : metadata) json["model"][name] = value;
  json["samples"] = m.samples;
  json["loss"] = m.loss;
  if (m.classes.empty()) {
    json["mean_squared_error"] = m.loss;
    return json;
  }
  json["accuracy"] = m.accuracy();
  for (size_t k = 0; k < m.classes.size(); ++k) {
    json["classes"].push_back({{"class", k},
                               {"name", ClassName(info, k)},
                               {"correct", m.classes[k].correct},
                               {"total", m.classes[k].total}});
  }
  return json;
}

void RunEvaluate(const EvaluateOptions& o) {
  RequireOutput(o.json, o.source.path);
  const OpenedModel opened = OpenModelSource(o.source);
  const ModelInfo& model = *opened.model;
  const SharedDataset data = OpenSamples(o.data, model, Labels::kNeeded);
  RequireTargets(o, model, data->info());
  if (data->size() == 0) throw std::invalid_argument(fmt::format("--data {}: no samples", o.data));
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const Predictor predictor(model, {opened.parameters.data(), opened.parameters.size()});
  const Measured measured =
      Measurement(model, *data).Measure(PredictAll(predictor, *data, threads));
  fmt::print(IsStandardOutput(o.json) ? stderr : stdout, "{}", Describe(measured, data->info()));
  WriteJson(o.json, ToJson(measured, data->info(), opened.metadata));
}

}  // namespace

void AddModelEvaluateCommand(CLI::App& model) {
  const auto o = std::make_shared<EvaluateOptions>();
  CLI::App& command = *model.add_subcommand(
      "evaluate", "compare a trained model's predictions with labels: accuracy, loss, per class");
  AddModelSource(command, &o->source);
  command
      .add_option("--data", o->data,
                  "samples with labels or target numbers: FILE[:options], synthetic or "
                  "fashion-mnist")
      ->required();
  command.add_option("--json", o->json, "write the figures to this file; - is standard output");
  command.callback([o] { RunEvaluate(*o); });
}

}  // namespace sotto::server
