// The noise that the paper on decentralised DP-SGD asks for, and its real epsilon. For comparison.
//
// The paper trains K binary models side by side and calibrates each of them (Theorem 2 with Theorem
// 1): noise of deviation sqrt(2 ln(1.25 / delta)) Delta / epsilon with Delta = 2 eta L / b. Its
// tables fit L = 1. What it leaves out:
//   1. The K models are released together, so their joint mu is sqrt(K) times the mu of one.
//   2. With a bias the gradient of one sample is up to |(x, 1)| = sqrt(2) long, and L = sqrt(2).
//   3. A sample that lies on c nodes is released by each of them: sqrt(c).
//   4. A training of several passes releases it in each pass: sqrt(passes).
// The figures here are exact for continuous Gaussian noise at these sensitivities
// (accounting/gdp.h). They are neither claims nor lower bounds of the training;
// plans/peer_privacy.h has the claim.
//
// Pure functions, safe from any thread. Part of sotto::server/published. Source: Jin, He, Dai,
// "Decentralized Differentially Private Without-Replacement Stochastic Gradient Descent".
#pragma once

#include <cstdint>

#include "sotto/peer_job.h"

namespace sotto::privacy {

struct PublishedPeerNoise {
  double epsilon = 0;      // that the paper states, of one binary model
  double delta = 0;        // and its delta
  double sensitivity = 0;  // Delta, model units
  double deviation = 0;    // model units
  uint32_t noise_q20 = 0;  // the deviation in units of 2^-20, rounded to the nearest
  int64_t models = 1;      // K
};

// The paper's noise for this model and job; the job's own noise is ignored.
//   epsilon  > 0, finite
//   delta    in (0, 1)
// Throws std::invalid_argument for numbers out of range, and if the noise is not in [1, 2^26] units
// of 2^-20.
PublishedPeerNoise PublishedNoiseOf(const ModelInfo& model, const PeerJob& job, double epsilon,
                                    double delta);

// Exact epsilons of continuous noise of that deviation, at the paper's delta.
struct PublishedPeerFigures {
  double one_model = 0;   // Delta alone
  double all_models = 0;  // 1
  double with_bias = 0;   // 1 and 2
  double on_copies = 0;   // 1 and 3
  double together = 0;    // 1 to 4
};

//   copies, passes  >= 1
PublishedPeerFigures FiguresAt(const PublishedPeerNoise& noise, int64_t copies, int64_t passes);

}  // namespace sotto::privacy
