#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "cli/commands.h"
#include "cli/rows.h"
#include "data/catalog.h"
#include "data/fits.h"
#include "sotto/bytes.h"
#include "sotto/data/source.h"
#include "sotto/model/layer_kinds.h"
#include "sotto/model/model_file.h"
#include "views/output_file.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kNote[] =
    "note: these figures are computed from the samples, and no epsilon covers that. Fit to public "
    "data,\n      or to samples whose owners agree.\n";

// The options as the user typed them. Each subcommand uses some of them.
struct FitOptions {
  std::string data;
  std::string model;
  std::string per = "all";
  uint32_t dimensions = 0;
  std::string out;
  std::string json;
};

using FitRow = posix::Field<FitOptions>;

// The data, and the model that prepares them; null without --model.
struct Fitted {
  posix::SharedModel model;
  SharedDataset data;
};

// All samples of a file, or those for training of a named data set or a folder.
SharedDataset OpenSamples(const std::string& data, const ModelInfo* model) {
  DataSource source = ParseDataSource(data);
  source.is_of_all_devices = true;
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(source.path, ignored);
  return is_file ? ReadDataset(source, model) : OpenTrainTest(data, "", model).train;
}

Fitted Open(const FitOptions& o) {
  Fitted fitted;
  if (!o.model.empty()) fitted.model = posix::OpenModel(o.model);
  fitted.data = OpenSamples(o.data, fitted.model.get());
  fmt::print(stderr, "{}", NotesText({fitted.data}));
  if (fitted.data->size() == 0) throw std::invalid_argument(o.data + " has no samples");
  if (fitted.data->info().tokens > 0) {
    throw std::invalid_argument(o.data + ": samples are tokens, which nothing prepares");
  }
  if (fitted.model && fitted.model->inputs != fitted.data->input_size()) {
    throw std::invalid_argument(fmt::format(
        "model {} takes {} inputs, but samples of {} have {} features", fitted.model->name,
        fitted.model->inputs, fitted.data->name(), fitted.data->input_size()));
  }
  return fitted;
}

nn::Shape ShapeOf(const Fitted& fitted) {
  return fitted.model ? fitted.model->PreparedShape() : fitted.data->info().shape;
}

std::string SamplesText(const Fitted& fitted) {
  const bool is_prepared = fitted.model && !fitted.model->preparation.empty();
  return fmt::format("{}: {} of {}{}", fitted.data->name(), Counted(fitted.data->size(), "sample"),
                     posix::ShapeText(ShapeOf(fitted)),
                     is_prepared ? fmt::format(", prepared by {}", fitted.model->name) : "");
}

void WriteFloats(const std::string& path, const std::vector<float>& numbers) {
  OutputFile file({"--out", path});
  for (const float number : numbers) {
    uint8_t bytes[4];
    StoreU32Le(FloatBits(number), bytes);
    file.stream().write(reinterpret_cast<const char*>(bytes), sizeof(bytes));
  }
  file.Finish();
}

