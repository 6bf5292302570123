#include "sotto/initial_weights.h"

#include <cmath>

#include "base/exact_arithmetic.h"
#include "sotto/net_functions.h"
#include "sotto/random.h"

namespace sotto {
namespace {

using nn::LayerKind;
using nn::LayerPlan;

// Pooling passes values on, so a rectifier behind it counts; and so does a fork.
bool PassesValuesOn(LayerKind kind) {
  return kind == LayerKind::kFlatten || kind == LayerKind::kMaxPool2d ||
         kind == LayerKind::kAveragePool2d || kind == LayerKind::kFork;
}

bool FeedsRectifier(Span<const LayerPlan> layers, size_t layer) {
  size_t next = layer + 1;
  while (next < layers.size() && PassesValuesOn(layers[next].info.kind)) ++next;
  return next < layers.size() && layers[next].info.kind == LayerKind::kRelu;
}

float Bound(const LayerPlan& layer, bool feeds_rectifier) {
  // fan_out counts the sums that one number of the input is a term of.
  const bool has_window = layer.info.window.size() > 0;
  const uint32_t fan_out = layer.weights / (has_window ? layer.info.input.channels : layer.fan_in);
  return std::sqrt(6.0f / static_cast<float>(layer.fan_in + (feeds_rectifier ? 0 : fan_out)));
}

// The parameters of the model's layer i.
Status DrawLayer(Span<const LayerPlan> layers, size_t i, const Key& key, float* parameters) {
  const LayerPlan& layer = layers[i];
  RandomStream random(key, static_cast<uint32_t>(i));
  const float bound = layer.weights == 0 ? 0.0f : Bound(layer, FeedsRectifier(layers, i));
  for (size_t j = 0; j < layer.weights; ++j) {
    const int32_t k = static_cast<int32_t>(random.NextU32() >> 8) - (1 << 23);
    parameters[j] = bound * (static_cast<float>(k) * 0x1p-23f);
  }
  for (size_t j = 0; j < layer.start.count; ++j) {
    parameters[layer.start.first + j] = layer.start.value;
  }
  return random.status();
}

// Of the layers that are personal, or of those that are shared.
Status DrawLayers(const ModelInfo& model, bool of_personal, const Key& key, Span<float> out) {
  for (float& value : out) value = 0.0f;
  float* parameters = out.data();
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const LayerPlan& layer = model.layers[i];
    if (layer.trained() == 0 || layer.is_personal != of_personal) continue;
    if (Status s = DrawLayer(model.layers, i, key, parameters); s != Status::kOk) return s;
    parameters += layer.parameters();
  }
  return Status::kOk;
}

}  // namespace

Status InitialWeights(const ModelInfo& model, const Key& key, Span<float> parameters) {
  if (model.layers.size() == 1 && model.layers[0].info.kind == LayerKind::kDense) {
    for (float& value : parameters) value = 0.0f;
    return Status::kOk;
  }
  return DrawLayers(model, false, key, parameters);
}

Status nn::internal::DrawPersonal(const ModelInfo& model, const Key& key, Span<float> values) {
  return DrawLayers(model, true, key, values);
}

}  // namespace sotto
