#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "cli/commands.h"
#include "cli/model_attach.h"
#include "cli/model_source.h"
#include "cli/rows.h"
#include "evaluation/evaluation.h"
#include "evaluation/threshold.h"
#include "export/predictor.h"
#include "views/output_file.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

struct ThresholdOptions {
  ModelSource source;
  SamplesSource samples;
  std::optional<double> quantile;
  std::string labels;
  std::optional<double> threshold;
  bool attach = false;
  std::string json;
};

using ThresholdRow = posix::Field<ThresholdOptions>;

constexpr double kLargestError = std::numeric_limits<float>::max();

// What the command finds.
struct Finding {
  float threshold = 0;
  KnownErrors errors;
  std::optional<double> quantile;  // of the normal samples
  bool is_given = false;           // else without a quantile: the largest F1

  bool has_labels() const { return !errors.anomalous.empty(); }
};

void RequireOptions(const ThresholdOptions& o, const ModelInfo& model) {
  RequireErrors(model);
  if (o.threshold && o.quantile) {
    throw std::invalid_argument(
        "--threshold says which threshold is judged, --quantile finds one; give one of the two");
  }
  if (!o.threshold && !o.quantile && o.labels.empty()) {
    throw std::invalid_argument(
        "say how to find the threshold: --quantile 0.99 if all samples are normal, or --labels "
        "COLUMN if a column says which are anomalies");
  }
  if (!o.labels.empty() && model.loss.target != nn::TargetKind::kInput) {
    throw std::invalid_argument(
        fmt::format("--labels {}: the samples of model {} have numbers to predict in place of "
                    "labels; take normal samples and --quantile",
                    o.labels, model.name));
  }
}

SharedDataset OpenSamplesOf(const ThresholdOptions& o, const ModelInfo& model) {
  if (!o.labels.empty()) return OpenAnomalies(o.samples, model, o.labels);
  const bool has_targets = model.loss.target == nn::TargetKind::kVector;
  SharedDataset data =
      OpenSamples(o.samples, model, has_targets ? Labels::kNeeded : Labels::kIgnored);
  if (has_targets) RequireEvaluable(model, *data);
  return data;
}

std::vector<float> ErrorsOf(const OpenedModel& opened, const Dataset& data) {
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const Predictor predictor(*opened.model, {opened.parameters.data(), opened.parameters.size()});
  return ErrorsOfAll(predictor, data, threads).errors;
}

KnownErrors Parted(const ThresholdOptions& o, const Dataset& data,
                   const std::vector<float>& errors) {
  KnownErrors parted;
  for (size_t i = 0; i < errors.size(); ++i) {
    const bool is_anomaly = !o.labels.empty() && data.Label(i) == 1;
    (is_anomaly ? parted.anomalous : parted.normal).push_back(errors[i]);
  }
  if (parted.normal.empty()) {
    throw std::invalid_argument(fmt::format("--data {}: no normal samples", o.samples.data));
  }
  if (!o.labels.empty() && parted.anomalous.empty()) {
    throw std::invalid_argument(
        fmt::format("--data {}: no anomaly: column {} is 0 everywhere; take --quantile without "
                    "--labels",
                    o.samples.data, o.labels));
  }
  return parted;
}

Finding Find(const ThresholdOptions& o, KnownErrors errors) {
  Finding found;
  found.quantile = o.quantile;
  found.is_given = o.threshold.has_value();
  found.threshold = o.threshold  ? static_cast<float>(*o.threshold)
                    : o.quantile ? ErrorQuantile(errors.normal, *o.quantile)
                                 : BestThreshold(errors);
  found.errors = std::move(errors);
  return found;
}

std::string DescribeHow(const Finding& found, const std::string& normal) {
  if (found.is_given) {
    return fmt::format("{} of {} have a larger error",
                       Detect({found.errors.normal, {}}, found.threshold).alarms, normal);
  }
  if (!found.quantile) return "the largest F1 of all thresholds";
  return fmt::format("{} of {} have no larger error", *found.quantile, normal);
}

