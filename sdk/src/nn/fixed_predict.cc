// Predict() for raw parameters: a separate file, so that a firmware in float32 does not link it.
#include "base/exact_arithmetic.h"
#include "nn/fixed_net_kernels.h"
#include "nn/predict.h"
#include "nn/walker.h"
#include "sotto/predict.h"

namespace sotto {

Status Predict(const ModelInfo& model, Span<const int32_t> parameters, Span<const float> features,
               Span<float> scratch, Span<float> outputs) {
  if (model.predict != nullptr) return Status::kInvalidArgument;  // it takes float32
  const Status status = nn::CheckPrediction(model, parameters.size(), features, scratch, outputs);
  if (status != Status::kOk) return status;
  bool saturated = false;
  // The kernels read raw integers from the memory of floats, byte by byte (LoadRaw).
  const auto* const raw = reinterpret_cast<const float*>(parameters.data());
  nn::Walker walker(model.layers, raw, scratch.data(), 0, &saturated);
  const Span<float> sample = walker.input();
  nn::Copy(features.data(), features.size(), sample.data());
  nn::Prepare(model.preparation, sample.data());
  for (float& feature : sample) nn::StoreRaw(nn::Activation::FromFloat(feature).raw(), &feature);
  walker.Forward();
  for (size_t k = 0; k < outputs.size(); ++k) {
    outputs[k] = nn::Activation::FromRaw(nn::LoadRaw(&walker.output()[k])).ToFloat();
  }
  return Status::kOk;
}

}  // namespace sotto
