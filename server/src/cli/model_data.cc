#include "cli/model_data.h"

#include <fmt/format.h>
#include <stdexcept>

#include "data/catalog.h"
#include "sotto/model/layer_kinds.h"

namespace sotto::server {

SharedDataset OpenSamples(const std::string& data, const ModelInfo& model) {
  const SharedDataset samples = OpenDataset(data).test;
  if (samples->input_size() == model.inputs) return samples;
  throw std::invalid_argument(fmt::format("--data {}: its samples are {}, and model {} takes {}",
                                          data, posix::ShapeText(samples->info().shape), model.name,
                                          posix::ShapeText(model.layers[0].info.input)));
}

}  // namespace sotto::server
