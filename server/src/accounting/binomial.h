// An upper bound on the tail of a binomial distribution, as a logarithm: the tail may be far too
// small for a double. Pure functions, safe from any thread. Part of sotto::server/accounting.
#pragma once

#include <cstdint>

namespace sotto::privacy {

constexpr int64_t kMaxTrials = 1'000'000'000;

// ln of an upper bound on Pr[Bin(trials, probability) > limit]. The result is 0 below the mode and
// -infinity for limit >= trials. It never rises with the limit.
//   trials       in [1, kMaxTrials]
//   probability  in [0, 1]
//   limit        >= 0
// Beyond the mode the bound exceeds the exact tail by two relative amounts: the error of Stirling's
// formula, less than 1/(12 k) + 1/(12 (trials - k)) with k = limit + 1, and an allowance for
// rounding of 2e-15 times the trials and the logarithms involved. Throws std::invalid_argument
// outside the ranges.
// Source: for the first term, Robbins, "A Remark on Stirling's Formula" (1955); the ratios of the
// terms that follow are exact.
double LogBinomialTail(int64_t trials, double probability, int64_t limit);

// The smallest cap, at most `devices`, with
//   (1 + e^epsilon) * rounds * Pr[Bin(devices, rate) > cap] <= delta_slice:
// The left side is the increase of delta if every Poisson draw is cut at the cap. A capped and an
// uncapped draw differ by Pr[Bin(devices, rate) > cap] in total variation. This difference counts
// once for each of two neighbouring fleets; for one of them it is multiplied by e^epsilon.
// `devices` is the size of the larger fleet.
//   devices      in [1, kMaxTrials]
//   rate         in [0, 1]
//   rounds       >= 1
//   epsilon      >= 0; +infinity gives the largest possible draw
//   delta_slice  in (0, 1)
// Throws std::invalid_argument outside the ranges.
int64_t PoissonCap(int64_t devices, double rate, int64_t rounds, double epsilon,
                   double delta_slice);

}  // namespace sotto::privacy
