#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "cli/commands.h"
#include "cli/model_source.h"
#include "cli/rows.h"
#include "evaluation/evaluation.h"
#include "views/figures.h"
#include "views/output_file.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

struct EvaluateOptions {
  ModelSource source;
  SamplesSource samples;
  std::string json;
};

// With the names that the model gives its classes, if it names them.
SampleInfo InfoOf(const Dataset& data, const ModelInfo& model) {
  SampleInfo info = data.info();
  if (!model.class_names.empty()) {
    info.class_names.assign(model.class_names.begin(), model.class_names.end());
  }
  return info;
}

std::string Describe(const Evaluation& evaluation, const SampleInfo& info) {
  std::string text = fmt::format("{}, {}\n", DescribeEvaluation(evaluation),
                                 Counted(evaluation.samples, "sample"));
  const std::string classes = DescribeClasses(evaluation, info);
  return classes.empty() ? text : text + classes + "\n";
}

Json ToJson(const Evaluation& evaluation, const SampleInfo& info, const Metadata& metadata) {
  Json json;
  for (const auto& [name, value] : metadata) json["model"][name] = value;
  json.update(EvaluationToJson(evaluation, info));
  return json;
}

void RunEvaluate(const EvaluateOptions& o) {
  RequireOutput(o.json, o.source.path);
  const OpenedModel opened = OpenModelSource(o.source);
  const ModelInfo& model = *opened.model;
  const SharedDataset data = OpenSamples(o.samples, model, Labels::kNeeded);
  RequireEvaluable(model, *data);
  if (data->size() == 0) {
    throw std::invalid_argument(fmt::format("--data {}: no samples", o.samples.data));
  }
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const Evaluation evaluation =
      Evaluate(model, {opened.parameters.data(), opened.parameters.size()}, *data, threads);
  const SampleInfo info = InfoOf(*data, model);
  PrintResults(o.json, Describe(evaluation, info), ToJson(evaluation, info, opened.metadata));
}

}  // namespace

posix::Command ModelEvaluateCommand() {
  return posix::CommandFor<EvaluateOptions>(
             "evaluate",
             "compare a trained model's predictions with labels: accuracy, loss, per class")
      .TakesFor(&EvaluateOptions::source, ModelSourceFields())
      .TakesFor(&EvaluateOptions::samples, SamplesFields())
      .Takes({
          JsonRow<EvaluateOptions>(),
      })
      .Runs(RunEvaluate);
}

}  // namespace sotto::server
