#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/commands.h"
#include "cli/model_source.h"
#include "export/predictor.h"
#include "export/tensors.h"
#include "sotto/predict.h"
#include "views/output_file.h"

namespace sotto::server {
namespace {

struct PredictOptions {
  ModelSource source;
  SamplesSource samples;
  std::string out = "-";
};

using PredictRow = posix::Field<PredictOptions>;

// A field of a CSV file: in quotes where it needs them.
std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c;
    if (c == '"') quoted += c;
  }
  return quoted + "\"";
}

bool IsAutoencoder(const ModelInfo& model) { return model.loss.target == nn::TargetKind::kInput; }

// A line for each sample: what the model says of it. Nine digits give the same float32 back.
class Lines {
 public:
  Lines(const ModelInfo& model, const SampleInfo& samples, std::optional<float> threshold)
      : model_(model), threshold_(threshold) {
    names_.assign(model.class_names.begin(), model.class_names.end());
    if (names_.empty() && samples.class_names.size() == model.classes) names_ = samples.class_names;
  }

  std::string Header() const {
    if (model_.classes == 0) return Numbered(ErrorHeader(), "value");
    if (names_.empty()) return Numbered("class", "probability", model_.classes);
    std::string line = "class,class_name";
    for (const std::string& name : names_) line += "," + CsvField("probability " + name);
    return line + "\n";
  }

  std::string Line(Span<const float> outputs) const {
    return model_.classes > 0 ? ClassLine(outputs) : Numbers(outputs) + "\n";
  }

  // Of an autoencoder.
  std::string Line(float error, Span<const float> outputs) const {
    const char* const alarm = !threshold_ ? "" : error > *threshold_ ? ",1" : ",0";
    return fmt::format("{:.9g}{},{}\n", error, alarm, Numbers(outputs));
  }

 private:
  std::string ErrorHeader() const {
    if (!IsAutoencoder(model_)) return "";
    return threshold_ ? "error,anomaly" : "error";
  }

  std::string Numbered(const std::string& first, const char* name, uint32_t count = 0) const {
    std::string line = first;
    if (count == 0) count = model_.outputs;
    for (uint32_t i = 0; i < count; ++i) {
      line += fmt::format("{}{}_{}", line.empty() ? "" : ",", name, i);
    }
    return line + "\n";
  }

  std::string ClassLine(Span<const float> outputs) const {
    std::vector<float> probabilities(model_.classes);
    const Span<float> memory(probabilities.data(), probabilities.size());
    static_cast<void>(Probabilities(model_, outputs, memory));  // the sizes are the model's
    const uint32_t label = PredictedClass(model_, outputs);
    std::string line = std::to_string(label) + ",";
    if (!names_.empty()) line += CsvField(names_[label]) + ",";
    return line + Numbers(memory) + "\n";
  }

  static std::string Numbers(Span<const float> values) {
    std::string text;
    for (const float value : values) {
      fmt::format_to(std::back_inserter(text), "{}{:.9g}", text.empty() ? "" : ",", value);
    }
    return text;
  }

  const ModelInfo& model_;
  const std::optional<float> threshold_;
  std::vector<std::string> names_;
};

std::string PredictionsOf(const OpenedModel& opened, const Dataset& data) {
  const ModelInfo& model = *opened.model;
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const Predictor predictor(model, {opened.parameters.data(), opened.parameters.size()});
  const Lines lines(model, data.info(), ThresholdIn(opened.metadata));
  std::string text = lines.Header();
  if (IsAutoencoder(model)) {
    const PredictionErrors all = ErrorsOfAll(predictor, data, threads);
    for (size_t i = 0; i < data.size(); ++i) {
      text += lines.Line(all.errors[i], {all.outputs.data() + i * model.outputs, model.outputs});
    }
    return text;
  }
  const std::vector<float> outputs = PredictAll(predictor, data, threads);
  for (size_t i = 0; i < data.size(); ++i) {
    text += lines.Line({outputs.data() + i * model.outputs, model.outputs});
  }
  return text;
}

void RunPredict(const PredictOptions& o) {
  const Output output = {"--out", o.out, Readers::kAll, true};
  RequireOutputs({output}, o.source.path, {o.samples.data, o.samples.trained_on, o.source.model});
  const OpenedModel opened = OpenModelSource(o.source);
  RequireAllShared(*opened.model);
  const SharedDataset data = OpenSamples(o.samples, *opened.model, Labels::kIgnored);
  const std::string text = PredictionsOf(opened, *data);
  if (o.out == "-") {
    fmt::print("{}", text);
    return;
  }
  OutputFile file(output);
  file.stream() << text;
  file.Finish();
  fmt::print("{}: predictions for {} samples of {} by model {}\n", o.out, data->size(),
             data->name(), opened.model->name);
}

}  // namespace

posix::Command ModelPredictCommand() {
  return posix::CommandFor<PredictOptions>(
             "predict", "print a trained model's predictions: class and probabilities, or values")
      .TakesFor(&PredictOptions::source, ModelSourceFields())
      .TakesFor(&PredictOptions::samples, SamplesFields())
      .Takes({
          PredictRow("out", &PredictOptions::out, "write a CSV file; - is standard output"),
      })
      .Runs(RunPredict);
}

}  // namespace sotto::server
