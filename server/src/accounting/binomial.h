// An upper bound on the tail of a binomial distribution, far beyond what a double could hold.
// Part of sotto::server/accounting.
#ifndef SOTTO_ACCOUNTING_BINOMIAL_H_
#define SOTTO_ACCOUNTING_BINOMIAL_H_

#include <cstdint>

namespace sotto::privacy {

constexpr int64_t kMaxTrials = 1'000'000'000;

// ln of an upper bound on Pr[Bin(trials, probability) > limit]; 0 below the mode, -infinity for
// limit >= trials, never rising with the limit.
//   trials       in [1, kMaxTrials]
//   probability  in [0, 1]
//   limit        >= 0
// Beyond the mode the bound exceeds the exact tail by less than 1/(12 k) + 1/(12 (trials - k)),
// relative, with k = limit + 1 (the error of Stirling's formula), and by an allowance for rounding
// of 2e-15 times the trials and the logarithms involved. Throws std::invalid_argument outside the
// ranges.
// Source: for the first term, Robbins, "A Remark on Stirling's Formula" (1955); the ratios of the
// terms that follow are exact.
double LogBinomialTail(int64_t trials, double probability, int64_t limit);

// The smallest cap, at most `devices`, with
//   (1 + e^epsilon) * rounds * Pr[Bin(devices, rate) > cap] <= delta_slice:
// the left side is what cutting every Poisson draw at the cap adds to delta. A draw with the cap
// and one without differ by that probability in total variation. This counts once for each of two
// neighbouring fleets, and for the other fleet times e^epsilon. `devices` is the larger of the two.
//   devices      in [1, kMaxTrials]
//   rate         in [0, 1]
//   rounds       >= 1
//   epsilon      >= 0; +infinity gives the largest draw possible
//   delta_slice  in (0, 1)
// Throws std::invalid_argument outside the ranges.
int64_t PoissonCap(int64_t devices, double rate, int64_t rounds, double epsilon,
                   double delta_slice);

}  // namespace sotto::privacy

#endif  // SOTTO_ACCOUNTING_BINOMIAL_H_
