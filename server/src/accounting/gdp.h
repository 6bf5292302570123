// Gaussian differential privacy (GDP): mu-GDP is the trade-off of telling N(0, 1) from N(mu, 1).
//
//   1. The Gaussian mechanism is mu-GDP with exactly mu = 1/z, where z is the noise multiplier
//      (rdp.h).
//   2. Rounds compose exactly: mu^2 adds up. So without sampling nothing is lost here, while a
//      conversion from RDP loses something.
//   3. Rounds compose exactly as well if each is chosen after seeing the ones before it, as long as
//      the sum of mu^2 has a limit that was fixed beforehand: lemmas 1 to 3.
//   4. With sampling there is only a central limit theorem, which may err on either side. Its mu
//      has its own type, ApproximateMu, so that no guarantee can be stated with it.
//
// A filter for Gaussian rounds. Let the sum of mu^2 on one unit's rounds be at most M^2 on every
// path. World 1 holds one data set, world 2 the neighbouring one. Let w be all else that the
// adversary may see or choose by; w has one law in both worlds. Given w and the releases before,
// the settings of round t are the same in both worlds, and release t is N(m, S^2 I) in world 1 and
// N(m + D, S^2 I) in world 2, with mu_t = |D| / S. (Or it is computed from such a release.)
//   Lemma 1. Let W be a Brownian motion on [0, M^2] of drift 0 in world 1 and 1 in world 2. To tell
//     the two worlds by the whole path of W is to tell N(0, M^2) from N(M^2, M^2): M-GDP, exactly.
//     Proof: the likelihood ratio of the paths is exp(W(M^2) - M^2 / 2), a function of the end.
//   Lemma 2. The transcript (w, release 1, release 2, ...) is M-GDP, whatever chooses the rounds by
//     what it has seen, and whenever it stops. Proof: a simulator that knows both data sets, but
//     not the world, makes the transcript from W. It draws w and keeps a clock c, at first 0. At
//     round t it computes m, D and S from what it has made so far, and takes the increment
//     X = W(c + mu_t^2) - W(c). c and mu_t follow from W up to c and from coins that are
//     independent of W, so X is N(0, mu_t^2) or N(mu_t^2, mu_t^2) whatever the past was (the strong
//     Markov property). It puts S X / mu_t on the axis of D and fresh
//     N(0, S^2) on all other axes, adds m, and adds mu_t^2 to c. (If D = 0 it draws N(m, S^2 I).)
//     This is the law of the release in either world. c never exceeds M^2. So the transcript is a
//     post-processing of the path, and lemma 1 holds.
//   Lemma 3. Nothing is lost: rounds with one direction D and sum M^2 attain the bound.
//   Remark. The limit M is a figure; what a unit has spent when somebody asks is one only if the
//     moment of asking was fixed beforehand. The lemmas need every round to be Gaussian: do not use
//     them for sampled rounds whose draws are secret, for which natural filters fail.
//
// mu = 0 is perfect privacy, mu = +infinity none. A result that is too small for a double is 0. No
// result is NaN. Every function throws std::invalid_argument for an argument outside its range.
// Pure functions, safe from any thread. Part of sotto::server/accounting.
// Sources: Dong, Roth, Su, "Gaussian Differential Privacy" (2022), Corollaries 1 to 3. Smith and
// Thakurta, "Fully Adaptive Composition for Gaussian Differential Privacy" (2022).
#pragma once

#include <vector>

#include "accounting/accounted.h"
#include "accounting/conversion.h"

namespace sotto::privacy {

// ln of delta(epsilon) = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2), the smallest
// delta of the mu-GDP mechanism at this epsilon.
//   mu       >= 0
//   epsilon  >= 0, finite
// Error: below 1e-13 times the larger of 1 and |result|, also where delta does not fit a double.
double LogGdpDelta(double mu, double epsilon);

// delta(epsilon) itself.
double GdpDelta(double mu, double epsilon);

// The smallest epsilon >= 0 with delta(epsilon) <= delta, to 1e-12 relative, rounded up.
//   mu     >= 0
//   delta  in (0, 1)
double GdpEpsilon(double mu, double delta);

// The largest mu with delta(epsilon) <= delta, to 1e-12 relative, rounded down: the inverse of
// GdpEpsilon(). With z = sqrt(K) / mu, K unsampled rounds cost epsilon.
//   epsilon  > 0, finite
//   delta    in (0, 1)
double GdpMu(double epsilon, double delta);

// How often the best attacker is right that guesses, at even odds, which of the two worlds it sees:
// Phi(mu / 2), in [1/2, 1].
double GdpAttackerRight(double mu);

// True if no round is sampled: the rounds are then exactly UnsampledMu()-GDP.
bool IsUnsampled(const std::vector<GaussianRounds>& rounds);

// The mu of all the rounds together if every device took part in each of them:
// sqrt(sum of T / z^2). It is an upper bound under every sampling and exact for kNone and for a
// rate of 1. It is +infinity if a round has no noise.
double UnsampledMu(const std::vector<GaussianRounds>& rounds);

// A mu that is not proved: the limit of many rounds of vanishing effect. An epsilon computed from
// it may be too small. For comparison and for first guesses only.
struct ApproximateMu {
  double value = 0.0;
};

// The central limit theorem's mu, composed over rounds:
//   kPoisson  q sqrt(T (e^(1/z^2) - 1))
//   kUniform  sqrt(2) q sqrt(T (e^(1/z^2) Phi(3/(2z)) + 3 Phi(-1/(2z)) - 2))
//   kNone     sqrt(T) / z, exact
// Source: Bu, Dong, Long, Su, "Deep Learning with Gaussian Differential Privacy" (2020), Theorem 5
// and Section 3.
ApproximateMu CentralLimitMu(const std::vector<GaussianRounds>& rounds);

// The accountant "gaussian": the epsilon at UnsampledMu(). It is an upper bound under every
// sampling, and exact without sampling.
EpsilonAt ComposeGaussian(const std::vector<GaussianRounds>& rounds, double delta, Effort effort);

// The accountant "gdp". Without sampling it equals "gaussian". With sampling it is the epsilon at
// CentralLimitMu(), which is not an upper bound.
EpsilonAt ComposeGdp(const std::vector<GaussianRounds>& rounds, double delta, Effort effort);

}  // namespace sotto::privacy
