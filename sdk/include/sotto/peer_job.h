// The job that nodes without a server share, and the privacy of a publication. Part of sotto/peer.
//
// M nodes train one model. Each has its own samples and visits them batch by batch. At a step it
// learns alone (Local) or publishes (Global):
//   Local    w_L <- clamp(w_L - local_rate * g(w_L))
//   Global   u = what the node adds; k = base + u + noise, integers; everybody may read k
//            w_L <- k
// g is the mean gradient of the next b samples, plus weight_decay * w. G is the newest published
// model, P the one that this node published last (or the initial one), eta the learning rate, and
// T(w) the result of publication_steps steps w <- clamp(w - eta g(w)), each on the next batch:
//
//   rule        local_rate   base        u                                       source
//   average     2 eta        (G + P)/2   (w_L - P)/2 - eta g(G)                  Eq. (5), (6)
//   shared      eta          G           T(G) - G                                SGD
//   accumulate  eta          G           T(G + w_L - P) - G                      Sotto's own
//
// With the policy `always` the rules shared and accumulate are one. It is plain SGD on one shared
// model if a publication has one step, and `hand-over` if it has more: the model goes from node to
// node, each takes that many steps on it, and the noise comes once (cyclic weight transfer, Chang
// et al. 2018, made private). A publication ends with its pass, so the last one may have fewer
// steps. clamp() moves each parameter into [-range, range].
//
// Units of privacy:
//   sample  one sample of one node, replaced by another. For convex models alone: see the lemmas
//   device  all samples of one node, replaced by as many others. For any model: |u| <= clip_l2,
//           enforced in integers
//   none    no noise. For experiments
//
// Lemmas for the unit `sample`. The data term of one output's loss is convex, L-Lipschitz and
// mu-smooth in that output's weights. D counts them, bias included.
//   1. Features are scaled to |x| <= feature_norm before a training sees them, and one bad sample
//      counts as zeros; so |(x, 1)| <= X with X^2 = 1 + feature_norm^2. An error r of an output is
//      within [-1, 1], or clamped to [-error_clip, error_clip]: a monotone function of the output
//      of slope at most s, so it is still the derivative of a convex function. Hence L = min(1,
//      error_clip) X and mu = s X^2, s = 1/4 for OneVsAll, and L = error_clip X, s = 2 / outputs
//      for MeanSquaredError. For softmax all outputs are taken together: L = sqrt(2) X,
//      mu = X^2 / 2, and error_clip is refused, since clamping softmax's errors leaves no gradient
//      of a convex function.
//   2. A step of rate at most 2 / (mu + lambda) is non-expansive (Hardt, Recht, Singer 2016, Lemma
//      3.7), and so is clamp(). Validity demands local_rate <= 1 / (mu + lambda). The weight decay
//      cancels in the difference of two runs at the same w, so L is the constant of the data term
//      alone.
//   3. Lemma 4 of the paper. A replaced sample is in one batch. In a Local step it moves w_L by
//      local_rate 2 L / b, later steps do not enlarge that, and u by 2 eta L / b under each rule
//      (average halves it). In a step of a publication it moves u by eta 2 L / b.
//   4. Each sample enters one publication in each pass: w_L <- k is public from then on, batches
//      are disjoint, a partial last batch is dropped, and w_L <- P at the start of a pass (not with
//      the unit none). So a pass costs a sample the most that one publication costs (parallel
//      composition), `passes` passes sqrt(passes) times that, and a sample that lies on c nodes
//      sqrt(c) times that.
//   5. K outputs are K models with disjoint weights: their joint difference is sqrt(K) times the
//      difference of one. No clip couples them; a joint clip would break lemma 2.
//   6. Float32. One step's rounding errors move one output's weights by at most e, so a difference
//      grows by 2 e a step, local or of a publication: PeerStepError() has the bound. The number of
//      local steps that a publication carries is at most most_local_steps; a node that has taken
//      more drops them (w_L <- P), which depends on no data. Rounding u to integers towards zero
//      adds less than 1 a parameter.
// Source: "Decentralized Differentially Private Without-Replacement Stochastic Gradient Descent"
// (Jin, He, Dai), Algorithm 1, Lemma 4, Theorem 2.
//
// Plain values and pure functions: safe in any thread.
#pragma once

