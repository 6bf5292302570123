// Noisy-FedAvg and Noisy-FedProx: the printed Theorems 12 and 15, for comparison. NOT bounds.
//
// Sotto trains both methods as ordinary plans at device level (plans/schedule.h); this file has
// only what the paper prints about ONE SAMPLE of one device. Its setting, for rounds t = 0 ... T -
// 1:
//   1. All m devices take part, and each starts from the average.
//   2. Each device takes K steps of plain SGD, without momentum, along gradients clipped to V,
//        w <- w - eta_(k,t) g / max(1, |g| / V)                           (Noisy-FedAvg)
//        w <- w - eta_(k,t) (g / max(1, |g| / V) + alpha (w - average))   (Noisy-FedProx).
//   3. Each device adds N(0, sigma^2) to each parameter, and the server averages.
// One sample then moves the average by at most gamma_t = 2V / m * (sum over k of eta_(k,t))
// (Lemma 20), or 2V / (m alpha) (Lemma 22), and so does all the data of a device: neither proof
// uses that only one sample differs. The rounds compose to
//   mu = sqrt(m) / sigma * sqrt(sum over t of gamma_t^2),
// which holds for every loss, for the last model and for all the models together.
//
// Theorems 12 (a), 12 (b) and 15 print a mu that stays finite as T grows, and that falls as the
// smoothness L grows. As printed they are not bounds:
//   1. A loss that is linear in w is L-smooth for every L.
//   2. For such a loss the last model is Gaussian, with means T gamma apart and deviation
//      sigma sqrt(T / m). So mu = sqrt(m T) gamma / sigma exactly. For (a) and 15 that is more than
//      printed for all T > 1. For (b) the printed factor lacks eta, so it takes more rounds where
//      eta is below 1.
//   3. The proof interpolates with weights that Lemma 19 wants in [0, 1]. The weights that give the
//      printed value exceed 1, since the step from model to model may expand.
//   4. Within [0, 1], with the same gamma in all rounds, weights of 1 are the best, and they are
//      composition.
// Theorems 12 (c) and (d) are compositions, and hold, (d) for a constant
// z >= eta_(0,0) (1 + 1/2 + ... + 1/K).
//
// Every function throws std::invalid_argument, naming the field, for a value outside its range or
// an assumption that does not hold. Pure functions, safe from any thread. Part of
// sotto::server/published. Source: Sun, Shen, Tao, "Convergent Differential Privacy Analysis for
// General Federated Learning: the f-DP Perspective" (2024).
#pragma once

#include <cstdint>

namespace sotto::privacy {

// eta_(k,t) for the base rate `learning_rate`, eta.
enum class RateSchedule {
  kConstant,    // eta
  kCyclic,      // eta / (k + 1)
  kStagewise,   // eta / (t + 1)
  kContinuous,  // eta / (t K + k + 1)
};

const char* Name(RateSchedule schedule);  // "constant", "cyclic", "stagewise", "continuous"

// The settings that both methods share.
struct NoisyTraining {
  int64_t devices = 0;            // m; in [1, 10^9]
  int64_t participants = 0;       // in every round: must be all of the devices
  int64_t rounds = 0;             // T; in [1, 10^9]
  int64_t local_steps = 0;        // K; in [1, 10^6]
  double learning_rate = 0.0;     // eta; > 0, finite
  double momentum = 0.0;          // must be 0
  double gradient_clip_l2 = 0.0;  // V; > 0, finite
  double noise_sigma = 0.0;       // of one device, per coordinate, model units; > 0, finite
};

struct NoisyFedAvg {
  NoisyTraining training;
  RateSchedule schedule = RateSchedule::kConstant;

  void Validate() const;  // throws std::invalid_argument
};

// The rates may follow any schedule that never exceeds the base rate.
struct NoisyFedProx {
  NoisyTraining training;
  // alpha; > 0, at most 1 / learning_rate. (The paper allows a rate up to 1 / (alpha - L), but from
  // 1 / alpha on a step overshoots the average and its Lemma 22 fails.)
  double proximal = 0.0;

  void Validate() const;  // throws std::invalid_argument
};

// A mu as the paper prints it. NOT a bound (above): for comparison only.
struct PublishedMu {
  double value = 0.0;
};

// Theorem 12, with r = (1 + eta L)^K for kConstant and (1 + K)^(c eta L) for kCyclic:
//   kConstant    2 V eta K / (sqrt(m) sigma) sqrt((r + 1) / (r - 1) * (r^T - 1) / (r^T + 1))
//   kCyclic      2 V c ln(K + 1) / (sqrt(m) sigma) times the same root
//   kStagewise   2 V eta K / (sqrt(m) sigma) sqrt(2 - 1/T)
//   kContinuous  2 V z / (sqrt(m) sigma) sqrt(2 - 1/T)
//   smoothness  L, > 0 and finite; used by kConstant and kCyclic
//   constant    c >= 1 (kCyclic) or z > 1 (kContinuous), finite; the paper leaves them open
PublishedMu PublishedNoisyFedAvg(const NoisyFedAvg& method, double smoothness, double constant);

// Theorem 15: 2V / (sqrt(m) alpha sigma) sqrt((2 alpha - L) / L)
//             * sqrt((alpha^T - (alpha - L)^T) / (alpha^T + (alpha - L)^T)).
//   smoothness  L, in (0, alpha)
PublishedMu PublishedNoisyFedProx(const NoisyFedProx& method, double smoothness);

}  // namespace sotto::privacy
