// Statistics of audits: the area under an attack's ROC curve, and confidence bounds on a
// probability. Part of sotto::server/audit.
//
// Pure functions, safe from any thread.
#pragma once

#include <cstdint>

#include "sotto/span.h"

namespace sotto::server {

// Of an attack that guesses by a score. The area under its ROC curve is the probability that a
// member's score is above a non-member's, ties counting half: Mann and Whitney's statistic over all
// pairs, exactly. 1/2 is a guess, 1 tells all apart.
struct Auc {
  double area = 0;
  // The ends of an interval of 95 % confidence: area +- 1.96 deviations, cut at 0 and 1. The
  // deviation is DeLong's, which takes samples as independent draws and their numbers as large. It
  // says nothing about another training.
  // Source: DeLong, DeLong, Clarke-Pearson, "Comparing the Areas under Two or More Correlated
  // Receiver Operating Characteristic Curves" (1988).
  double lower = 0;
  double upper = 0;
  // The largest difference, over all thresholds, of the shares of members and of non-members that
  // the attack calls members: its advantage (Yeom et al. 2018).
  double advantage = 0;
};

// In O(n log n).
//   members, others  scores, at least two of each, none NaN; a higher score says "member"
// Throws std::invalid_argument otherwise.
Auc MeasureAuc(Span<const double> members, Span<const double> others);

// Confidence bounds on a probability, from counts: Clopper and Pearson's. Each bound is one-sided.
// The tails come from accounting/binomial.h, which never understates them, so a bound is never too
// tight: it is wider than the exact one by what that page says of Stirling's formula, at k = 1 by 8
// % of `error`, and for k >= 100 by less than 0.1 % of it. Source: Clopper, Pearson, "The Use of
// Confidence or Fiducial Limits Illustrated in the Case of the Binomial" (1934).
//
// p is the probability of a success, `successes` a draw of Bin(trials, p).
//   trials     in [1, privacy::kMaxTrials]
//   successes  in [0, trials]
//   error      in (0, 0.5): the probability, whatever p is, that the bound does not hold
// Both throw std::invalid_argument outside the ranges.
double LowerProbability(int64_t trials, int64_t successes, double error);  // <= p
double UpperProbability(int64_t trials, int64_t successes, double error);  // >= p

}  // namespace sotto::server
