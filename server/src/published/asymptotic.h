// The noise that the paper of Gau-LRQ prescribes, constant or falling from round to round.
//
// Lemmas 1 and 4 of the paper are asymptotic: they have the form of a moments accountant without
// its constants, and their ranges are not stated. Nothing here is a guarantee. The results have
// separate types, so code cannot mistake them for guarantees. conversion.h computes the real cost
// of a schedule, round by round: the noise multiplier of each round is sigma sqrt(B) / (2C).
//
// Notation. C is the clipping bound, N the devices, B the cohort, K the rounds; sigma is ONE
// device's noise per coordinate, model units. Every function throws std::invalid_argument for an
// argument outside its range. Pure functions, safe from any thread. Part of
// sotto::server/published. Source: Yan, Li, Lan, Wu, Song, "Layered Randomized Quantization for
// Communication-Efficient and Privacy-Preserving Distributed Learning" (2023), Lemmas 1 and 4,
// Equation 17.
#pragma once

#include <cstdint>
#include <vector>

namespace sotto::privacy {

// Not an upper bound; for comparison only.
struct AsymptoticEpsilon {
  double value = 0.0;
};

// Not enough for the epsilon that it was computed for; for comparison only.
struct AsymptoticNoise {
  double sigma = 0.0;
};

struct AsymptoticPlan {
  double clip_l2 = 0.0;  // C; > 0, finite
  int64_t devices = 0;   // N; >= 1
  int64_t cohort = 0;    // B; in [1, N]
  double delta = 0.0;    // in (0, 1)

  void Validate() const;  // throws std::invalid_argument
};

// The constant schedule: sigma = 2 C sqrt(K B ln(1/delta)) / (N epsilon).
//   rounds   K >= 1
//   epsilon  > 0, finite
AsymptoticNoise AsymptoticConstantNoise(const AsymptoticPlan& plan, int64_t rounds, double epsilon);

// Lemma 4: epsilon = 2 C sqrt(B ln(1/delta)) / N sqrt(sum over the rounds of 1 / sigma_k^2).
//   sigmas  one for each round, each > 0 and finite; at least one
AsymptoticEpsilon AsymptoticEpsilonOf(const AsymptoticPlan& plan,
                                      const std::vector<double>& sigmas);

// The dynamic schedule as factors of the constant schedule's sigma, one for each round:
//   factor_k = sqrt(S / K) tau^(k/4),  S = sum over i < K of tau^(-i/2),  k = 0 ... K - 1.
// Early rounds get more noise, late rounds less. The sum of 1 / factor_k^2 is K, so Lemma 4 gives
// both schedules the same epsilon. With the constant sigma above, the schedule is Equation 17.
//   rounds  in [1, 10^6]
//   tau     in (0, 1]; 1 is the constant schedule
// Also throws std::invalid_argument if the factors do not fit doubles.
std::vector<double> DynamicNoiseFactors(int64_t rounds, double tau);

}  // namespace sotto::privacy
