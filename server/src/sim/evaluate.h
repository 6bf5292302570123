// The accuracy of a model on a test set. Part of sotto::server/sim.
//
// Reentrant: safe from any thread.
#ifndef SOTTO_SIM_EVALUATE_H_
#define SOTTO_SIM_EVALUATE_H_

#include "sotto/data/dataset.h"
#include "sotto/nn.h"

namespace sotto::server {

// The share of samples whose label has the highest score, in [0, 1]. In a tie the lower class wins.
// The result is the same on any number of threads. An empty set gives 0.
double Accuracy(const ModelInfo& model, Span<const float> parameters, const Dataset& data,
                int threads);

}  // namespace sotto::server

#endif  // SOTTO_SIM_EVALUATE_H_
