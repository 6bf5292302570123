// The loss of each of some samples. Part of sotto::server/audit.
//
// Reentrant: safe from any thread.
#pragma once

#include <vector>

#include "sotto/data/dataset.h"
#include "sotto/model_info.h"

namespace sotto::server {

// The losses of the samples of these indices, in their order, whatever the number of threads.
//   parameters  [model.parameters]
//   data        fits the model: RequireEvaluable()
std::vector<double> SampleLosses(const ModelInfo& model, Span<const float> parameters,
                                 const Dataset& data, Span<const uint32_t> samples, int threads);

}  // namespace sotto::server
