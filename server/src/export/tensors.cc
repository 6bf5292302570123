#include "export/tensors.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>
#include <stdexcept>

#include "sotto/model/branch_values.h"

namespace sotto::server {
namespace {

using nn::LayerKind;
using nn::LayerPlan;
using nn::Shape;

// The tensors of one layer.
class Maps {
 public:
  Maps(size_t layer, std::vector<TensorMap>* out) : layer_(layer), out_(out) {}

  void Add(const char* name, std::vector<uint64_t> shape, const char* axes,
           std::vector<uint32_t> from) {
    out_->push_back(
        {fmt::format("{}.{}", layer_, name), std::move(shape), axes, layer_, std::move(from)});
  }

  // In Sotto's own order, from that parameter on.
  void AddPlain(const char* name, std::vector<uint64_t> shape, const char* axes, uint32_t first) {
    uint64_t size = 1;
    for (const uint64_t extent : shape) size *= extent;
    std::vector<uint32_t> from(size);
    std::iota(from.begin(), from.end(), first);
    Add(name, std::move(shape), axes, std::move(from));
  }

 private:
  size_t layer_;
  std::vector<TensorMap>* out_;
};

// Columns in the order of the input.
void MapDense(const LayerPlan& layer, const TensorOrder& input, Maps maps) {
  const uint32_t inputs = layer.info.input.size();
  const uint32_t outputs = layer.info.output.size();
  const Shape& s = input.shape;
  const uint32_t pixels = s.height * s.width;
  std::vector<uint32_t> from;
  from.reserve(layer.weights);
  for (uint32_t o = 0; o < outputs; ++o) {
    for (uint32_t i = 0; i < inputs; ++i) {
      const uint32_t own = input.is_channels_first ? i % pixels * s.channels + i / pixels : i;
      from.push_back(o * inputs + own);
    }
  }
  maps.Add("weight", {outputs, inputs}, "outputs, inputs", std::move(from));
  maps.AddPlain("bias", {outputs}, "outputs", layer.weights);
}

// Along a sequence there is one row, which has no axis.
std::vector<uint64_t> WithWindow(const LayerPlan& layer, std::vector<uint64_t> shape) {
  const nn::Window& window = layer.info.window;
  if (layer.info.input.height > 1 || window.rows.extent > 1) shape.push_back(window.rows.extent);
  shape.push_back(window.columns.extent);
  return shape;
}

void MapConv2d(const LayerPlan& layer, const TensorOrder&, Maps maps) {
  const uint32_t outputs = layer.info.output.channels;
  const uint32_t channels = layer.info.input.channels;
  const uint32_t pixels = layer.info.window.size();
  std::vector<uint32_t> from;
  from.reserve(layer.weights);
  for (uint32_t o = 0; o < outputs; ++o) {
    for (uint32_t c = 0; c < channels; ++c) {
      for (uint32_t p = 0; p < pixels; ++p) from.push_back((o * pixels + p) * channels + c);
    }
  }
  maps.Add("weight", WithWindow(layer, {outputs, channels}), "outputs, inputs, window",
           std::move(from));
  maps.AddPlain("bias", {outputs}, "outputs", layer.weights);
}

void MapDepthwise(const LayerPlan& layer, const TensorOrder&, Maps maps) {
  const uint32_t outputs = layer.info.output.channels;
  const uint32_t pixels = layer.info.window.size();
  std::vector<uint32_t> from;
  from.reserve(layer.weights);
  for (uint32_t o = 0; o < outputs; ++o) {
    for (uint32_t p = 0; p < pixels; ++p) from.push_back(p * outputs + o);
  }
  maps.Add("weight", WithWindow(layer, {outputs, 1}), "outputs, 1, window", std::move(from));
  maps.AddPlain("bias", {outputs}, "outputs", layer.weights);
}

void MapEmbedding(const LayerPlan& layer, const TensorOrder&, Maps maps) {
  maps.AddPlain("weight", {layer.tokens, layer.fan_in}, "tokens, width", 0);
}

void MapLstm(const LayerPlan& layer, const TensorOrder&, Maps maps) {
  const uint32_t channels = layer.info.input.channels;
  const uint32_t units = layer.info.output.channels;
  const uint32_t gates = 4 * units;
  maps.AddPlain("weight_ih_l0", {gates, channels}, "gates i f g o, inputs", 0);
  maps.AddPlain("weight_hh_l0", {gates, units}, "gates i f g o, units", gates * channels);
  maps.AddPlain("bias_ih_l0", {gates}, "gates i f g o", layer.weights);
  maps.AddPlain("bias_hh_l0", {gates}, "gates i f g o", layer.weights + gates);
}

void MapGroupNorm(const LayerPlan& layer, const TensorOrder&, Maps maps) {
  maps.AddPlain("weight", {layer.weights}, "channels", 0);
  maps.AddPlain("bias", {layer.biases}, "channels", layer.weights);
}

struct KindRow {
  LayerKind kind;
  // Null: the kind has no parameters.
  void (*map)(const LayerPlan& layer, const TensorOrder& input, Maps maps);
  // Of the output; kInput: it works number by number.
  enum { kOwn, kChannelsFirst, kInput } order;
};

constexpr KindRow kKinds[] = {
    {LayerKind::kDense, MapDense, KindRow::kOwn},
    {LayerKind::kConv2d, MapConv2d, KindRow::kChannelsFirst},
    {LayerKind::kMaxPool2d, nullptr, KindRow::kChannelsFirst},
    {LayerKind::kRelu, nullptr, KindRow::kInput},
    {LayerKind::kFlatten, nullptr, KindRow::kInput},
    {LayerKind::kTanh, nullptr, KindRow::kInput},
    {LayerKind::kSigmoid, nullptr, KindRow::kInput},
    {LayerKind::kAveragePool2d, nullptr, KindRow::kChannelsFirst},
    {LayerKind::kDepthwiseConv2d, MapDepthwise, KindRow::kChannelsFirst},
    {LayerKind::kEmbedding, MapEmbedding, KindRow::kOwn},
    {LayerKind::kLstm, MapLstm, KindRow::kOwn},
    {LayerKind::kGroupNorm, MapGroupNorm, KindRow::kChannelsFirst},
    {LayerKind::kLocalResponseNorm, nullptr, KindRow::kChannelsFirst},
    {LayerKind::kFork, nullptr, KindRow::kInput},
    {LayerKind::kSwap, nullptr, KindRow::kInput},
    {LayerKind::kAdd, nullptr, KindRow::kInput},
};

const KindRow& RowOf(const LayerPlan& layer) {
  const auto* const row = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& each) {
    return each.kind == layer.info.kind;
  });
  if (row == std::end(kKinds)) throw std::logic_error("exported nets lack a kind of layer");
  return *row;
}

