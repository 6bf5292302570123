// `sotto data features`: samples as the first layer of a model gets them.
#include <fmt/format.h>
#include <stdexcept>
#include <string>

#include "cli/commands.h"
#include "cli/model_source.h"
#include "data/fits.h"
#include "sotto/model/layer_kinds.h"
#include "sotto/model/model_file.h"
#include "views/output_file.h"

namespace sotto::server {
namespace {

struct FeaturesOptions {
  std::string model;
  SamplesSource samples;
  std::string out = "-";
};

using FeaturesRow = posix::Field<FeaturesOptions>;

// A line for each sample. Nine digits give the same float32 back.
std::string FeaturesOf(const Dataset& data, const ModelInfo& model) {
  PreparedReader reader(data, &model);
  std::string text;
  for (size_t i = 0; i < data.size(); ++i) {
    const char* comma = "";
    for (const float feature : reader.Read(i)) {
      text += fmt::format("{}{:.9g}", comma, feature);
      comma = ",";
    }
    text += "\n";
  }
  return text;
}

void RunFeatures(const FeaturesOptions& o) {
  const Output output = {"--out", o.out, Readers::kAll, true};
  RequireOutputs({output}, "", {o.samples.data, o.samples.trained_on, o.model});
  const posix::SharedModel model = posix::OpenModel(o.model);
  const SharedDataset data = OpenSamples(o.samples, *model, Labels::kIgnored);
  const std::string text = FeaturesOf(*data, *model);
  if (o.out == "-") {
    fmt::print("{}", text);
    return;
  }
  OutputFile file(output);
  file.stream() << text;
  file.Finish();
  fmt::print("{}: {} features ({}) of each of {} samples of {}\n", o.out,
             model->PreparedShape().size(), posix::ShapeText(model->PreparedShape()), data->size(),
             data->name());
}

}  // namespace

posix::Command DataFeaturesCommand() {
  return posix::CommandFor<FeaturesOptions>(
             "features",
             "write samples as a model's first layer gets them: prepared, one a line of a CSV file")
      .Takes({
          FeaturesRow("model", &FeaturesOptions::model, "the model whose steps prepare samples")
              .Required(),
      })
      .TakesFor(&FeaturesOptions::samples, SamplesFields())
      .Takes({
          FeaturesRow("out", &FeaturesOptions::out, "write a CSV file; - is standard output"),
      })
      .Runs(RunFeatures);
}

}  // namespace sotto::server
