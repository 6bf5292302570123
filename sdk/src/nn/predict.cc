#include "nn/predict.h"

#include "base/exact_arithmetic.h"
#include "sotto/predict.h"

namespace sotto {
namespace {

// outputs and probabilities of equal size; both may be one.
void Softmax(Span<const float> outputs, Span<float> probabilities) {
  float largest = outputs[0];
  for (const float score : outputs) largest = score > largest ? score : largest;
  float sum = 0.0f;
  for (size_t k = 0; k < outputs.size(); ++k) {
    probabilities[k] = Exp(outputs[k] - largest);
    sum += probabilities[k];
  }
  for (float& probability : probabilities) probability /= sum;
}

}  // namespace

Status Predict(const ModelInfo& model, Span<const float> parameters, Span<const float> features,
               Span<float> scratch, Span<float> outputs) {
  if (model.predict == nullptr) return Status::kInvalidArgument;  // it takes raw integers
  const Status status = nn::CheckPrediction(model, parameters.size(), features, scratch, outputs);
  if (status != Status::kOk) return status;
  model.predict(model, parameters, features, scratch, outputs);
  return nn::AreFinite(outputs) ? Status::kOk : Status::kNotFinite;
}

uint32_t PredictedClass(const ModelInfo& model, Span<const float> outputs) {
  if (model.outputs == 1) return outputs[0] > 0 ? 1 : 0;
  uint32_t best = 0;
  for (uint32_t k = 1; k < outputs.size(); ++k) {
    if (outputs[k] > outputs[best]) best = k;
  }
  return best;
}

Status Probabilities(const ModelInfo& model, Span<const float> outputs, Span<float> probabilities) {
  if (model.classes == 0 || outputs.size() != model.outputs ||
      probabilities.size() != model.classes) {
    return Status::kInvalidArgument;
  }
  if (model.loss.kind == nn::LossKind::kSoftmaxCrossEntropy) {
    Softmax(outputs, probabilities);
  } else if (model.outputs == 1) {
    const float score = outputs[0];
    probabilities[0] = Logistic(-score);
    probabilities[1] = Logistic(score);
  } else {
    for (size_t k = 0; k < outputs.size(); ++k) probabilities[k] = Logistic(outputs[k]);
  }
  return Status::kOk;
}

}  // namespace sotto
