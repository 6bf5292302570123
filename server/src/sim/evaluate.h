// How good a model is on a test set. Part of sotto::server/sim.
#ifndef SOTTO_SIM_EVALUATE_H_
#define SOTTO_SIM_EVALUATE_H_

#include "sotto/data/dataset.h"
#include "sotto/nn.h"

namespace sotto::server {

// The share of samples whose highest score is that of their label, in [0, 1]. A tie goes to the
// lower class. The same on any number of threads. An empty set gives 0.
double Accuracy(const ModelInfo& model, Span<const float> parameters, const Dataset& data,
                int threads);

}  // namespace sotto::server

#endif  // SOTTO_SIM_EVALUATE_H_