// Behind a layer without branches whose input has that order.
TensorOrder OrderBehind(const LayerPlan& layer, const TensorOrder& input) {
  const KindRow& row = RowOf(layer);
  if (row.order == KindRow::kInput) return input;
  return {row.order == KindRow::kChannelsFirst, layer.info.output};
}

// Of each layer its parameters.
std::vector<const float*> ParametersByLayer(const ModelInfo& model, const float* parameters) {
  std::vector<const float*> all;
  for (const LayerPlan& layer : model.layers) {
    all.push_back(layer.frozen != nullptr ? layer.frozen : parameters);
    parameters += layer.trained();
  }
  return all;
}

std::vector<size_t> FirstParameters(const ModelInfo& model) {
  std::vector<size_t> all;
  size_t first = 0;
  for (const LayerPlan& layer : model.layers) {
    all.push_back(first);
    first += layer.trained();
  }
  return all;
}

std::string Describe(const std::vector<uint64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

[[noreturn]] void RefuseNames(const ModelInfo& model, const std::vector<TensorMap>& maps,
                              const std::string& why) {
  std::vector<std::string> names;
  for (const TensorMap& map : maps) names.push_back(map.name + " " + Describe(map.shape));
  throw std::invalid_argument(
      fmt::format("{}; the tensors of model {} are {}: the number is the layer's, from 0", why,
                  model.name, fmt::join(names, ", ")));
}

const Tensor& Find(const ModelInfo& model, const std::vector<TensorMap>& maps, const TensorMap& map,
                   const std::vector<Tensor>& tensors) {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const Tensor& tensor) { return tensor.name == map.name; });
  if (found == tensors.end()) {
    RefuseNames(model, maps, fmt::format("there is no tensor {}", map.name));
  }
  if (found->shape != map.shape) {
    throw std::invalid_argument(
        fmt::format("tensor {} is {}, and model {} has {} ({}) there; transpose it, or name the "
                    "model that it is of",
                    map.name, Describe(found->shape), model.name, Describe(map.shape), map.axes));
  }
  return *found;
}

