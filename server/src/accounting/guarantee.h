// The guarantee of what is really released, from the guarantee of its ideal.
//
// An accountant proves (epsilon, delta) for exact Gaussian noise and untruncated Poisson draws. The
// encoder's integers are certified to be close to that noise, and a Poisson draw is cut at a cap.
// Both differences have a price, and this file alone adds it. Pure functions, safe from any thread.
// Part of sotto::server/accounting.
#ifndef SOTTO_ACCOUNTING_GUARANTEE_H_
#define SOTTO_ACCOUNTING_GUARANTEE_H_

#include <vector>

#include "accounting/accountant.h"
#include "accounting/conversion.h"
#include "accounting/log_space.h"

namespace sotto::privacy {

// The parts of delta set aside for the encoder's terms and for the cap, each with its own.
constexpr double kDeltaShare = 0.01;

// The encoder's noise is an integer multiple of this many of its deviations.
constexpr double kNoiseGrid = 0x1p-20;

// What the encoder's certificate states about the noise e of one coordinate, in units of its
// deviation: |ln(density / Gaussian density)| <= eta wherever |e| <= T, and the mass outside is at
// most tau. All zeros: the noise is exactly Gaussian.
struct CertificateBounds {
  double eta = 0.0;    // >= 0, finite
  double tau = 0.0;    // in [0, 1]
  double range = 0.0;  // T, >= 0, finite; 0 rules out EncoderTerms::kWorstCase

  void Validate() const;  // throws std::invalid_argument
};

// How far the released models are from the ideal.
struct Deviations {
  CertificateBounds certificate;
  double coordinates = 0.0;            // n: encoded coordinates behind all that is released; >= 0
  double log_cap_excess = -kInfinity;  // ln of a bound on the chance that any draw exceeds the cap
  // The most that a single noise moves, in its deviations, when the honest noises of a coordinate
  // share equally what one device changes in the sum; >= 0. +infinity rules out kWorstCase.
  double shift = kInfinity;
};

// Two ways to charge for the encoder. Each makes a valid guarantee of its own at the same delta.
//
// Notation. n, eta, tau and T are those of Deviations and CertificateBounds; z is the noise
// multiplier (rdp.h); h = 2^-20 is the grid's step in deviations. The real noise is the encoder's;
// the ideal noise has the Gaussian's masses around the points of the grid, and the certificate
// compares the two. (e0, d0) is what the accountant proves. e1 and d1 are those of Guarantee.
//
// kConcentrated: the n density ratios as a whole concentrate around their mean, so that they cost
// about sqrt(n) eta.
//   Lemma 1. A sum of m ideal noises on the signal's grid is a post-processing of one continuous
//     Gaussian of m times the variance: add m - 1 uniform deviates of one step and round. This is
//     so up to aliasing below e^(-2^40), by Poisson's summation formula. Hence (e0, d0) is the
//     continuous Gaussian's.
//   Lemma 2. Outside of a mass n tau, real and ideal noise are rho1-zCDP with rho1 = n eta^2 / 2.
//     Source: Bun and Steinke, "Concentrated Differential Privacy" (2016), Proposition 1.4 and
//     Lemma 1.7.
//   Lemma 3. With a slice delta_q of delta they are (e1, d1)-close, e1 = rho1 +
//     2 sqrt(rho1 ln(1/delta_q)) and d1 = delta_q + n tau. Source: Proposition 1.3 there.
//   Lemma 4. The chain real - ideal - ideal of the neighbour - real of the neighbour has epsilon
//     e0 + 2 e1 and delta e^e1 d0 + (1 + e^(e0 + e1)) d1.
//   The factor e^(e0 + e1) is the limit of this way: no delta can pay it once epsilon is large.
//
// kWorstCase: every ratio is as bad as it may be, n eta in all, but no factor multiplies the tail.
//   Lemma 5. Neighbouring sums differ by a vector s on the grid. Let the m honest noises of
//     coordinate j share s_j: each moves by s_j / m, rounded down or up to the grid, such that the
//     roundings add up to nothing. To move them all is a one-to-one map from the noises that give
//     an output under one neighbour to those that give it under the other.
//   Lemma 6. Let T' = T - (shift + h), and call it good if every noise lies within T'. The moved
//     noises then lie within T. So the certificate turns real densities into Gaussian ones on
//     either side of the map, at e^(n eta) each:
//       Pr[S] <= e^(n eta) (e^e0 e^(n eta) Pr'[S] + d0) + Pr[not good],  hence e1 = n eta.
//   Lemma 7. Here (e0, d0) is the guarantee for the shares of ideal noise. Ideal noise is a
//     continuous Gaussian that is rounded, and a share on the grid commutes with the rounding. So
//     (e0, d0) is the continuous Gaussian's, at the squared norm of the shares: 1 / z^2 a round,
//     and n h^2 / 4 = n 2^-42 in all for the roundings of lemma 5.
//   Lemma 8. By a union bound Pr[not good] <= d1 = n (tau + e^eta erfc((T' - h) / sqrt 2)). The
//     last h: the tail of a sum over the grid starts one step before the integral's. n may count
//     the colluders' coordinates too.
//   Lemma 9. The accountant counts every device in every round. Whoever does not know the draws
//     sees a mixture, over draws that depend on no data, of outputs for which the bound holds. The
//     divergence behind the bound is jointly convex, so the bound holds for the mixture. Draws
//     above the cap add no more than their probability.
//   It is unavailable (+infinity) where T' <= h.
enum class EncoderTerms { kConcentrated, kWorstCase };

// A guarantee and the terms it is made of. With e0 = gaussian.epsilon, d0 = gaussian_delta,
// e1 = encoder_epsilon and d1 = e^log_encoder_delta,
//   epsilon = e0 + 2 e1,
//   delta  >= e^e1 d0 + (1 + e^(e0 + e1)) d1 + (1 + e^epsilon) e^log_cap_excess  (kConcentrated),
//   delta  >= e^e1 d0 + d1 + e^log_cap_excess                                    (kWorstCase).
// If no epsilon satisfies either, epsilon is +infinity and the terms mean nothing.
struct Guarantee {
  double epsilon = 0.0;
  EncoderTerms terms = EncoderTerms::kConcentrated;
  AccountedEpsilon gaussian;  // (e0, d0), and what e0 is by
  double gaussian_delta = 0.0;
  double encoder_epsilon = 0.0;
  double log_encoder_delta = -kInfinity;  // ln d1, which may be too small for a double
};

// The smaller of the two epsilons for these rounds at this delta, kConcentrated if they are equal.
//   delta  in (0, 1)
// For kConcentrated kDeltaShare of delta is set aside for the terms in d1 and as much for the cap;
// what they need beyond that is taken from d0, and the inequality is verified before a guarantee is
// returned. Without deviations this is AccountFor(rounds, delta, accountant). Throws
// std::invalid_argument as AccountFor does, for bounds out of range and for an accountant that
// does not state guarantees.
Guarantee StateGuarantee(const std::vector<GaussianRounds>& rounds, double delta,
                         const Deviations& deviations, Accountant accountant = Accountant());

}  // namespace sotto::privacy

#endif  // SOTTO_ACCOUNTING_GUARANTEE_H_
