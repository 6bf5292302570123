// Rounds charged one by one, each by its closed form.
//
// The epsilon of one sampled round is a formula. For one round it is exact for the worst pair of
// fleets, however small the rate and delta are: privacy loss distributions end at rates of 1e-9,
// and RDP loses the most there.
//   Lemma 1. Let delta_0 be the delta of the unsampled Gaussian, P and Q the outputs of one round
//     with and without the device at rate q. For epsilon >= 0,
//       delta(epsilon) = q delta_0(epsilon_0), epsilon = ln(1 + q (e^epsilon_0 - 1)),
//     for (P, Q) of kPoisson, and no more than that for the pairs of kUniform. Source: Balle,
//     Barthe, Gaboardi, "Privacy Amplification by Subsampling" (2018), Theorems 2, 8 and 11.
//   Lemma 2. The other direction of kPoisson, (Q, P), has no larger delta. Proof: let g =
//     e^epsilon, a = 1 - g (1 - q) and H_b the hockey-stick divergence of two Gaussians at a factor
//     b. For a <= 0 the delta is 0. Otherwise it is a H_(q g / a). Here a <= q, and
//     q^2 g - (q + g - 1) a = (g - 1)^2 (1 - q) >= 0, so q g / a >= (q + g - 1) / q. H falls as its
//     factor rises, and the delta of lemma 1 is q H_((q + g - 1) / q).
//   Lemma 3. T rounds, each (epsilon_t, delta / T)-DP, are (sum of epsilon_t, delta)-DP. Source:
//     Dwork and Roth, "The Algorithmic Foundations of Differential Privacy" (2014), Theorem B.1.
//
// Pure functions, safe from any thread. Part of sotto::server/accounting.
#pragma once

#include <vector>

#include "accounting/accounted.h"
#include "accounting/conversion.h"

namespace sotto::privacy {

// The epsilon of one round at this delta, lemma 1, rounded up by at most 1e-10, relative.
//   round  noise_multiplier > 0; rounds and choices are ignored
//   delta  in (0, 1)
// Throws std::invalid_argument for an argument out of range.
double OneRoundEpsilon(const GaussianRounds& round, double delta);

// The accountant "per-round", for "best" only: lemma 3 with equal shares of delta. It supports up
// to 64 different settings, each with noise. Only few rounds, or very small rates, win by it.
bool PerRoundSupports(const std::vector<GaussianRounds>& rounds, double delta);
EpsilonAt ComposePerRound(const std::vector<GaussianRounds>& rounds, double delta, Effort effort);

}  // namespace sotto::privacy