std::string FileName(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// "0.1307", or "[0.1, 0.2]"
std::string NumbersText(const std::vector<float>& numbers) {
  if (numbers.size() == 1) return fmt::format("{}", numbers.front());
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

Per PerOf(const std::string& name) {
  return std::map<std::string, Per>{
      {"all", Per::kAll}, {"channel", Per::kChannel}, {"feature", Per::kFeature}}
      .at(name);
}

// Means and deviations as a model file has them.
struct Normalisation {
  std::vector<float> means;
  std::vector<float> deviations;
  size_t constant = 0;  // figures of numbers that never change: their deviation is 1
};

Normalisation NormalisationOf(const std::vector<Moments>& all) {
  Normalisation result;
  for (const Moments& moments : all) {
    const auto deviation = static_cast<float>(moments.deviation);
    const bool is_constant = !(deviation > 0);
    result.means.push_back(static_cast<float>(moments.mean));
    result.deviations.push_back(is_constant ? 1.0f : deviation);
    result.constant += is_constant ? 1 : 0;
  }
  return result;
}

std::string MomentsTable(const std::vector<Moments>& all, const std::string& per) {
  constexpr size_t kMost = 20;
  std::string text =
      fmt::format("\n{:>9}{:>14}{:>14}{:>14}{:>14}{:>12}\n", per == "all" ? "features" : per,
                  "mean", "deviation", "least", "most", "missing");
  for (size_t i = 0; i < all.size() && i < kMost; ++i) {
    const Moments& moments = all[i];
    text += fmt::format("{:>9}{:>14.6g}{:>14.6g}{:>14.6g}{:>14.6g}{:>12}\n",
                        per == "all" ? "all" : std::to_string(i), moments.mean, moments.deviation,
                        moments.least, moments.most, moments.missing);
  }
  if (all.size() > kMost) text += fmt::format("{:>9} and {} more\n", "...", all.size() - kMost);
  return text;
}

// The step's lines. Arrays go to files if there is --out.
std::string StepText(const Normalisation& step, const std::string& out) {
  std::string mean = NumbersText(step.means);
  std::string deviation = NumbersText(step.deviations);
  if (!out.empty()) {
    WriteFloats(out + "-mean.bin", step.means);
    WriteFloats(out + "-deviation.bin", step.deviations);
    mean = fmt::format("\"{}-mean.bin\"", FileName(out));
    deviation = fmt::format("\"{}-deviation.bin\"", FileName(out));
  }
  return fmt::format("\n[[prepare]]\nkind = \"normalise\"\nmean = {}\ndeviation = {}\n\n", mean,
                     deviation);
}

Json ToJson(const std::vector<Moments>& all) {
  Json json = Json::array();
  for (const Moments& moments : all) {
    json.push_back({{"mean", moments.mean},
                    {"deviation", moments.deviation},
                    {"least", moments.least},
                    {"most", moments.most},
                    {"count", moments.count},
                    {"missing", moments.missing}});
  }
  return json;
}

void RequireFitOutputs(const FitOptions& o, const std::vector<std::string>& files) {
  std::vector<Output> outputs = {JsonOutput(o.json)};
  for (const std::string& file : files) outputs.push_back({"--out", file});
  RequireOutputs(outputs, "", {o.data, o.model});
}

void RunStats(const FitOptions& o) {
  RequireFitOutputs(
      o, o.out.empty() ? std::vector<std::string>()
                       : std::vector<std::string>{o.out + "-mean.bin", o.out + "-deviation.bin"});
  const Fitted fitted = Open(o);
  const std::vector<Moments> all = ComputeMoments(*fitted.data, fitted.model.get(), PerOf(o.per));
  const Normalisation step = NormalisationOf(all);
  fmt::print(TextStream(o.json), "{}\n{}{}", SamplesText(fitted), MomentsTable(all, o.per),
             StepText(step, o.out));
  if (step.constant > 0) {
    fmt::print(TextStream(o.json), "note: {} never changes, and has the deviation 1 here\n",
               Counted(step.constant, "figure"));
  }
  fmt::print(TextStream(o.json), "{}", kNote);
  WriteJson(o.json, {{"data", fitted.data->name()},
                     {"samples", fitted.data->size()},
                     {"per", o.per},
                     {"figures", ToJson(all)}});
}

// A folder gets a file pca.bin; a name without an ending gets .bin.
std::string WeightsPath(const std::string& out) {
  std::error_code ignored;
  const std::filesystem::path path(out);
  if (std::filesystem::is_directory(path, ignored)) return (path / "pca.bin").string();
  return path.has_extension() ? out : out + ".bin";
}

double Share(const PrincipalComponents& fit) {
  double sum = 0;
  for (const double variance : fit.variances) sum += variance;
  return sum / fit.total_variance;
}

void RunPca(const FitOptions& o) {
  const std::string path = WeightsPath(o.out);
  RequireFitOutputs(o, {path});
  const Fitted fitted = Open(o);
  const PrincipalComponents fit =
      FitPrincipalComponents(*fitted.data, fitted.model.get(), o.dimensions);
  WriteFloats(path, fit.parameters);
  fmt::print(TextStream(o.json),
             "{}\n{} of {}: {:.1f} % of the variance\n{}: weights, {} bytes\n\n"
             "keys of a model file in the same folder:\n\n"
             "frozen = 1\nfrozen-weights = \"{}\"\n\n"
             "and its first layer:\n\n"
             "[[layer]]\nkind = \"dense\"\noutputs = {}\n\n{}",
             SamplesText(fitted), Counted(o.dimensions, "principal component"),
             fitted.data->input_size(), 100 * Share(fit), path,
             sizeof(float) * fit.parameters.size(), FileName(path), o.dimensions, kNote);
  WriteJson(o.json, {{"data", fitted.data->name()},
                     {"samples", fitted.data->size()},
                     {"inputs", fitted.data->input_size()},
                     {"dimensions", o.dimensions},
                     {"variances", fit.variances},
                     {"total_variance", fit.total_variance},
                     {"explained", Share(fit)},
                     {"weights", path}});
}

std::vector<FitRow> SourceFields() {
  return {
      FitRow("data", &FitOptions::data,
             "the samples to fit to: all of a file, or a data set's training samples")
          .Required(),
      FitRow("model", &FitOptions::model, "fit behind the steps of this model's preparation")
          .ByDefault("raw samples"),
      JsonRow<FitOptions>(),
  };
}

}  // namespace

posix::Command DataStatsCommand() {
  return posix::CommandFor<FitOptions>(
             "stats",
             "print mean and deviation of a data set, and a model file's lines that normalise")
      .Takes(SourceFields())
      .Takes({
          FitRow("per", &FitOptions::per,
                 "print one figure for all features, for each channel or for each feature")
              .OneOfNames({"all", "channel", "feature"}),
          FitRow("out", &FitOptions::out,
                 "write the numbers to files OUT-mean.bin and OUT-deviation.bin"),
      })
      .Runs(RunStats);
}

posix::Command DataPcaCommand() {
  return posix::CommandFor<FitOptions>(
             "pca", "write principal components as the frozen first layer of a model file")
      .Takes(SourceFields())
      .Takes({
          FitRow("dimensions", &FitOptions::dimensions,
                 "number of components, which is the number of the layer's outputs")
              .Required()
              .Within({1, kMaxPcaInputs}),
          FitRow("out", &FitOptions::out, "the file of weights, or a folder for pca.bin")
              .Required(),
      })
      .Runs(RunPca);
}

}  // namespace sotto::server