void RequireKnown(const ModelInfo& model, const std::vector<TensorMap>& maps,
                  const std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors) {
    const bool is_known = std::any_of(
        maps.begin(), maps.end(), [&](const TensorMap& map) { return map.name == tensor.name; });
    if (!is_known) {
      RefuseNames(model, maps, fmt::format("tensor \"{}\" is not in the model", tensor.name));
    }
  }
}

void RequireFrozen(const LayerPlan& layer, const TensorMap& map, const Tensor& tensor) {
  for (size_t i = 0; i < map.from.size(); ++i) {
    if (tensor.values[i] == layer.frozen[map.from[i]]) continue;
    throw std::invalid_argument(
        fmt::format("tensor {} belongs to a frozen layer and differs from the model's weights at "
                    "number {}: {} instead of {}; frozen layers are not trained, so take a file of "
                    "the same model",
                    map.name, i + 1, tensor.values[i], layer.frozen[map.from[i]]));
  }
}

}  // namespace

void RequireAllShared(const ModelInfo& model) {
  if (model.personal == 0) return;
  throw std::invalid_argument(
      fmt::format("model {} has personal layers, whose values are on its devices alone: no file "
                  "and no prediction can have them. `sotto model evaluate` takes them as devices "
                  "start with them; --model-out writes the shared parameters",
                  model.name));
}

TensorOrder OrderOfInput(const ModelInfo& model) {
  const Shape& shape = model.layers[0].info.input;
  return {shape.height > 1, shape};
}

TensorOrder OrderOfSum(const TensorOrder& a, const TensorOrder& b) {
  return a == b ? a : TensorOrder{false, a.shape};
}

std::vector<TensorMap> MapTensors(const ModelInfo& model) {
  RequireAllShared(model);
  std::vector<TensorMap> maps;
  TensorOrder order = OrderOfInput(model);
  posix::BranchValues<TensorOrder> branches;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const LayerPlan& layer = model.layers[i];
    if (const auto map = RowOf(layer).map; map != nullptr) map(layer, order, Maps(i, &maps));
    order = branches.Follow(
        layer.info, order, [&](const TensorOrder& input) { return OrderBehind(layer, input); },
        OrderOfSum);
  }
  return maps;
}

std::vector<Tensor> ExportTensors(const ModelInfo& model, Span<const float> parameters) {
  const std::vector<const float*> layers = ParametersByLayer(model, parameters.data());
  std::vector<Tensor> tensors;
  for (TensorMap& map : MapTensors(model)) {
    Tensor tensor = {map.name, map.shape, {}};
    tensor.values.reserve(map.from.size());
    for (const uint32_t from : map.from) tensor.values.push_back(layers[map.layer][from]);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::vector<float> ImportTensors(const ModelInfo& model, const std::vector<Tensor>& tensors) {
  const std::vector<TensorMap> maps = MapTensors(model);
  RequireKnown(model, maps, tensors);
  const std::vector<size_t> first = FirstParameters(model);
  std::vector<float> parameters(model.parameters);
  for (const TensorMap& map : maps) {
    const Tensor& tensor = Find(model, maps, map, tensors);
    const LayerPlan& layer = model.layers[map.layer];
    if (layer.frozen != nullptr) {
      RequireFrozen(layer, map, tensor);
      continue;
    }
    for (size_t i = 0; i < map.from.size(); ++i) {
      parameters[first[map.layer] + map.from[i]] = tensor.values[i];
    }
  }
  return parameters;
}

}  // namespace sotto::server
