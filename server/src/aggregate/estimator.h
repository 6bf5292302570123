// From the noisy sum of an attempt to an update of the model: one interface for all estimators.
// Part of sotto::server/aggregate.
//
// An estimate is post-processing of an already private sum, so it costs no privacy. The table of
// all estimators is methods.cc.
#ifndef SOTTO_AGGREGATE_ESTIMATOR_H_
#define SOTTO_AGGREGATE_ESTIMATOR_H_

#include <cstdint>
#include <vector>

#include "sotto/nn.h"
#include "sotto/span.h"

namespace sotto::server {

// A complete sum, its noise topped up. Spans are valid during the call.
struct NoisySum {
  Span<const int64_t> sum;  // [n], n > 0
  // Model units that one unit of the sum stands for; > 0.
  double unit = 0.0;
  // What the sum is divided by: the planned cohort (uniform) or q N (Poisson), never the number
  // that reported. > 0.
  double divisor = 0.0;
  // Deviation of the noise on each coordinate of sum * unit / divisor, model units; 0 without
  // noise.
  double noise_sigma = 0.0;
  Span<const nn::TensorInfo> tensors;  // in the sum's order; their sizes add up to n
};

// Immutable: any thread may call it.
class Estimator {
 public:
  virtual ~Estimator() = default;

  // The update, [n] model units. A coordinate may be infinite if the sum is too large.
  // Throws std::invalid_argument for a sum that breaks the ranges above.
  virtual std::vector<float> Estimate(const NoisySum& noisy) const = 0;
};

// sum * unit / divisor: the estimate from which others start. Throws as Estimate() does.
std::vector<float> MeanUpdate(const NoisySum& noisy);

}  // namespace sotto::server

#endif  // SOTTO_AGGREGATE_ESTIMATOR_H_
