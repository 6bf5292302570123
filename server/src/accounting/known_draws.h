// Sampled rounds whose draws the adversary knows, but cannot influence.
//
// An observer who sees who uploads knows in which rounds a device took part. If nobody makes rounds
// fail because of who was drawn, the number of these rounds is a draw, too: J of T with the
// binomial distribution of rate q. That is far fewer than T.
//   Lemma 1. Draws depend on no data, so they have one distribution in both worlds. Given the
//     draws, the J rounds that hold the device are unsampled Gaussian rounds, and the other rounds
//     are post-processing. So delta(epsilon) is at most the mean over J of delta_mu(epsilon), mu^2
//     = J / z^2 (gdp.h), for one noise multiplier z; unsampled rounds add their 1 / z^2 each.
//   Lemma 2. It is enough that each round draws the device with a probability of at most q,
//     whatever happened before: toss a coin of probability q, of which the draw is a part, and
//     release more on the coin than on the draw. So lemma 1 covers fleets of more devices than
//     planned, and Poisson draws given that they are within a cap. For rounds of different z and q,
//     take the smallest z and the largest q. Less noise or more releases never give more privacy.
//   Lemma 3. A colluder's draw is not the device's. Let j of c colluders be in a uniform cohort:
//     the device is in it with probability (B - j) / (N - c), the mean of which is B / N, under the
//     noise of B - j >= B - c honest encodings. So q = B / N with the noise of B - c.
//   Lemma 4. The Renyi divergence of order a of such a round is ln(1 - q + q e^(a (a-1) / (2 z^2)))
//     / (a - 1), the mean over the draw of e^((a-1) D_a). At a fixed order it composes for rounds
//     that were chosen after earlier releases and earlier draws (plans/adaptivity.h).
//   Lemma 5. Let J be cut to [a, b]. delta is at most the mean over J given J in [a, b], plus
//     Pr[J > b]: moving the mass below a into the interval moves it up, where delta is larger.
//
// Pure functions, safe from any thread. Part of sotto::server/accounting.
#pragma once

#include <vector>

#include "accounting/accounted.h"
#include "accounting/conversion.h"

namespace sotto::privacy {

// The smallest of three upper bounds: "known-draws", the mean of lemma 5, with J in at most 64
// classes; "rdp", lemma 4 at its best order; "gaussian", as if every round held the device.
//   rounds  choices are ignored: the pair has the noise of the worst one
//   delta   in (0, 1); the mean is tight at it, and sound at every delta
// Throws std::invalid_argument as conversion.h does.
EpsilonAt ComposeKnownDraws(const std::vector<GaussianRounds>& rounds, double delta);

// Lemma 4 at one order, which was fixed beforehand: "rdp-filter".
EpsilonAt ComposeKnownDrawsAtOrder(const std::vector<GaussianRounds>& rounds, double order);

// The best order of lemma 4 for these rounds.
double BestKnownDrawsOrder(const std::vector<GaussianRounds>& rounds, double delta);

}  // namespace sotto::privacy
