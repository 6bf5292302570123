#include "base/exact_arithmetic.h"
#include "nn/predict.h"
#include "nn/walker.h"
#include "sotto/predict.h"

namespace sotto {

Status PredictionError(const ModelInfo& model, Span<const float> parameters,
                       Span<const float> features, Span<const float> target, Span<float> scratch,
                       Span<float> outputs, float* error) {
  // A model for trainings in fixed point predicts in floats, too, but its error is another one.
  const auto errors = model.loss.errors;
  if (errors != nullptr && errors != nn::internal::SquaredErrors) return Status::kInvalidArgument;
  if (Status s = nn::CheckTarget(model, target); s != Status::kOk) return s;
  if (Status s = Predict(model, parameters, features, scratch, outputs); s != Status::kOk) return s;
  // The prediction leaves the prepared sample and the outputs in the net's memory.
  const nn::Walker walker(model.layers, parameters.data(), scratch.data(), 0);
  const float* const wanted = target.empty() ? walker.input().data() : target.data();
  const float loss = nn::internal::SquaredErrors(walker.output(), {0, wanted});
  if (!IsFinite(loss)) return Status::kNotFinite;
  *error = loss;
  return Status::kOk;
}

}  // namespace sotto
