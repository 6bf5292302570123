// An average of all models of a job, which an optimiser keeps beside the last one. Part of
// sotto::server/aggregate.
//
//   average = sum over t = 0 ... T of a_t w_t / sum of a_t
//
// w_0 is the model with which the job began. `uniform` has a_t = 1, the weights of DP-Fed-LS for
// convex and for other losses; `geometric:RATIO` has a_t = RATIO^t, for a strongly convex loss with
// RATIO = 1 / (1 - mu eta K / 2). An average of released models is post-processing: it costs no
// privacy.
//
// The average is kept in double, 8 bytes a parameter. Let A_t be the sum of the weights so far in
// units of a_t, which no T makes overflow: A_0 = 1, A_t = 1 + A_(t-1) / RATIO. A model enters as
//   average += (w_t - average) / A_t.
//
// Source: Liang et al., "Differentially Private Federated Learning with Laplacian Smoothing",
// Algorithm 1 and Theorems 4 to 6.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sotto/research/optimiser.h"

namespace sotto::server {

constexpr double kMaxAverageRatio = 1000;

// The RATIO of the text of an option: "uniform" is 1, "none" is absent. Throws
// std::invalid_argument for another text and for a ratio outside [1, kMaxAverageRatio].
std::optional<double> AverageGrowth(const std::string& text);

// The optimiser `inner`, which also averages the models. Its state includes the state of `inner`.
std::unique_ptr<Optimiser> MakeAveraging(double ratio, std::unique_ptr<Optimiser> inner);

}  // namespace sotto::server
