#include "aggregate/tensors.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

#include "sotto/model/branch_values.h"

namespace sotto::server {
namespace {

using nn::LayerKind;
using nn::LayerPlan;
using nn::Shape;

// A number above 0 at text[*at], and what follows it.
uint32_t ReadExtent(const std::string& text, size_t* at) {
  uint32_t value = 0;
  while (*at < text.size() && text[*at] >= '0' && text[*at] <= '9' && value < 1000000) {
    value = 10 * value + static_cast<uint32_t>(text[(*at)++] - '0');
  }
  return value;
}

// "28x28" or "28x28x3".
Shape ParseShape(const std::string& text) {
  std::vector<uint32_t> extents;
  size_t at = 0;
  do {
    extents.push_back(ReadExtent(text, &at));
  } while (at < text.size() && text[at++] == 'x' && extents.size() < 4);
  const bool is_bad = std::find(extents.begin(), extents.end(), 0U) != extents.end();
  if (is_bad || at != text.size() || extents.size() < 2 || extents.size() > 3) {
    throw std::invalid_argument(fmt::format(
        "--smoothing-image {}: expected is HEIGHTxWIDTH or HEIGHTxWIDTHxCHANNELS, for example "
        "28x28",
        text));
  }
  return {extents[0], extents[1], extents.size() == 3 ? extents[2] : 1};
}

Shape ShapeOfSample(const ModelInfo& model, const std::optional<std::string>& sample) {
  if (!sample) return model.PreparedShape();
  const Shape shape = ParseShape(*sample);
  const uint64_t size = uint64_t{shape.height} * shape.width * shape.channels;
  if (size == model.PreparedShape().size()) return shape;
  throw std::invalid_argument(fmt::format(
      "--smoothing-image {}: that has {} numbers, and a sample of model {} has {}; name its height "
      "and width",
      *sample, size, model.name, model.PreparedShape().size()));
}

// What lies beside what behind a layer. A layer without parameters that gives a vector of as many
// numbers only changes how they are named.
Shape ShapeBehind(const LayerPlan& layer, const Shape& input) {
  const Shape& output = layer.info.output;
  const bool is_vector = output.height == 1 && output.width == 1;
  const bool keeps = layer.parameters() == 0 && is_vector && output.size() == input.size();
  return keeps ? input : output;
}

TrainedTensor WithoutUnits(const std::string& axes, const std::vector<uint32_t>& extents) {
  TrainedTensor tensor;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (extents[i] == 1) continue;
    tensor.axes += axes[i];
    tensor.extents.push_back(extents[i]);
  }
  return tensor;
}

// The letters of a layer's weights in memory.
const char* LettersOf(LayerKind kind) {
  switch (kind) {
    case LayerKind::kDense:
    case LayerKind::kConv2d:
      return "OHWI";
    case LayerKind::kDepthwiseConv2d:
      return "HWO";
    default:
      return "OI";
  }
}

TrainedTensor WeightsOf(const LayerPlan& layer, const nn::TensorInfo& tensor, const Shape& input) {
  const std::string letters = LettersOf(layer.info.kind);
  const uint32_t* axes = tensor.axes;
  if (layer.info.kind == LayerKind::kDense) {
    return WithoutUnits(letters, {axes[0], input.height, input.width, input.channels});
  }
  return WithoutUnits(letters, {axes, axes + letters.size()});
}

// The tensors of a layer whose input has that shape.
void AddTensors(const LayerPlan& layer, const Shape& input, std::vector<TrainedTensor>* out) {
  const nn::LayerTensors all = nn::TensorsOf(layer);
  uint32_t parameters = 0;  // in the tensors so far: the weights come first
  for (uint32_t i = 0; i < all.count; ++i) {
    const bool is_bias = parameters >= layer.weights;
    const nn::TensorInfo& tensor = all.tensors[i];
    out->push_back(is_bias ? WithoutUnits("O", {tensor.size()}) : WeightsOf(layer, tensor, input));
    parameters += tensor.size();
  }
}

}  // namespace

size_t TrainedTensor::size() const {
  size_t size = 1;
  for (const uint32_t extent : extents) size *= extent;
  return size;
}

uint32_t TrainedTensor::Extent(char axis) const {
  const size_t at = axes.find(axis);
  return at == std::string::npos ? 1 : extents[at];
}

std::vector<TrainedTensor> TrainedTensors(const ModelInfo& model,
                                          const std::optional<std::string>& sample) {
  std::vector<TrainedTensor> tensors;
  Shape shape = ShapeOfSample(model, sample);
  posix::BranchValues<Shape> branches;
  for (const LayerPlan& layer : model.layers) {
    if (layer.shared() > 0) AddTensors(layer, shape, &tensors);
    shape = branches.Follow(
        layer.info, shape, [&](const Shape& input) { return ShapeBehind(layer, input); },
        [&](const Shape& a, const Shape& b) { return a == b ? a : layer.info.output; });
  }
  return tensors;
}

std::vector<uint32_t> Flattened(const TrainedTensor& tensor, const std::string& order) {
  std::vector<uint32_t> positions = {0};
  for (const char axis : order == kNaturalOrder ? tensor.axes : order) {
    const size_t at = tensor.axes.find(axis);
    if (at == std::string::npos) continue;
    uint32_t stride = 1;
    for (size_t i = at + 1; i < tensor.extents.size(); ++i) stride *= tensor.extents[i];
    std::vector<uint32_t> longer;
    longer.reserve(positions.size() * tensor.extents[at]);
    for (const uint32_t position : positions) {
      for (uint32_t i = 0; i < tensor.extents[at]; ++i) longer.push_back(position + i * stride);
    }
    positions = std::move(longer);
  }
  return positions;
}

}  // namespace sotto::server
