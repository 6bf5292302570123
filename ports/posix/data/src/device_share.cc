#include "sotto/data/device_share.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>
#include <string>

namespace sotto {
namespace {

std::string Describe(size_t inputs, uint32_t tokens, uint32_t classes, uint32_t targets) {
  std::string text = tokens > 0 ? fmt::format("{} tokens below {}", inputs, tokens)
                                : fmt::format("{} inputs", inputs);
  if (classes > 0) text += fmt::format(" in {} classes", classes);
  if (targets > 0) text += fmt::format(" with {} targets", targets);
  return text;
}

}  // namespace

void RequireFits(const ModelInfo& model, const Dataset& data) {
  const SampleInfo& info = data.info();
  const uint32_t tokens = model.layers[0].tokens;
  const bool has_vector = model.loss.target == nn::TargetKind::kVector;
  const uint32_t targets = has_vector ? model.outputs : 0;
  const bool fits = data.input_size() == model.inputs && info.tokens <= tokens &&
                    (info.tokens == 0) == (tokens == 0) &&
                    (model.classes == 0 || info.classes == model.classes) &&
                    (!has_vector || info.targets == targets);
  if (fits) return;
  throw std::invalid_argument(
      fmt::format("model {} takes {}, but data set {} has {}", model.name,
                  Describe(model.inputs, tokens, model.classes, targets), data.name(),
                  Describe(data.input_size(), info.tokens, info.classes, info.targets)));
}

DeviceShare::DeviceShare(const Dataset& data, const DeviceIndices& indices, double held_out)
    : data_(data), indices_(indices), is_whole_(held_out == 0) {
  if (!is_whole_) parts_ = SplitSamples(data, indices, held_out);
}

void DeviceShare::CopyGenerated(std::vector<float>* memory) {
  const size_t floats = indices_.size() * floats_each();
  if (!data_.is_generated() || floats > kMostCopied) return;
  memory->resize(floats);
  float* at = memory->data();
  for (uint32_t i = 0; i < indices_.size(); ++i) {
    data_.CopyFeatures(indices_[i], {at, data_.input_size()});
    at += data_.input_size();
    if (data_.info().targets > 0) data_.CopyTarget(indices_[i], {at, data_.info().targets});
    at += data_.info().targets;
  }
  copies_ = memory->data();
}

SampleSource DeviceShare::source() const {
  auto* const self = const_cast<DeviceShare*>(this);  // both functions read only
  const size_t count = is_whole_ ? indices_.size() : parts_.training.size();
  return {static_cast<uint32_t>(count), Read, self, ReadVector};
}

SampleSource DeviceShare::held_out_source() const {
  return {static_cast<uint32_t>(parts_.held_out.size()), ReadHeldOut,
          const_cast<DeviceShare*>(this), nullptr};
}

void DeviceShare::CopySample(uint32_t position, Span<float> features, Span<float> target) const {
  if (copies_ != nullptr) {
    const float* const copy = copies_ + position * floats_each();
    std::copy_n(copy, features.size(), features.data());
    std::copy_n(copy + features.size(), target.size(), target.data());
    return;
  }
  data_.CopyFeatures(indices_[position], features);
  if (!target.empty()) data_.CopyTarget(indices_[position], target);
}

Status DeviceShare::Read(void* context, uint32_t index, Span<float> features, uint32_t* label) {
  const auto* self = static_cast<const DeviceShare*>(context);
  const uint32_t position = self->TrainingPosition(index);
  self->CopySample(position, features, {});
  *label = self->data_.Label(self->indices_[position]);
  return Status::kOk;
}

Status DeviceShare::ReadHeldOut(void* context, uint32_t index, Span<float> features,
                                uint32_t* label) {
  const auto* self = static_cast<const DeviceShare*>(context);
  const uint32_t position = self->parts_.held_out[index];
  self->CopySample(position, features, {});
  *label = self->data_.Label(self->indices_[position]);
  return Status::kOk;
}

Status DeviceShare::ReadVector(void* context, uint32_t index, Span<float> features,
                               Span<float> target) {
  const auto* self = static_cast<const DeviceShare*>(context);
  self->CopySample(self->TrainingPosition(index), features, target);
  return Status::kOk;
}

}  // namespace sotto
