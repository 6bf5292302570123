// What all predictions check. Part of sotto/nn; private to the SDK.
#pragma once

#include "base/exact_arithmetic.h"
#include "nn/tokens.h"
#include "sotto/model_info.h"
#include "sotto/num.h"

namespace sotto::nn {

inline bool AreFinite(Span<const float> values) {
  for (const float value : values) {
    if (!IsFinite(value)) return false;
  }
  return true;
}

// Whether NaN is a missing number.
inline bool TakesMissing(const ModelInfo& model) {
  for (const PreparationStep& step : model.preparation) {
    if (step.kind == PreparationKind::kFillMissing) return true;
  }
  return false;
}

inline Status CheckFeatures(const ModelInfo& model, Span<const float> features) {
  const uint32_t tokens = model.layers[0].tokens;
  if (tokens > 0) return AreTokens(features, tokens) ? Status::kOk : Status::kOutOfRange;
  const bool takes_missing = TakesMissing(model);
  for (const float feature : features) {
    const bool is_missing = takes_missing && feature != feature;
    if (!is_missing && !IsFinite(feature)) return Status::kNotFinite;
  }
  return Status::kOk;
}

//   parameters  how many there are
inline Status CheckPrediction(const ModelInfo& model, size_t parameters, Span<const float> features,
                              Span<float> scratch, Span<float> outputs) {
  if (parameters != model.trained() || features.size() != model.inputs ||
      outputs.size() != model.outputs) {
    return Status::kInvalidArgument;
  }
  if (Status s = CheckFeatures(model, features); s != Status::kOk) return s;
  return scratch.size() < model.predict_floats(model) ? Status::kBufferTooSmall : Status::kOk;
}

// The target of PredictionError().
inline Status CheckTarget(const ModelInfo& model, Span<const float> target) {
  const size_t size = model.loss.target == TargetKind::kVector ? model.outputs : 0;
  if (model.loss.kind != LossKind::kMeanSquaredError || target.size() != size) {
    return Status::kInvalidArgument;
  }
  return AreFinite(target) ? Status::kOk : Status::kNotFinite;
}

}  // namespace sotto::nn
