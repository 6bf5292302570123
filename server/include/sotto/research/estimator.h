// How the noisy sum of a round becomes an update of the model: the interface of all estimators.
// Part of sotto::lab; the server's own ones are in server/src/aggregate/estimators.cc.
//
// An estimate is post-processing of a private sum, so it costs no privacy: whatever an estimator
// does with the sum, no claim changes. AddEstimator() gives an estimator a name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sotto/span.h"

namespace sotto::server {

// One tensor of the trained parameters, with a letter for each axis: O outputs, I inputs, H rows
// and W columns of a kernel or of the image that a dense layer sees. Channels come last: OHWI.
struct TrainedTensor {
  std::string axes;               // a letter each, the slowest first: "OHWI"
  std::vector<uint32_t> extents;  // of the axes

  size_t size() const;
  uint32_t Extent(char axis) const;  // 1 if the tensor lacks the axis

  // True if the tensor has neighbours along H or W.
  bool has_image() const { return Extent('H') * Extent('W') > 1; }
};

// A complete sum: its noise is topped up. Spans are valid during the call.
struct NoisySum {
  Span<const int64_t> sum;  // [n], n > 0
  // Model units per unit of the sum; > 0.
  double unit = 0.0;
  // The divisor of the sum, > 0: the planned cohort (uniform) or q N (Poisson), never the number of
  // reports.
  double divisor = 0.0;
  // Deviation of the noise on each coordinate of sum * unit / divisor, model units; 0 without
  // noise.
  double noise_sigma = 0.0;
  Span<const TrainedTensor> tensors;  // in the sum's order; their sizes add up to n
};

// Immutable: any thread may call it.
class Estimator {
 public:
  virtual ~Estimator() = default;

  // The update, [n] model units. A coordinate may be infinite if the sum is too large.
  // Throws std::invalid_argument for a sum that breaks the ranges above.
  virtual std::vector<float> Estimate(const NoisySum& noisy) const = 0;

  // Throws std::invalid_argument, with advice, if the estimator has nothing to do for such tensors
  // although the options ask for it.
  virtual void RequireUseful(Span<const TrainedTensor> /*tensors*/) const {}
};

// The plain estimate, sum * unit / divisor, from which other estimators start. Throws as Estimate()
// does.
std::vector<float> MeanUpdate(const NoisySum& noisy);

// The mean, with a function applied to each tensor on its own.
//   change  (const TrainedTensor&, Span<float> values)
template <class Change>
std::vector<float> MeanChanged(const NoisySum& noisy, Change change) {
  std::vector<float> update = MeanUpdate(noisy);
  size_t offset = 0;
  for (const TrainedTensor& tensor : noisy.tensors) {
    change(tensor, Span<float>(update.data() + offset, tensor.size()));
    offset += tensor.size();
  }
  return update;
}

}  // namespace sotto::server
