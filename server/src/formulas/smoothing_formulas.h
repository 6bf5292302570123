// Laplacian smoothing of signals that are known: what DP-Fed-LS draws without a training. Part of
// sotto::server/experiment.
//
// Pure functions, safe from any thread. Each throws std::invalid_argument for a parameter out of
// its range (formulas.h). Source: Liang et al., "Differentially Private Federated Learning with
// Laplacian Smoothing".
#pragma once

#include "formulas/settings.h"

namespace sotto::server {

// Figure 1: y = sin x at evenly spaced points of [0, length], noise nu on each.
Outcome SmoothSine(const Settings& settings);

// Figure F.9: a logistic regression with two weights and no bias. Gradient descent from (0, 0);
// noise goes on each gradient of the whole set, and the gradient is smoothed. The set: as many
// points around (1, 1), label 0, as around (-1, -1), label 1, deviation 1; the seed draws points
// and noise.
// Figures: "roughness", the root mean square of the second differences of the path; "asymmetry",
// |w_1 - w_2| / |w_1 + w_2| at the end, 0 at the solution; "loss". Series: "step", "w1", "w2".
Outcome NoisyDescent(const Settings& settings);

// Table 1: the effective dimensions that stand there for d. Figures: "share", of d, that
// d_sigma = sum of the eigenvalues of A^-1 is, and "share_of_squares", that the sum of their
// squares is.
Outcome EffectiveDimension(const Settings& settings);

}  // namespace sotto::server
