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

// The file as a table without labels; null if it is none.
SharedDataset WithoutLabels(const std::string& data, const ModelInfo& model) {
  DataSource source = ParseDataSource(data);
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(source.path, ignored);
  if (!is_file || !source.options.emplace("label", "none").second) return nullptr;
  try {
    return ReadDataset(source, &model);
  } catch (const std::exception&) {
    return nullptr;  // it has labels, or a format in which labels have a place of their own
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
