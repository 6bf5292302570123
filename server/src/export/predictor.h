// Predictions of a trained model, as a board makes them. Part of sotto::server/export.
//
// The same functions of the SDK on the same numbers as `sotto model export --format header` gives
// to a board: so a board finds the same class for every sample, also in fixed point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/data/dataset.h"
#include "sotto/model_info.h"
#include "sotto/status.h"

namespace sotto::server {

// Constant after it was made: any thread may use it with the thread's own memory.
class Predictor {
 public:
  //   model       must exist as long as the object
  //   parameters  [model.parameters]
  Predictor(const ModelInfo& model, Span<const float> parameters);

  const ModelInfo& model() const { return model_; }

  // As Predict() in sotto/predict.h.
  //   features  [model().inputs]
  //   outputs   [model().outputs]
  Status Run(Span<const float> features, std::vector<float>* scratch, Span<float> outputs) const;

  // As PredictionError() in sotto/predict.h.
  //   target  [model().outputs] of a regression; {} of an autoencoder
  Status Error(Span<const float> features, Span<const float> target, std::vector<float>* scratch,
               Span<float> outputs, float* error) const;

 private:
  std::vector<nn::LayerPlan> layers_;
  ModelInfo model_;  // only goes forward
  std::vector<float> parameters_;
  std::vector<int32_t> raw_;  // the same in fixed point
};

// The outputs for all samples, [samples][outputs]. Throws std::invalid_argument that names the
// sample for features that the model does not take.
std::vector<float> PredictAll(const Predictor& predictor, const Dataset& data, int threads);

// Of a model that has prediction errors: an autoencoder or a regression.
struct PredictionErrors {
  std::vector<float> outputs;  // [samples][outputs]
  std::vector<float> errors;   // [samples], finite
};

bool HasErrors(const ModelInfo& model);

// The prediction errors of all samples. Throws as PredictAll() does, also for an error that is not
// finite.
//   data  of a regression it has targets
PredictionErrors ErrorsOfAll(const Predictor& predictor, const Dataset& data, int threads);

}  // namespace sotto::server
