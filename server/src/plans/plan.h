// A training plan: everything that its privacy statement (statement.h) depends on, fixed before the
// first round.
//
// Each of `planned_reports` encodings brings its own noise, and the server tops a round up to that
// number. So the noise of the released sum is constant: sqrt(planned_reports) * noise_sigma in each
// coordinate. Adjacency follows from the sampling (types.h). Pure functions, safe from any thread.
// Part of sotto::server/plans.
#ifndef SOTTO_PLANS_PLAN_H_
#define SOTTO_PLANS_PLAN_H_

#include <cstdint>

#include "accounting/accountant.h"
#include "accounting/guarantee.h"
#include "accounting/types.h"
#include "plans/adaptive_clip.h"

namespace sotto::privacy {

struct Plan {
  Sampling sampling = Sampling::kUniform;
  int64_t devices = 0;  // N, eligible devices; in [1, 10^9]. The larger of two neighbouring fleets
  int64_t cohort = 0;   // B, in [1, N]: exact (kUniform), expected (kPoisson), N (kNone)
  int64_t planned_reports = 0;  // B, or for kPoisson the cap on the draw, in [1, N]
  int64_t rounds = 0;           // >= 1
  int64_t dimension = 0;        // encoded coordinates of one update; >= 1
  double clip_l2 = 0.0;         // C, bound on an update's L2 norm, model units; > 0
  // s, model units; >= 0. An update's last coordinate is +-s/2 and adapts C (adaptive_clip.h); 0:
  // there is none. If C follows the bits, C, s and noise_sigma are those of one round: the
  // statement is on their ratios, which every round keeps.
  double clip_bit_scale = 0.0;
  double noise_sigma = 0.0;  // deviation of ONE encoding's noise per coordinate, model units; >= 0.
                             // 0, no noise, is accounted as an infinite epsilon
  int64_t colluders = 1;     // participants assumed to tell their noise to the adversary; >= 0
  double delta = 0.0;        // in (0, 1)
  // z of trust mode kPrivateNoise: each device adds discrete Gaussian noise of deviation 2 C z to
  // every coordinate of its clipped update before it is encoded. >= 0; 0: the server is trusted.
  double private_noise_multiplier = 0.0;
  CertificateBounds certificate;
  Accountant accountant;  // one that states guarantees

  // Throws std::invalid_argument, naming the first field out of its range, its value and the range.
  void Validate() const;

  TrustMode Trust() const;
  double SamplingRate() const;  // B / N
  double ClipWithBit() const;   // bound on the norm of update and bit: C if there is none
  double Sensitivity() const;   // of the sum, L2, model units: once or twice ClipWithBit()

  // Of a device's own noise, per coordinate, model units: 2 C z.
  double PrivateNoiseSigma() const;

  // Of the sum of so many encodings' noise, per coordinate, model units; 0 for reports < 0.
  double SumDeviation(int64_t reports) const;

  // Deviation of the released sum's noise over the sensitivity: all of it, and what is left of it
  // to those who know the colluders' part (0 if the colluders are as many as the planned reports).
  double NoiseMultiplier() const;
  double AccountedNoiseMultiplier() const;
};

// What an earlier job has spent on devices of this one.
struct SpentRounds {
  Plan plan;           // of that job
  int64_t rounds = 0;  // charged, >= 0; may exceed plan.rounds
  // The most updates that a device may have sent: one an attempt, also of those that were given up.
  // >= 0, but never taken for less than `rounds`. Counts against the server.
  int64_t updates = 0;
};

// The noise_sigma that gives the released sum this noise multiplier (> 0, finite; all the noise,
// colluders' included). The plan's own noise_sigma is ignored. Throws std::invalid_argument.
double SigmaForNoiseMultiplier(const Plan& plan, double noise_multiplier);

// The plan with a bit beside each update at the same noise multiplier, so the same epsilon:
// noise_sigma grows by 1 / sqrt(1 - bit_share).
//   plan       has noise, and the bit's coordinate is counted in its dimension already
//   bit_share  of the budget, see SplitNoise(): in (0, 1)
// Throws std::invalid_argument.
Plan WithClipBit(Plan plan, double bit_share);

// How the noise of a plan with a bit and with noise is shared between updates and bits. Throws
// std::invalid_argument.
NoiseSplit SplitNoise(const Plan& plan);

}  // namespace sotto::privacy

#endif  // SOTTO_PLANS_PLAN_H_
