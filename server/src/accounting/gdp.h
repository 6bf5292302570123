// Gaussian differential privacy (GDP): mu-GDP is the trade-off of telling N(0, 1) from N(mu, 1).
//
//   1. The Gaussian mechanism is mu-GDP with exactly mu = 1/z, where z is the noise multiplier
//      (rdp.h).
//   2. Rounds compose exactly: mu^2 adds up. So without sampling nothing is lost here, while a
//      conversion from RDP loses something.
//   3. With sampling there is only a central limit theorem, which may err on either side. Its mu
//      has its own type, ApproximateMu, so that no guarantee can be stated with it.
//
// mu = 0 is perfect privacy, mu = +infinity none. A result that is too small for a double is 0. No
// result is NaN. Every function throws std::invalid_argument for an argument outside its range.
// Pure functions, safe from any thread. Part of sotto::server/accounting.
// Source: Dong, Roth, Su, "Gaussian Differential Privacy" (2022), Corollaries 1 to 3.
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
