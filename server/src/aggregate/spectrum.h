// The Fourier spectrum of a mean update, tensor by tensor: how smooth an update is without noise.
// Part of sotto::server/aggregate.
//
// It serves simulations that look for the right smoothing, and operators who look whether an update
// is more than noise. A spectrum of exact updates is not private; one of a noisy sum is
// post-processing. Pure functions, safe from any thread.
// Source: Liang et al., "Differentially Private Federated Learning with Laplacian Smoothing",
// Figures 2 and G.10.
#pragma once

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

// The power of several tensors, one after the other in `values`, by frequency: the mean of
// |sum over j of v_j exp(-2 pi i f j)|^2 / n over the frequencies f of each of kSpectrumBands equal
// parts of [0, 1/2] cycles a coordinate, and over the tensors. White noise of deviation s has power
// s^2 in each. A tensor is padded with zeros to a length whose transform is fast.
//   values  [sum of the tensors' sizes], one tensor at least
constexpr size_t kSpectrumBands = 64;
std::vector<float> PowerInBands(Span<const float> values, Span<const TrainedTensor> tensors,
                                const std::string& order);

}  // namespace sotto::server
