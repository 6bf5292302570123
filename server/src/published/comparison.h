// What papers print about privacy, each figure beside the sound one for the same rounds.
//
// A published figure is refuted if a proved LOWER bound of the same mechanism exceeds it. It holds
// if it is not below a proved upper bound. Between the two it stays open. The sound side knows
// nothing of these papers: it composes Gaussian rounds as every plan does.
//
// Pure functions, safe from any thread. Part of sotto::server/published.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "accounting/conversion.h"
#include "published/sample_level.h"

namespace sotto::privacy {

enum class Verdict {
  kHolds,    // at least the sound upper bound
  kRefuted,  // below a proved lower bound
  kOpen,     // between lower and upper bound
  kNone,     // there is no published figure: see PublishedFigure::error
};

const char* Name(Verdict verdict);  // "holds", "refuted", "open", "none"

// A figure of a paper and ours for the same rounds, both epsilons at one delta.
struct PublishedFigure {
  std::string source;              // "Gau-LRQ, Lemma 1"
  std::optional<double> epsilon;   // as published; absent: see error
  double sound_epsilon = 0;        // upper bound; infinity if none is known
  std::optional<double> at_least;  // proved lower bound; absent: unknown
  Verdict verdict = Verdict::kNone;
  std::string note;   // what the figure misses, or how loose it is
  std::string error;  // why the paper has no figure for these rounds
};

// Theorem 1 (uniform) or 2 (Poisson) of DP-Fed-LS for such rounds, which are sampled. The note says
// how much noise the theorem asks for at our epsilon, as nu / C.
PublishedFigure CompareDpFedLs(const GaussianRounds& rounds, double delta);

// Lemma 1 of Gau-LRQ, Lemma 4 for the schedule of Equation 17 if tau < 1, and Lemma 7, its analysis
// of BQ-SGD, at the same variance of the noise.
//   rounds   sampled, all with the same noise multiplier z. With tau, round k has z times
//            DynamicNoiseFactors()
//   cohort   B; the fleet is B / rate
//   tau      in (0, 1]
//   dimension  d; 0: no Lemma 7
std::vector<PublishedFigure> CompareGauLrq(const GaussianRounds& rounds, int64_t cohort, double tau,
                                           int64_t dimension, double delta);

// Noisy-FedAvg and Noisy-FedProx. Ours is composition at the level of whole devices, which also
// covers one sample: with c_0 = 0, c_(k+1) = |1 - alpha eta_k| c_k + V eta_k and C_t = c_K, round t
// is a Gaussian mechanism of noise multiplier z_t = sigma sqrt(m) / (2 C_t) without sampling.
struct NoisyMethods {
  NoisyTraining training;
  double smoothness = 0;           // L
  std::optional<double> proximal;  // alpha; absent: Noisy-FedAvg alone
  std::optional<double> constant;  // c of Theorem 12 (b), z of 12 (d); absent: the least that holds
};

// Gaussian differential privacy of Noisy-FedAvg (proximal 0) or Noisy-FedProx.
//   all_models                 upper bound: all T models together, every loss
//   last_model_of_linear_loss  exact, if proximal * learning_rate <= 1: the last model alone, whose
//                              two means are 2 sum(C_t) / m apart with deviation sigma sqrt(T / m)
// Throws std::invalid_argument for more than 10^8 steps.
struct ComposedMu {
  double all_models = 0;
  double last_model_of_linear_loss = 0;
};
ComposedMu ComposeNoisy(const NoisyTraining& training, RateSchedule schedule, double proximal);

// Theorems 12 (a) to (d), and 15 if there is an alpha. Throws std::invalid_argument for values out
// of range; a theorem whose own conditions fail has an error instead of a figure.
std::vector<PublishedFigure> CompareNoisyMethods(const NoisyMethods& methods, double delta);

}  // namespace sotto::privacy
