// A training plan and the privacy statement it earns.
//
// A plan fixes everything the guarantee depends on before the first round. Each of
// `planned_reports` encodings brings its own noise, and the server tops a round up to that number,
// so the noise of the released sum is constant: sqrt(planned_reports) * noise_sigma in each
// coordinate. Adjacency follows from the sampling (types.h). Pure functions, safe from any thread.
#ifndef SOTTO_PLANS_PLAN_H_
#define SOTTO_PLANS_PLAN_H_

#include <cstdint>
#include <vector>

#include "accounting/guarantee.h"
#include "accounting/types.h"
#include "plans/adaptive_clip.h"
#include "plans/claim.h"

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

// A privacy statement. Wherever an epsilon is printed, its neighbours here are printed too.
//
// In trust mode kPrivateNoise `epsilon` and `epsilon_network` still rest on the encoder's noise
// alone, and are upper bounds all the same: given the devices' own noise, which depends on no data,
// what the encoder gets differs between neighbours by no more than the clipped updates do (adding a
// constant and cutting off do not stretch a difference), and a guarantee that holds for every value
// of that noise holds for its mixture.
struct Statement {
  // What is promised to whom, in a fixed order: (public, releases), (network,
  // releases-and-participants) and, in trust mode kPrivateNoise only, (server, every-update) and
  // (server, one-update). Filled by Account().
  std::vector<Claim> claims;

  // Against whoever sees every released model, is not told who took part and colludes with
  // `colluders` participants; +infinity if no finite epsilon can be stated at this delta.
  double epsilon = 0.0;
  // Against whoever also watches the network and so sees who uploads: sampling amplifies nothing, a
  // device is assumed to take part in every round.
  double epsilon_network = 0.0;
  // Trust mode kPrivateNoise, else +infinity, which is not to be printed as a figure. Against the
  // server and whoever it tells all it knows, under replace-one adjacency whatever the sampling: it
  // knows who takes part, so nothing is amplified. The first is for a device that reports in every
  // round, the second for a single update; a device that reports k times is in between.
  double epsilon_server = kInfinity;
  double epsilon_server_update = kInfinity;
  double delta = 0.0;  // of each
  Adjacency adjacency = Adjacency::kReplaceOne;
  Sampling sampling = Sampling::kUniform;
  Unit unit = Unit::kDevice;
  TrustMode trust_mode = TrustMode::kTrustedServer;
  int64_t rounds = 0;          // released
  int64_t earlier_rounds = 0;  // of earlier jobs, composed with them
  int64_t colluders = 0;
  // The method behind `epsilon`; for the accountant "best" the one that won: "rdp", "pld",
  // "gaussian".
  const char* accountant = "rdp";
  double numeric_error = 0.0;     // how much of `epsilon` may be the numeric error of that method
  double noise_multiplier = 0.0;  // of the released sum, all of the encoders' noise in it
  double private_noise_multiplier = 0.0;    // z of one update against the server; 0: none
  double accounted_noise_multiplier = 0.0;  // without the colluders' part: what epsilon rests on
  double order = 0.0;                       // best RDP order for `epsilon`; 0 for others
  bool order_at_edge = false;               // a wider search of orders might state a smaller one
  Guarantee released;                       // the terms of `epsilon`
  Guarantee network;                        // the terms of `epsilon_network`
};

// The statement after `rounds_released` rounds of the plan: the upper bounds of guarantee.h by the
// plan's accountant. By "best" it takes some milliseconds, tens of them for thousands of rounds.
//   rounds_released  in [0, plan.rounds]; 0 gives epsilon 0, or that of `before`
//                    epsilon_server is that of as many updates
//   before  rounds that some of the same devices took part in earlier; composed as what they are,
//           at the plan's delta and under its adjacency
// An earlier job that was drawn under the other adjacency is accounted without amplification and
// with sensitivity 2C, which holds under both. Fix the draw. Replace a device's data: a Poisson sum
// moves by at most 2C. Remove a device: a uniform cohort that held it holds another one instead,
// drawn at random from the rest, which makes it a uniform cohort of the smaller fleet, and the sum
// moves by at most 2C. The coupling depends on no data and the divergence is jointly quasi-convex,
// so the mixture over draws is bounded by its worst pair, the unsampled Gaussian's. No draw has to
// be cut at a cap in that argument.
// Throws std::invalid_argument for a bad plan, an earlier one or a number of rounds.
Statement Account(const Plan& plan, int64_t rounds_released,
                  const std::vector<SpentRounds>& before = {});

// Trust mode kPrivateNoise: what the server and all it tells learn from `updates` updates of one
// device and those of earlier jobs, under replace-one adjacency at the plan's delta. +infinity if
// the server is trusted, or was in an earlier job.
//   updates  >= 0; of every attempt at a round, for the server sees an update whether it releases
//            anything of it or not
// Gaussian rounds of multiplier z: the RDP of discrete Gaussian noise is at most the continuous
// one's (Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy", 2020,
// Proposition 5), and all that the server sees of an update is computed from v plus noise.
// Throws std::invalid_argument for a bad plan or number.
double EpsilonAgainstServer(const Plan& plan, int64_t updates,
                            const std::vector<SpentRounds>& before = {});

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
