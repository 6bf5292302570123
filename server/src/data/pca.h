// Principal components of a data set, as the weights of a Dense layer. Part of sotto::server/data.
//
// A net whose first layer is this Dense, frozen, trains on the data's main directions only: fewer
// parameters, so the same privacy takes less noise in all. The weights are computed from samples:
// no epsilon covers a fit on private data.
//
// Reentrant: safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/data/dataset.h"
#include "sotto/model_info.h"

namespace sotto::server {

// The most features: the covariance matrix then takes 134 MB.
constexpr size_t kMaxPcaInputs = 4096;

struct PrincipalComponents {
  // Those of Dense<inputs, dimensions>: [dimensions][inputs], then biases [dimensions]. Output k is
  // the k-th component of a sample minus the mean. Of each row the number of largest magnitude is
  // positive, so the signs do not depend on the computation.
  std::vector<float> parameters;
  std::vector<double> variances;  // [dimensions] of the outputs, decreasing
  double total_variance = 0;      // of all features
};

// Fits to all samples.
//   model       null, or the model whose steps prepare samples first
//   dimensions  at least 1, below the number of samples, at most the number of features
// Throws std::invalid_argument if that does not hold, for more than kMaxPcaInputs features, for
// samples without any variance, and for a number that is missing or not finite.
PrincipalComponents FitPrincipalComponents(const Dataset& data, const ModelInfo* model,
                                           uint32_t dimensions);

}  // namespace sotto::server
