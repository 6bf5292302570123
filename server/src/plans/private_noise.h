// Trust mode kPrivateNoise: the guarantee against the server that the devices' own noise gives.
//
//   Lemma 1. A clipped update has norm at most C, so replacing a device's data moves the update by
//     at most 2C. The server knows the participants. So nothing is amplified, whatever the
//     sampling.
//   Lemma 2. The device adds discrete Gaussian noise of deviation 2 C z to each coordinate. Its RDP
//     is at most the RDP of continuous Gaussian noise with multiplier z (Canonne, Kamath, Steinke,
//     "The Discrete Gaussian for Differential Privacy", 2020, Proposition 5).
//   Lemma 3. Everything that the server sees of an update is computed from the noisy update, and
//     post-processing does not weaken a guarantee.
//   Hence k updates of one device are k unsampled Gaussian rounds of multiplier z.
//
// The figures against the other adversaries rest on the encoder's noise alone in this mode too.
//   Lemma 4. Fix the devices' own noise, which depends on no data. Adding a constant and
//     clipping do not increase a difference. So the encoder's inputs of two neighbours differ by no
//     more than their clipped updates, and the encoder's guarantee holds.
//   Lemma 5. A guarantee that holds for every value of the devices' own noise holds for its
//     mixture.
//
// The server refuses an update whose integers no clipped update can have (sotto/update_bound.h). A
// device's own noise has no bound, so in this mode the limit T on the squared norm of update and
// noise is a quantile: an honest update is above it with a probability below p = 2^-128.
//
// Notation. X has the discrete Gaussian distribution of parameter n in each of d coordinates, v is
// the clipped update, S its largest squared norm; all in integers of Q20.
//   Lemma 6. E exp(t |v + X|^2) is at most the same for continuous noise of deviation n, for
//     0 < t < 1 / (2 n^2). Proof, for one coordinate: write h^2 for n^2 / (1 - 2 t n^2). Completing
//     the square, the expectation is the constant of the continuous case times the ratio of
//     sum_y exp(-(y - c)^2 / (2 h^2)) / h to sum_x exp(-x^2 / (2 n^2)) / n, over the integers. By
//     Poisson's summation formula the first sum is at most that at c = 0, and both are
//     sqrt(2 pi) sum_k exp(-2 pi^2 k^2 h^2), with n for h in the second. h >= n, so the ratio is at
//     most 1. Coordinates are independent, so their expectations multiply.
//   Lemma 7. T = S + d n^2 + 2 n sqrt((d n^2 + 2 S) x) + 2 n^2 x is exceeded with a probability of
//     at most exp(-x). Proof: with continuous noise |v + X|^2 / n^2 is a noncentral chi-square
//     variable whose Chernoff bound gives this quantile (Birge, "An alternative point of view on
//     Lepski's method", 2001, Lemma 8.1), and by lemma 6 the same Chernoff bound holds here.
//   Lemma 8. Clamping (sotto/private_noise.h) does not increase a magnitude, and the test's sum of
//     squares is at most the noisy values' sum of squares. So x = 128 ln 2 gives p.
//   Lemma 9. What a refusal costs. To the server nothing: its test is a function of the noisy
//     update. To all others at most 2 p for each round of a device. Proof: the noise X depends on
//     no data. Except with a probability of 2 p, it takes neither of two neighbours' updates above
//     T, so neither is refused, and lemma 4 applies. Refusals of other devices do not depend on
//     this device's data. ComposeReleases() charges 2 p for each round to delta (guarantee.h, lemma
//     11).
// What the limit admits: sqrt(T) is about n sqrt(d) = 2 C z sqrt(d), far above C. So in this mode a
// device that cheats by leaving its noise out can send an update of that norm.
//
// Pure functions, safe from any thread. Part of sotto::server/plans.
#pragma once

#include <cstdint>
#include <vector>

#include "accounting/guarantee.h"
#include "plans/plan.h"

namespace sotto::privacy {

// ln p of lemma 8.
constexpr double kLogFalseRefusal = -128 * 0.69314718055994530942;

// T of lemma 7 for p, rounded up; Q40.
//   max_squares_q40     S
//   coordinates         d >= 1
//   private_noise_q20   n; 0 gives S
double MaxNoisySquaresQ40(double max_squares_q40, double coordinates, double private_noise_q20);

// The guarantee against the server, and against everyone to whom it tells all it knows, for
// `updates` updates of one device and its updates in earlier jobs. It holds under replace-one
// adjacency at the plan's delta. epsilon is +infinity if the server is trusted, or was trusted in
// an earlier job.
//   updates  >= 0; one for every attempt at a round, released or not: the server sees the updates
//            of abandoned attempts too. Of kPasses: K, above which the device sends none
// Throws std::invalid_argument for a bad plan or number.
Guarantee GuaranteeAgainstServer(const Plan& plan, int64_t updates,
                                 const std::vector<SpentRounds>& before = {});

}  // namespace sotto::privacy
