// The arithmetic of evaluation on devices: the mean of the devices' accuracies, learned from one
// noisy number of every device.
//
// Each device of a round's cohort says a = k / n - 1/2, where the round's model gets k of its n
// held-out samples right; 0 if n is 0. The server sees only the sum of these numbers, with Gaussian
// noise on it. The number travels beside the clipped update in one vector, as the bit of adaptive
// clipping does (adaptive_clip.h): times a scale s, so at most s/2 in magnitude. All coordinates
// have equal noise, and the norm of the vector is at most sqrt(C^2 + (b/2)^2 + (s/2)^2) with the
// clip bit's scale b. That norm, once or twice by adjacency, is the sensitivity which the round
// accounts.
//
// What is estimated is the mean over the N devices of the fleet of p_i = k_i / n_i (1/2 for a
// device without held-out samples), each device counting alike however many samples it has:
//   estimate = 1/2 + (noisy sum) / planned cohort
// Its error has three sources:
//   noise     Gaussian, of known deviation
//   sampling  the cohort is drawn. Uniform cohorts: the variance of a mean of B of N without
//             replacement is (S^2 / B) (1 - B / N), where S^2 N = sum (p_i - mean)^2 N / (N - 1),
//             at most mean (1 - mean) N / (N - 1) since p_i is in [0, 1] (Bhatia and Davis 2000).
//             Poisson: q (1 - q) sum a_i^2 / (q N)^2, at most (1 - q) / (4 q N)
//   drop-outs a device that does not report counts as 1/2. If a share d of the cohort drops out for
//             reasons that have nothing to do with its accuracy, the expected estimate is
//             (1 - d) mean + d / 2. The bar does not cover this.
//
// Pure functions, safe from any thread; std::invalid_argument names an argument outside its range.
// Part of sotto::server/plans.
#pragma once

#include "plans/plan.h"

namespace sotto::privacy {

struct AccuracyEstimate {
  double accuracy = 0.0;         // in [0, 1]: cut off at both ends, which costs no privacy
  double noise_deviation = 0.0;  // of the noise on the mean
  double bar = 0.0;              // half the width of the interval that holds the mean in at least
                                 // kAccuracyConfidence of all rounds, drop-outs apart
};

constexpr double kAccuracyConfidence = 0.95;

// The estimate of a round.
//   plan       has accuracies and noise; noise and scale of one round
//   noisy_sum  of a over the cohort, in devices, its noise complete; finite
AccuracyEstimate EstimateAccuracy(const Plan& plan, double noisy_sum);

}  // namespace sotto::privacy
