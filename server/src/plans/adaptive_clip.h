// The arithmetic of adaptive clipping: a clipping bound C that follows a quantile of the update
// norms, learned from one noisy bit of every device.
//
// Each device of a round's cohort says with one bit whether the norm of its unclipped update was at
// most C. The server sees only the sum of the bits, with Gaussian noise on it. It moves C so that a
// share `quantile` of the updates stays unclipped. A round has two releases, updates and bits. Both
// are Gaussian mechanisms over the same cohort, so they are accounted as one mechanism (below) with
// the sampling of the round. This holds only if C is adapted from released values alone; any other
// adaptation would have its own privacy cost.
//
// A bit is sent as +1/2 (norm <= C) or -1/2. It moves the sum by at most 1/2 if its device joins or
// leaves and by at most 1 if the device's data is replaced: SensitivityFactor(adjacency) / 2. A
// device that does not report counts as 0, halfway.
//
// Notation. z is the deviation of the noise on a SUM, divided by the sensitivity of that sum, as in
// rdp.h: z_update for the clipped updates, z_bit for the bits. Both together cost as much as one
// Gaussian mechanism with noise multiplier z,
//   1 / z^2 = 1 / z_update^2 + 1 / z_bit^2.
//
// One vector. Updates and bits may travel as one vector under equal noise of deviation sigma per
// coordinate and device. The vector holds the update's coordinates, clipped to C, and the bit times
// `bit_scale` s. Its norm is at most JointClip = sqrt(C^2 + (s/2)^2). With n noises in the sum and
// the adjacency's factor f
//   z_update = sqrt(n) sigma / (f C),  z_bit = sqrt(n) sigma / (f s / 2),
//   z        = sqrt(n) sigma / (f JointClip),  hence s = 2 C z_update / z_bit.
// s and sigma must be proportional to C from round to round; then z stays the same. The sum of the
// bits is the coordinate's sum divided by s. It carries noise of deviation
// f z_bit / 2 = sqrt(n) sigma / s.
//
// Source: Andrew, Thakkar, McMahan, Ramaswamy, "Differentially Private Learning with Adaptive
// Clipping" (2021), Algorithm 1 and Theorem 1. The paper treats add/remove (z_bit = 2 sigma_b);
// this file treats replace-one too. Every function throws std::invalid_argument, naming the
// argument, for a value outside its range, NaN included. Pure functions, safe from any thread. Part
// of sotto::server/plans.
#pragma once

#include "accounting/types.h"

namespace sotto::privacy {

// How the noise of a round is shared between updates and bits.
struct NoiseSplit {
  double update_noise_multiplier = 0.0;  // z_update, above the total z
  double bit_noise_multiplier = 0.0;     // z_bit, above the total z
  double bit_sum_deviation = 0.0;        // of the noise on the sum of +-1/2 bits, in devices
  double bit_scale_per_clip = 0.0;       // s / C if bit and update travel in one vector
};

// Splits a total noise multiplier.
//   noise_multiplier  z, which is accounted; > 0, finite
//   bit_share         the part of 1 / z^2 that the bits may use, in (0, 1). A small share leaves
//                     the updates' noise almost unchanged: z_update = z / sqrt(1 - bit_share)
NoiseSplit SplitNoise(Adjacency adjacency, double noise_multiplier, double bit_share);

// The bit_share at which the noise on the sum of the bits has this deviation.
//   bit_sum_deviation  the paper's sigma_b, in devices; > noise_multiplier *
//                      SensitivityFactor(adjacency) / 2, at which the updates would get nothing.
//                      The paper advises the planned cohort / 20
double BitShare(Adjacency adjacency, double noise_multiplier, double bit_sum_deviation);

// Bound on the L2 norm of one device's vector of update and scaled bit. It replaces C wherever the
// sum's sensitivity is computed. Model units; both arguments > 0, finite.
double JointClip(double clip_l2, double bit_scale);

// The estimated share of the cohort whose update was not clipped, in [0, 1]: 1/2 + noisy_bit_sum /
// planned_reports, cut off at both ends. The cut-off has no privacy cost.
//   noisy_bit_sum    sum of the reported +-1/2 bits with its noise; finite
//   planned_reports  the planned cohort (uniform) or q * N (Poisson), never the number of devices
//                    that reported; > 0, finite
double UnclippedFraction(double noisy_bit_sum, double planned_reports);

// The parameters by which C moves.
struct ClipSchedule {
  double quantile = 0.5;       // gamma, the share that should stay unclipped; in [0, 1]
  double learning_rate = 0.2;  // eta; in (0, 10]

  void Validate() const;  // throws std::invalid_argument
};

// The next round's bound, C * exp(-eta * (fraction - gamma)): always positive, finite and within a
// factor e^eta of C.
//   clip_l2   C, model units; in [1e-30, 1e30], and so is the result
//   fraction  from UnclippedFraction; in [0, 1]
double NextClip(double clip_l2, double fraction, const ClipSchedule& schedule);

}  // namespace sotto::privacy
