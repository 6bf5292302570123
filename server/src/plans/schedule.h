// The schedule of a plan: how clipping bound and noise change from round to round.
//
// A schedule is a few numbers that are fixed before the first round. Its terms are factors of the
// plan's clip_l2 and noise_sigma, which are the values of round 0. So the terms of a round depend
// neither on the number of rounds nor on the noise. Job, ledger, account, calibration and reports
// all read TermsOf(). A mechanism of bound f C and noise g sigma equals the mechanism of bound C
// and noise sigma g / f in other units: an accountant needs RoundTerms::noise_per_clip() alone.
//
// Noise. With the decay tau, 0 < tau <= 1, round k has the noise sigma tau^(k/4): Equation 17 of
// Gau-LRQ, sigma_k^2 ~ tau^(k/2). The paper scales this by sqrt(S / K) such that its Lemma 4 gives
// every tau the same epsilon (published/asymptotic.h). That does not hold for sound figures, so
// calibration chooses sigma and with it the scale of the whole schedule.
//
// Bound. Noisy-FedAvg and Noisy-FedProx train without a bound on the update. It follows from the
// bound V on gradients. One device trains in round t from the model w, with u_0 = 0 and, in steps
// k = 0 ... K - 1 of rate eta_k,
//   u_(k+1) = u_k - eta_k (g_k + alpha u_k),  |g_k| <= V,
// where w + u_k is its model and g_k the clipped gradient of some batch, or the mean of clipped
// gradients. alpha is 0 in Noisy-FedAvg. Let c_0 = 0, c_(k+1) = |1 - alpha eta_k| c_k + V eta_k.
//   Lemma 1. |u_k| <= c_k, whatever the data and the batches. Proof: u_(k+1) is
//     (1 - alpha eta_k) u_k - eta_k g_k; take norms.
//   Lemma 2. The updates that one device sends with two data sets are at most 2 c_K apart. Proof:
//     lemma 1 for each. Following both trainings step by step gives no less: u_k - u'_k has the
//     recursion of c_k with 2V for V.
//   Lemma 3. Both are attained: let all g_k point in one direction, and for the other data set in
//     the opposite one; alpha eta_k <= 1.
//   Lemma 4. If alpha eta_k <= 1 for all k, then c_k does not fall with k and is at most V / alpha.
//     Proof: c <= V / alpha gives c_(k+1) - c_k = eta_k (V - alpha c_k) >= 0, and
//     c_(k+1) <= (1 - alpha eta_k) V / alpha + V eta_k = V / alpha.
// So C_t = c_K bounds the updates of round t, and the encoder enforces it: the guarantee does not
// rest on the lemmas, but an honest device loses nothing (up to the rounding of float32). Every
// device counts, all of its data may change, and the sum moves by at most 2 C_t: an ordinary plan
// at device level, with z = sigma sqrt(m - colluders) / (2 C_t) for m devices in each round.
//   Noisy-FedAvg   C_t = V (eta_0 + ... + eta_(K-1))   (Lemma 20 of the paper: one sample, 2 C_t)
//   Noisy-FedProx  C_t <= V / alpha                    (Lemma 22), often far less
// The lemmas do not cover momentum (g_k is then not bounded by V) and weight decay (its step is not
// a multiple of u_k).
//
// Sources: Yan, Li, Lan, Wu, Song, "Layered Randomized Quantization for Communication-Efficient and
// Privacy-Preserving Distributed Learning" (2023), Equation 17. Sun, Shen, Tao, "Convergent
// Differential Privacy Analysis for General Federated Learning: the f-DP Perspective" (2024).
// Pure functions, safe from any thread. Part of sotto::server/plans.
#pragma once

#include <cstdint>

#include "plans/learning_rate.h"

namespace sotto::privacy {

// The local training from which a bound follows.
struct StepBound {
  double gradient_clip = 0.0;  // V, > 0; 0: the bound does not follow from steps
  double proximal = 0.0;       // alpha, >= 0
  int64_t steps = 0;           // K, in [1, 65535]: the same for every device and round
  LearningRate rate;           // base > 0

  bool IsSet() const { return gradient_clip != 0; }
};

// c_K of this round, model units. +infinity if it does not fit a double.
double BoundOf(const StepBound& training, int64_t round);

struct RoundTerms {
  double clip_factor = 1.0;   // of plan.clip_l2
  double noise_factor = 1.0;  // of plan.noise_sigma

  double noise_per_clip() const { return noise_factor / clip_factor; }
};

struct RoundSchedule {
  double noise_decay = 1.0;  // tau
  StepBound bound;
  // Round 0 of the plan is this round of the schedule: of a plan that goes on with one. Its terms
  // are still factors of the schedule's round 0.
  int64_t first_round = 0;

  bool IsConstant() const { return noise_decay == 1 && !bound.IsSet(); }

  // The terms of a round >= 0; the terms of the schedule's round 0 are 1. A bound is never below
  // kLeastClipFactor of the first one. Takes K steps if the bound follows from steps.
  RoundTerms TermsOf(int64_t round) const;

  // Throws std::invalid_argument, naming the field, for a value outside its range; and if the noise
  // of the last of `rounds` rounds is below kLeastNoiseFactor of the first one's.
  void Validate(int64_t rounds) const;
};

constexpr double kLeastClipFactor = 1e-6;
constexpr double kLeastNoiseFactor = 1e-6;

}  // namespace sotto::privacy
