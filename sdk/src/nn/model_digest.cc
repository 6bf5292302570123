#include "base/exact_arithmetic.h"
#include "sotto/nn.h"
#include "sotto/num.h"

namespace sotto {
namespace {

Status Update(Span<const uint32_t> values, Sha256* hash) {
  for (const uint32_t value : values) {
    if (Status s = hash->UpdateU32(value); s != Status::kOk) return s;
  }
  return Status::kOk;
}

Status UpdateLayer(const nn::LayerInfo& layer, Sha256* hash) {
  const nn::Shape& in = layer.input;
  const nn::Shape& out = layer.output;
  const nn::Window& window = layer.window;
  const uint32_t fields[] = {static_cast<uint32_t>(layer.kind),
                             in.height,
                             in.width,
                             in.channels,
                             out.height,
                             out.width,
                             out.channels,
                             window.rows.extent,
                             window.rows.stride,
                             window.rows.padding,
                             window.columns.extent,
                             window.columns.stride,
                             window.columns.padding,
                             layer.size};
  return Update(fields, hash);
}

// Which parameters are constants, and their bits.
Status UpdateFrozen(Span<const nn::LayerPlan> layers, Sha256* hash) {
  uint32_t count = 0;
  for (const nn::LayerPlan& layer : layers) count += layer.frozen != nullptr ? 1 : 0;
  if (Status s = hash->UpdateU32(count); s != Status::kOk) return s;
  for (uint32_t i = 0; i < layers.size(); ++i) {
    const nn::LayerPlan& layer = layers[i];
    if (layer.frozen == nullptr) continue;
    if (Status s = hash->UpdateU32(i); s != Status::kOk) return s;
    for (uint32_t j = 0; j < layer.parameters(); ++j) {
      const auto value = static_cast<float>(layer.frozen[j]);
      if (Status s = hash->UpdateU32(FloatBits(value)); s != Status::kOk) return s;
    }
  }
  return Status::kOk;
}

Status UpdateLayersAndLoss(const ModelInfo& model, Sha256* hash) {
  const uint32_t format_2[] = {2, static_cast<uint32_t>(model.layers.size())};
  if (Status s = Update(format_2, hash); s != Status::kOk) return s;
  for (const nn::LayerPlan& layer : model.layers) {
    if (Status s = UpdateLayer(layer.info, hash); s != Status::kOk) return s;
  }
  const uint32_t loss[] = {static_cast<uint32_t>(model.loss.kind),
                           static_cast<uint32_t>(model.loss.target)};
  return Update(loss, hash);
}

Status UpdateNumbers(Span<const float> numbers, Sha256* hash) {
  if (Status s = hash->UpdateU32(static_cast<uint32_t>(numbers.size())); s != Status::kOk) return s;
  for (const float number : numbers) {
    if (Status s = hash->UpdateU32(FloatBits(number)); s != Status::kOk) return s;
  }
  return Status::kOk;
}

Status UpdatePreparation(Span<const nn::PreparationStep> steps, Sha256* hash) {
  if (Status s = hash->UpdateU32(static_cast<uint32_t>(steps.size())); s != Status::kOk) return s;
  for (const nn::PreparationStep& step : steps) {
    if (Status s = hash->UpdateU32(static_cast<uint32_t>(step.kind)); s != Status::kOk) return s;
    if (Status s = UpdateNumbers(step.first, hash); s != Status::kOk) return s;
    if (Status s = UpdateNumbers(step.second, hash); s != Status::kOk) return s;
    if (Status s = hash->UpdateU32(step.size); s != Status::kOk) return s;
    if (step.output == step.input) continue;
    const uint32_t shape[] = {step.input.height, step.input.width, step.input.channels};
    if (Status s = Update(shape, hash); s != Status::kOk) return s;
  }
  return Status::kOk;
}

Status UpdateNames(Span<const char* const> names, Sha256* hash) {
  if (Status s = hash->UpdateU32(static_cast<uint32_t>(names.size())); s != Status::kOk) return s;
  for (const char* const name : names) {
    const size_t length = __builtin_strlen(name);
    if (Status s = hash->UpdateU32(static_cast<uint32_t>(length)); s != Status::kOk) return s;
    const ByteSpan bytes{reinterpret_cast<const uint8_t*>(name), length};
    if (Status s = hash->Update(bytes); s != Status::kOk) return s;
  }
  return Status::kOk;
}

}  // namespace

namespace nn::internal {

Status UpdateSoftmaxDigest(const ModelInfo& model, Sha256* hash) {
  const uint32_t format_1[] = {1, 1, static_cast<uint32_t>(LayerKind::kDense), model.inputs,
                               model.outputs};
  return Update(format_1, hash);
}

Status UpdateNetDigest(const ModelInfo& model, Sha256* hash) {
  if (Status s = UpdateLayersAndLoss(model, hash); s != Status::kOk) return s;
  constexpr uint32_t kPreparationSteps = 0;
  if (Status s = hash->UpdateU32(kPreparationSteps); s != Status::kOk) return s;
  return UpdateFrozen(model.layers, hash);
}

// The same for a model without preparation and names.
Status UpdatePreparedDigest(const ModelInfo& model, Sha256* hash) {
  if (Status s = UpdateLayersAndLoss(model, hash); s != Status::kOk) return s;
  if (Status s = UpdatePreparation(model.preparation, hash); s != Status::kOk) return s;
  if (Status s = UpdateFrozen(model.layers, hash); s != Status::kOk) return s;
  return model.class_names.empty() ? Status::kOk : UpdateNames(model.class_names, hash);
}

// The mark is no number of class names, so the two parts cannot be taken for each other.
Status UpdateDescribedDigest(const ModelInfo& model, Sha256* hash) {
  constexpr uint32_t kDescription = 0xffffffff;
  if (Status s = UpdatePreparedDigest(model, hash); s != Status::kOk) return s;
  if (Status s = hash->UpdateU32(kDescription); s != Status::kOk) return s;
  if (Status s = UpdateNames(model.feature_names, hash); s != Status::kOk) return s;
  if (Status s = UpdateNames(model.feature_units, hash); s != Status::kOk) return s;
  const char* const kind[] = {model.sample_kind};
  return UpdateNames({kind, model.sample_kind != nullptr ? size_t{1} : 0}, hash);
}

// The mark is no number of class names either, and not the other one.
Status UpdatePersonalDigest(const ModelInfo& model, Sha256* hash) {
  constexpr uint32_t kPersonal = 0xfffffffe;
  const bool is_described =
      !model.feature_names.empty() || !model.feature_units.empty() || model.sample_kind != nullptr;
  const Status status =
      is_described ? UpdateDescribedDigest(model, hash) : UpdatePreparedDigest(model, hash);
  if (status != Status::kOk) return status;
  uint32_t first = 0;
  while (!model.layers[first].is_personal) ++first;
  const uint32_t personal[] = {kPersonal, first};
  return Update(personal, hash);
}

}  // namespace nn::internal

Status ModelDigest(const ModelInfo& model, uint8_t (&digest)[kSha256Size]) {
  Sha256 hash;
  if (Status s = model.update_digest(model, &hash); s != Status::kOk) return s;
  return hash.Finish(digest);
}

}  // namespace sotto
