// The guarantee of what is really released, from the guarantee of its ideal.
//
// An accountant proves (epsilon, delta) for exact Gaussian noise and untruncated Poisson draws. The
// encoder's integers are certified to be close to that noise, and a Poisson draw is cut at a cap.
// Both differences have a price, and this file alone adds it. Pure functions, safe from any thread.
#ifndef SOTTO_PRIVACY_GUARANTEE_H_
#define SOTTO_PRIVACY_GUARANTEE_H_

#include <vector>

#include "privacy/conversion.h"
#include "privacy/log_space.h"

namespace sotto::privacy {

// The parts of delta set aside for the encoder's terms and for the cap, each with its own.
constexpr double kDeltaShare = 0.01;

// What the encoder's certificate states about the noise e of one coordinate, in units of its
// deviation: |ln(density / Gaussian density)| <= eta wherever |e| <= T, and the mass outside is at
// most tau.
struct CertificateBounds {
  double eta = 0.0;  // >= 0, finite
  double tau = 0.0;  // in [0, 1]

  void Validate() const;  // throws std::invalid_argument
};

// How far the released models are from the ideal.
struct Deviations {
  CertificateBounds certificate;
  double coordinates = 0.0;            // n: encoded coordinates behind all that is released; >= 0
  double log_cap_excess = -kInfinity;  // ln of a bound on the chance that any draw exceeds the cap
};

// A guarantee and the terms it is made of. With e0 = gaussian_epsilon, d0 = gaussian_delta,
// e1 = encoder_epsilon and d1 = e^log_encoder_delta,
//   epsilon = e0 + 2 e1,
//   delta  >= e^e1 d0 + (1 + e^(e0 + e1)) d1 + (1 + e^epsilon) e^log_cap_excess.
// If no epsilon satisfies this, epsilon is +infinity and the terms mean nothing.
struct Guarantee {
  double epsilon = 0.0;
  double gaussian_epsilon = 0.0;
  double gaussian_delta = 0.0;
  double encoder_epsilon = 0.0;
  double log_encoder_delta = -kInfinity;  // ln d1, which may be too small for a double
  double order = 0.0;  // the accountant's best order and whether its search ended there
  bool order_at_edge = false;
};

// The smallest epsilon found for these rounds at this delta.
//   delta  in (0, 1)
// A slice delta_q of delta gives e1 = rho1 + 2 sqrt(rho1 ln(1/delta_q)), rho1 = n eta^2 / 2, and
// d1 = delta_q + n tau: zero-concentrated differential privacy of the n density ratios (Bun and
// Steinke, "Concentrated Differential Privacy", 2016, Propositions 1.3 and 1.4, Lemma 1.7), then
// the chain real - ideal - ideal of the neighbour - real of the neighbour. kDeltaShare of delta is
// set aside for the terms in d1 and as much for the cap; what they need beyond that is taken from
// d0. The inequality above is verified before a guarantee is returned. Without deviations this is
// Epsilon(rounds, delta). Throws std::invalid_argument as Epsilon does and for bounds out of range.
Guarantee StateGuarantee(const std::vector<GaussianRounds>& rounds, double delta,
                         const Deviations& deviations);

}  // namespace sotto::privacy

#endif  // SOTTO_PRIVACY_GUARANTEE_H_
