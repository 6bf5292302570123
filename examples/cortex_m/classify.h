// A model's predictions for the device's samples. Part of examples/cortex_m.
#pragma once

#include "sotto/model_info.h"
#include "sotto/predict.h"
#include "sotto/sample_source.h"

namespace sotto {

// Floats of memory that Classify() needs.
constexpr size_t ClassifyFloats(const ModelInfo& model) {
  return model.inputs + model.outputs + PredictFloats(model);
}

// Prints a line "classes: 9 0 0 3", the model's answer to each sample, then "40 of 50 are right",
// the number of answers that agree with the label. A product acts on the class of a sensor's
// sample, which has no label.
//   model       tells classes apart
//   parameters  [model.parameters] finite
//   samples     their features are raw: the model's steps prepare them, as in a training
//   memory      [ClassifyFloats(model)]; unspecified before and after
// Returns kOk, or the status of a sample or of Predict().
Status Classify(const ModelInfo& model, Span<const float> parameters, const SampleSource& samples,
                Span<float> memory);

}  // namespace sotto