std::string Describe(const Finding& found) {
  const KnownErrors& errors = found.errors;
  const std::string normal = Counted(errors.normal.size(), "normal sample");
  const std::string how = DescribeHow(found, normal);
  std::string text = fmt::format(
      "threshold {:.9g}: {}\nerrors of normal samples: median {:.4g}, "
      "largest {:.4g}\n",
      found.threshold, how, ErrorQuantile(errors.normal, 0.5), ErrorQuantile(errors.normal, 1));
  if (!found.has_labels()) return text;
  const Detection at = Detect(errors, found.threshold);
  return text + fmt::format(
                    "{} and {}: AUC {:.4f}\n"
                    "at the threshold: {}, {} of them true; precision {:.4f}, recall {:.4f}, F1 "
                    "{:.4f}\n",
                    normal, Counted(at.anomalies, "anomalous sample"), AreaUnderCurve(errors),
                    Counted(at.alarms, "alarm"), at.true_alarms, at.precision(), at.recall(),
                    at.f1());
}

// Of a float32 its shortest decimal, not all digits of a double.
double Shortest(float number) { return std::stod(fmt::format("{}", number)); }

Json ToJson(const Finding& found, const Metadata& metadata) {
  const KnownErrors& errors = found.errors;
  Json json;
  for (const auto& [name, value] : metadata) json["model"][name] = value;
  json["threshold"] = Shortest(found.threshold);
  json["found_by"] = found.is_given ? "given" : found.quantile ? "quantile" : "largest-f1";
  json["quantile"] = found.quantile ? Json(*found.quantile) : Json();
  json["samples"] = errors.normal.size() + errors.anomalous.size();
  json["median_error"] = Shortest(ErrorQuantile(errors.normal, 0.5));
  json["largest_error"] = Shortest(ErrorQuantile(errors.normal, 1));
  for (const char* name :
       {"anomalies", "auc", "alarms", "true_alarms", "precision", "recall", "f1"}) {
    json[name] = nullptr;
  }
  const Detection at = Detect(errors, found.threshold);
  json["alarms"] = at.alarms;
  if (!found.has_labels()) return json;
  json["anomalies"] = at.anomalies;
  json["auc"] = AreaUnderCurve(errors);
  json["true_alarms"] = at.true_alarms;
  json["precision"] = at.precision();
  json["recall"] = at.recall();
  json["f1"] = at.f1();
  return json;
}

void RunThreshold(const ThresholdOptions& o) {
  RequireOutputs({JsonOutput(o.json)}, o.source.path,
                 {o.samples.data, o.samples.trained_on, o.source.model});
  const OpenedModel opened = OpenModelSource(o.source);
  RequireOptions(o, *opened.model);
  if (o.attach) RequirePlaceForThreshold(o.source, opened);
  const SharedDataset data = OpenSamplesOf(o, *opened.model);
  const Finding found = Find(o, Parted(o, *data, ErrorsOf(opened, *data)));
  const std::string attached =
      o.attach ? AttachThreshold(o.source, opened, found.threshold) : std::string();
  PrintResults(o.json, Describe(found) + attached, ToJson(found, opened.metadata));
}

}  // namespace

posix::Command ModelThresholdCommand() {
  return posix::CommandFor<ThresholdOptions>(
             "threshold",
             "find the prediction error above which a sample is an anomaly: for autoencoders and "
             "regressions")
      .TakesFor(&ThresholdOptions::source, ModelSourceFields())
      .TakesFor(&ThresholdOptions::samples, SamplesFields())
      .Takes({
          ThresholdRow("quantile", &ThresholdOptions::quantile,
                       "take the smallest error that this share of the normal samples does not "
                       "exceed; without --labels all samples are normal")
              .Within({0, 1, true})
              .ByDefault("with --labels the threshold with the largest F1"),
          ThresholdRow(
              "labels", &ThresholdOptions::labels,
              "for an autoencoder: the column of --data that is 1 for an anomaly and 0 for "
              "a normal sample"),
          ThresholdRow("threshold", &ThresholdOptions::threshold,
                       "evaluate this threshold instead of finding one")
              .Within({0, kLargestError, true})
              .ByDefault("find one"),
          ThresholdRow("attach", &ThresholdOptions::attach,
                       "attach the threshold to the model of SOURCE, as `sotto model attach` does"),
          JsonRow<ThresholdOptions>(),
      })
      .Runs(RunThreshold);
}

}  // namespace sotto::server
