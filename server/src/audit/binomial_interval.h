// Confidence bounds on a probability, from counts: Clopper and Pearson's. Part of
// sotto::server/audit.
//
// Each bound is one-sided. The tails come from accounting/binomial.h, which never understates them,
// so a bound is never too tight: it is wider than the exact one by what that page says of
// Stirling's formula, at k = 1 by 8 % of `error`, and for k >= 100 by less than 0.1 % of it.
//
// Pure functions, safe from any thread.
// Source: Clopper, Pearson, "The Use of Confidence or Fiducial Limits Illustrated in the Case of
// the Binomial" (1934).
#pragma once

#include <cstdint>

namespace sotto::server {

// p is the probability of a success, `successes` a draw of Bin(trials, p).
//   trials     in [1, privacy::kMaxTrials]
//   successes  in [0, trials]
//   error      in (0, 0.5): the probability, whatever p is, that the bound does not hold
// Both throw std::invalid_argument outside the ranges.
double LowerProbability(int64_t trials, int64_t successes, double error);  // <= p
double UpperProbability(int64_t trials, int64_t successes, double error);  // >= p

}  // namespace sotto::server
