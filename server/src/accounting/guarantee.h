// The guarantee of the real releases, derived from the guarantee of ideal releases.
//
// An accountant proves (epsilon, delta) for exact Gaussian noise and untruncated Poisson draws.
// Real releases differ in two ways. The encoder's integers are only certified to be close to that
// noise, and a Poisson draw is cut at a cap. Both differences have a price. This file alone adds
// it. Pure functions, safe from any thread. Part of sotto::server/accounting.
#pragma once

#include <vector>

#include "accounting/accountant.h"
#include "accounting/conversion.h"
#include "accounting/log_space.h"

namespace sotto::privacy {

// The parts of delta that are set aside for the encoder's terms, for the cap, and for updates that
// are too long. Each gets this share.
constexpr double kDeltaShare = 0.01;

// The part of delta that kGoodEvent sets aside for its ratios. It costs them a logarithm, and a
// larger part would cost the accountant more.
constexpr double kConcentrationShare = 1e-6;

// The step of the grid on which the encoder's noise lies, in deviations of that noise.
constexpr double kNoiseGrid = 0x1p-20;

// The encoder's certificate about the noise e of one coordinate, in units of its deviation:
// |ln(density / Gaussian density)| <= eta wherever |e| <= T, and the mass outside is at most tau.
// All zeros: the noise is exactly Gaussian.
struct CertificateBounds {
  double eta = 0.0;    // >= 0, finite
  double tau = 0.0;    // in [0, 1]
  double range = 0.0;  // T, >= 0, finite; 0 rules out EncoderTerms::kGoodEvent

