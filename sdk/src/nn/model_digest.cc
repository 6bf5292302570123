#include "sotto/model_info.h"

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

}  // namespace

Status ModelDigest(const ModelInfo& model, uint8_t (&digest)[kSha256Size]) {
  Sha256 hash;
  const nn::LayerInfo& first = model.layers[0].info;
  if (model.layers.size() == 1 && first.kind == nn::LayerKind::kDense) {
    const uint32_t format_1[] = {1, 1, static_cast<uint32_t>(first.kind), first.input.size(),
                                 first.output.size()};
    if (Status s = Update(format_1, &hash); s != Status::kOk) return s;
    return hash.Finish(digest);
  }
  const uint32_t format_2[] = {2, static_cast<uint32_t>(model.layers.size())};
  if (Status s = Update(format_2, &hash); s != Status::kOk) return s;
  for (const nn::LayerPlan& layer : model.layers) {
    if (Status s = UpdateLayer(layer.info, &hash); s != Status::kOk) return s;
  }
  return hash.Finish(digest);
}

}  // namespace sotto
