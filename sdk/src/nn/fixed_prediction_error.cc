// PredictionError() for raw parameters, apart so that a firmware in float32 does not link it.
#include "base/exact_arithmetic.h"
#include "losses/fixed_squares.h"
#include "nn/predict.h"
#include "nn/walker.h"
#include "sotto/predict.h"

namespace sotto {

Status PredictionError(const ModelInfo& model, Span<const int32_t> parameters,
                       Span<const float> features, Span<const float> target, Span<float> scratch,
                       Span<float> outputs, float* error) {
  if (Status s = nn::CheckTarget(model, target); s != Status::kOk) return s;
  if (Status s = Predict(model, parameters, features, scratch, outputs); s != Status::kOk) return s;
  // The prediction leaves the prepared sample and the outputs in the net's memory, raw.
  const nn::Walker walker(model.layers, nullptr, scratch.data(), 0);
  nn::FixedSquares squares;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const auto output = nn::Activation::FromRaw(nn::LoadRaw(&walker.output()[k]));
    const auto wanted = target.empty() ? nn::Activation::FromRaw(nn::LoadRaw(&walker.input()[k]))
                                       : nn::Activation::FromFloat(target[k]);
    squares.Add(output - wanted);
  }
  *error = squares.Mean(outputs.size());
  return Status::kOk;
}

}  // namespace sotto
