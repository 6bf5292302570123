#include "cli/model_data.h"

#include <exception>
#include <filesystem>
#include <fmt/format.h>
#include <stdexcept>

#include "data/catalog.h"
#include "sotto/data/source.h"
#include "sotto/model/layer_kinds.h"

namespace sotto::server {
namespace {

// All numbers of the file are features. Null if they are not as many as the model takes: then some
// are labels.
SharedDataset WithoutLabels(const std::string& data, const ModelInfo& model) {
  const DataSource source = ParseDataSource(data);
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(source.path, ignored);
  if (!is_file || source.options.count("label") > 0) return nullptr;
  ModelInfo asks_for_features = model;
  asks_for_features.classes = 0;
  asks_for_features.loss.target = nn::TargetKind::kInput;
  try {
    return ReadDataset(source, &asks_for_features);
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace

SharedDataset OpenSamples(const std::string& data, const ModelInfo& model, Labels labels) {
  SharedDataset samples = labels == Labels::kIgnored ? WithoutLabels(data, model) : nullptr;
  if (samples == nullptr) samples = OpenTest(data, &model);
  if (samples->input_size() == model.inputs) return samples;
  throw std::invalid_argument(fmt::format("--data {}: its samples are {}, and model {} takes {}",
                                          data, posix::ShapeText(samples->info().shape), model.name,
                                          posix::ShapeText(model.layers[0].info.input)));
}

}  // namespace sotto::server
