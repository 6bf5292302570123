// The Fourier spectrum of a mean update, tensor by tensor: how smooth an update is without noise.
// Part of sotto::server/aggregate.
//
// It serves simulations that look for the right smoothing. A spectrum of exact updates is not
// private. Pure functions, safe from any thread.
// Source: Liang et al., "Differentially Private Federated Learning with Laplacian Smoothing",
// Figures 2 and G.10.
#ifndef SOTTO_AGGREGATE_SPECTRUM_H_
#define SOTTO_AGGREGATE_SPECTRUM_H_

#include <string>
#include <vector>

#include "aggregate/tensors.h"
#include "sotto/span.h"

namespace sotto::server {

// |sum over j of v_j exp(-2 pi i j k / n)| for the frequencies k = 0 ... n / 2 of a tensor that is
// flattened in this order ("natural": as it lies). The others mirror these. Computed in float32:
// errors are below 1e-6 of the largest magnitude.
//   values  [tensor.size()]
std::vector<float> SpectrumOf(Span<const float> values, const TrainedTensor& tensor,
                              const std::string& order);

}  // namespace sotto::server

#endif  // SOTTO_AGGREGATE_SPECTRUM_H_
