#include "sotto/initial_weights.h"

#include <cmath>

#include "base/exact_arithmetic.h"
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

}  // namespace

Status InitialWeights(const ModelInfo& model, const Key& key, Span<float> parameters) {
  for (float& value : parameters) value = 0.0f;
  if (model.layers.size() == 1 && model.layers[0].info.kind == LayerKind::kDense) {
    return Status::kOk;
  }
  size_t first = 0;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const LayerPlan& layer = model.layers[i];
    if (layer.trained() == 0) continue;
    RandomStream random(key, static_cast<uint32_t>(i));
    const float bound = layer.weights == 0 ? 0.0f : Bound(layer, FeedsRectifier(model.layers, i));
    for (size_t j = 0; j < layer.weights; ++j) {
      const int32_t k = static_cast<int32_t>(random.NextU32() >> 8) - (1 << 23);
      parameters[first + j] = bound * (static_cast<float>(k) * 0x1p-23f);
    }
    if (random.status() != Status::kOk) return random.status();
    for (size_t j = 0; j < layer.start.count; ++j) {
      parameters[first + layer.start.first + j] = layer.start.value;
    }
    first += layer.parameters();
  }
  return Status::kOk;
}

}  // namespace sotto