  void Validate() const;  // throws std::invalid_argument
};

// How far the real releases are from the ideal ones.
struct Deviations {
  CertificateBounds certificate;
  double coordinates = 0.0;            // n: encoded coordinates behind all that is released; >= 0
  double log_cap_excess = -kInfinity;  // ln of a bound on Pr[some draw exceeds the cap]
  // ln of a bound on Pr[refusals], over all rounds: an event whose probability depends on no data,
  // and outside of which no update of an honest device is refused. See plans/private_noise.h.
  double log_refusal = -kInfinity;
  // ln of a bound on Pr[zeros take the place of an update that is too long], over all releases with
  // one device and in each of two neighbours' worlds: accounting/one_length.h.
  double log_too_long = -kInfinity;
  // One device changes a coordinate of the sum, and the honest noises of that coordinate share the
  // change equally. This is the largest change of a single noise, in deviations of that
  // noise. Range >= 0; +infinity rules out kGoodEvent.
  double shift = kInfinity;
};

// Two ways to charge for the encoder. Each makes a valid guarantee at the same delta.
//
// Notation. n is Deviations::coordinates; eta, tau and T are in CertificateBounds; z is the noise
// multiplier (rdp.h); h = 2^-20 is the grid's step in deviations. The real noise is the encoder's;
// the ideal noise has the Gaussian's masses around the points of the grid, and the certificate
// compares the two. The accountant proves (e0, d0). e1 and d1 are the encoder's terms (Guarantee).
//
// kConcentrated: the sum of the n log density ratios concentrates around its mean, so the encoder
// costs about sqrt(n) eta.
//   Lemma 1. A sum of m ideal noises on the signal's grid is a post-processing of one continuous
//     Gaussian of m times the variance: add m - 1 uniform deviates of one step and round. By
//     Poisson's summation formula this holds up to aliasing below e^(-2^40). Hence (e0, d0) is the
//     guarantee of the continuous Gaussian.
//   Lemma 2. Outside of a mass n tau, real and ideal noise are rho1-zCDP with rho1 = n eta^2 / 2.
//     Source: Bun and Steinke, "Concentrated Differential Privacy" (2016), Proposition 1.4 and
//     Lemma 1.7.
//   Lemma 3. With a slice delta_q of delta they are (e1, d1)-close, e1 = rho1 +
//     2 sqrt(rho1 ln(1/delta_q)) and d1 = delta_q + n tau. Source: Proposition 1.3 there.
//   Lemma 4. Compare four outputs in a chain: real, ideal, the neighbour's ideal, the neighbour's
//     real. The chain has epsilon e0 + 2 e1 and delta e^e1 d0 + (1 + e^(e0 + e1)) d1.
//   The factor e^(e0 + e1) limits kConcentrated: for a large epsilon no delta covers it.
//
// kGoodEvent: the ratios concentrate as well, on an event outside of which lies no more than d1.
// The factor e^(e0 + e1) is on the concentration alone, where a logarithm takes it, and none is on
// the mass outside of the certificate. The price: nothing is amplified by sampling.
//   Lemma 5. Neighbouring sums differ by a vector s on the grid. Let the m honest noises of
//     coordinate j share s_j: each moves by s_j / m, rounded down or up to the grid, such that the
//     roundings add up to zero. Moving all noises is a one-to-one map: from the noises that give an
//     output under one neighbour to the noises that give the same output under the other.
//   Lemma 6. Let T' = T - (shift + h), and let "good" be the event that every noise lies within T'.
//     The moved noises then lie within T. Let r be the sum of the log density ratios, real to
//     ideal, of the noises within T. Let q bound Pr[r > e1] under the real and Pr[r < -e1] under
//     the ideal noises. For a set S of outputs let A be the set of good noises with r <= e1 that
//     give an output in S. Then
//       Pr[S] <= Pr[not good] + q + Pr[A],         Pr[A] <= e^e1 ideal(A),
//       ideal(A) <= e^e0 ideal(moved A) + d0,      ideal(moved A) <= q + e^e1 Pr'[S],
//     the last one because the moved noises lie within T: all but q of them have r >= -e1. Hence
//     epsilon = e0 + 2 e1 and delta = e^e1 d0 + Pr[not good] + (1 + e^(e0 + e1)) q.
//   Lemma 7. Here (e0, d0) is the guarantee for the shares of ideal noise. Ideal noise is a
//     continuous Gaussian that is rounded, and a share on the grid commutes with the rounding. So
//     (e0, d0) is the guarantee of the continuous Gaussian at the squared norm of the shares:
//     1 / z^2 a round, and n h^2 / 4 = n 2^-42 in all for the roundings of lemma 5.
//   Lemma 8. By a union bound Pr[not good] <= n (tau + e^eta erfc((T' - h) / sqrt 2)). The
//     subtracted h is there because the sum over the grid is bounded by an integral that starts one
//     step earlier. n may count the colluders' coordinates too.
//   Lemma 9. The accountant counts every device in every round. An adversary that does not know the
//     draws sees a mixture of outputs over the draws. The draws depend on no data, and the bound
//     holds for each output of the mixture. The divergence behind the bound is jointly convex, so
//     the bound holds for the mixture. Draws above the cap add no more than their probability.
//   Lemma 10. Let t be the larger one of tau and erfc((T - h) / sqrt 2), a bound on the ideal mass
//     outside of T. Then q = e^-L holds for e1 = rho1 - n ln(1 - t) + 2 sqrt(rho1 L), rho1 =
//     n eta^2 / 2. Proof: let r_i be the ratio of one noise, given those before it, and 0 outside
//     of T; |r_i| <= eta. Under the ideal noise E e^(r_i) >= 1 - tau, and by Hoeffding's lemma it
//     is at most e^(E r_i + eta^2 / 2). So E r_i >= ln(1 - t) - eta^2 / 2, and, by the same lemma,
//     E e^(-u r_i) <= e^(u (eta^2 / 2 - ln(1 - t)) + u^2 eta^2 / 2) for u > 0. Markov's inequality
//     at u = sqrt(L / rho1) bounds Pr[r < -e1]. Real noise is alike, with E e^(-r_i) >= 1 - t.
//   Where n eta is smaller, e1 = n eta and q = 0.
//   kGoodEvent is unavailable (+infinity) where T' <= h.
//
// Refusals, for both. Let p = e^log_refusal.
//   Lemma 11. Let X be randomness that depends on no data, and let (epsilon, delta) hold given each
//     X outside of a set of probability p. Then (epsilon, delta + p) holds. Proof: integrate
//     Pr[S | X] <= e^epsilon Pr'[S | X] + delta over the X outside of the set, and add at most p.
//
// Releases without the device, for both.
//   Lemma 12. n need not count a release in which the device has no part. Proof: given the releases
//     before, such a release is drawn from one kernel in both neighbours' worlds. Replace real
//     noise by ideal noise in the other releases only. Lemmas 2 to 10 compare worlds whose other
//     kernels are the same, and a kernel in common is post-processing. On every path at most as
//     many kernels are replaced as the device has turns, so the sums of lemmas 2, 6, 8 and 10 are
//     bounded on every path, also if who has a turn is chosen by the releases before: zCDP composes
//     adaptively under a limit that was fixed beforehand, and a step that is not taken only lowers
//     the bounds of lemmas 8 and 10.
//   Hence n = D B K where each device has at most K turns in cohorts of B (Plan::participations).
enum class EncoderTerms { kConcentrated, kGoodEvent };

// A guarantee and its terms. With e0 = gaussian.epsilon, d0 = gaussian_delta, e1 = encoder_epsilon
// and d1 = e^log_encoder_delta,
//   epsilon = e0 + 2 e1,
//   delta  >= e^e1 d0 + (1 + e^(e0 + e1)) d1 + (1 + e^epsilon) e^log_cap_excess  (kConcentrated),
//   delta  >= e^e1 d0 + d1 + e^log_cap_excess                                    (kGoodEvent),
// each with e^log_refusal + (1 + e^epsilon) e^log_too_long added on its right side.
// If no epsilon satisfies either inequality, epsilon is +infinity and the terms mean nothing.
struct Guarantee {
  double epsilon = 0.0;
  EncoderTerms terms = EncoderTerms::kConcentrated;
  AccountedEpsilon gaussian;  // e0 at d0, and the method that computed it
  double gaussian_delta = 0.0;
  double encoder_epsilon = 0.0;
  double log_encoder_delta = -kInfinity;  // ln d1, which may be too small for a double
};

// An upper bound on how often the best attacker is right that guesses, at even odds, in which of
// two neighbours' worlds the releases were made.
//   Lemma 13. It is 1/2 + TV/2, with TV the total variation of the two worlds.
//   Lemma 14. (epsilon, delta) implies TV <= (e^epsilon - 1 + 2 delta) / (e^epsilon + 1).
//   Lemma 15. Real and ideal releases are at most sqrt(rho1 / 2) + 2 n tau apart: lemma 2 bounds
//     the Kullback-Leibler divergence by rho1 outside of a mass n tau on either side, and Pinsker's
//     inequality turns it into a total variation. The chain of lemma 4 and the event of lemma 11
//     give 1/2 + TV/2 <= Phi(mu / 2) + sqrt(rho1 / 2) + 2 n tau + p for ideal releases that are
//     mu-GDP. Updates that are too long add e^log_too_long: each world moves by so much.
//   Remark. Lemma 15 has no factor e^epsilon, so a model of many parameters does not spoil it.
double AttackerRight(double epsilon, double delta);             // lemma 14; epsilon may be infinite
double AttackerRight(double mu, const Deviations& deviations);  // lemma 15

// States the smaller of the two epsilons for these rounds at this delta; kConcentrated if they are
// equal.
//   delta  in (0, 1)
// For kConcentrated, kDeltaShare of delta is set aside for the terms in d1 and the same share for
// the cap. If they need more, the rest is taken from d0. kGoodEvent sets kConcentrationShare aside.
// For updates that are too long kDeltaShare of delta is set aside first, more if they need more.
// The inequality is verified before a guarantee is returned. Without deviations this is
// AccountFor(rounds, delta, accountant). Throws std::invalid_argument as AccountFor does, for
// bounds out of range and for an accountant that does not state guarantees.
Guarantee StateGuarantee(const std::vector<GaussianRounds>& rounds, double delta,
                         const Deviations& deviations, Accountant accountant = Accountant());

}  // namespace sotto::privacy