#include <cstdint>

#include "sotto/model_info.h"

namespace sotto {

// Values enter the job's id: never renumber.
enum class PeerRule : uint8_t { kAverage = 0, kShared = 1, kAccumulate = 2 };
enum class PeerUnit : uint8_t { kNone = 0, kSample = 1, kDevice = 2 };

// A job's id is 16 bytes (kJobIdSize) of the SHA-256 of all its fields and of the model's digest,
// so nodes that agree on the id agree on everything.
struct PeerJob {
  PeerRule rule = PeerRule::kAverage;
  PeerUnit unit = PeerUnit::kSample;
  uint32_t batch_size = 50;    // b; [1, 65535]
  float learning_rate = 0.1f;  // eta; > 0
  float weight_decay = 0.0f;   // lambda; >= 0
  float range = 8.0f;          // every parameter is within [-range, range]; (0, 16]
  float error_clip = 0.0f;     // most magnitude of an output's error, [0, 1]; 0: no clip
  float feature_norm = 1.0f;   // most |x|, unit sample; (0, 1024]
  float clip_l2 = 0.0f;        // most |u|, unit device; (0, 1024], else 0
  // Deviation of a publication's noise in one parameter, in units of 2^-20; [1, 2^26]; unit none: 0
  uint32_t noise_q20 = 0;
  uint32_t passes = 1;             // over a node's samples; [1, 65535]
  uint32_t most_local_steps = 64;  // that a publication carries; [0, 2^20]
  // Of T, in a publication; [1, 65535], rule average: 1.
  uint32_t publication_steps = 1;
  // Unit device: publications of one node that the job's figure pays for; >= 1. Else 0.
  uint32_t most_releases = 0;
  uint8_t salt[16] = {};  // distinguishes jobs of equal settings

  // kOk, or kInvalidArgument for a number outside its range.
  Status Validate() const;
};

// The id of a job with this model. Returns kOk, kInvalidArgument or kCryptoFailed.
Status PeerJobId(const ModelInfo& model, const PeerJob& job, uint8_t (&id)[16]);

// Whether the model suits the unit `sample`: one trained layer, a Dense without frozen layers
// before it, in float32; no preparation or only UnitNorm; OneVsAll, MeanSquaredError or softmax.
bool IsConvexPeerModel(const ModelInfo& model);

// The largest eta with which Lemma 4 holds for the rule: local_rate <= 1 / (mu + lambda), rounded
// down. 0 if IsConvexPeerModel() does not hold.
float LargestPeerRate(const ModelInfo& model, const PeerJob& job);

// The largest L2 difference of u between two neighbours, in units of 2^-20, rounded up: lemmas 3,
// 5 and 6, or 2 clip_l2. Deviation noise_q20 is measured against it.
//   local_steps  that the publication carries, at most most_local_steps
// Returns kOk; kInvalidArgument for a job that Validate() refuses or the unit none; kMismatch if
// the unit is sample and the model not convex, or the rate above LargestPeerRate().
Status PeerSensitivityQ20(const ModelInfo& model, const PeerJob& job, uint32_t local_steps,
                          double* sensitivity_q20);

// The cost of one publication as zCDP: rho = sensitivity^2 / (2 noise^2), at most_local_steps, in
// units of 2^-40, rounded up; UINT64_MAX at most. Statuses as PeerSensitivityQ20().
Status PeerReleaseRhoQ40(const ModelInfo& model, const PeerJob& job, uint64_t* rho_q40);

// Lemma 6's e of one output, a step of this rate; for tests and for PeerSensitivityQ20().
double PeerStepError(const ModelInfo& model, const PeerJob& job, double rate);

}  // namespace sotto
