// The area under the ROC curve of an attack that guesses by a score. Part of sotto::server/audit.
//
// The area is the probability that a member's score is above a non-member's, ties counting half:
// Mann and Whitney's statistic over all pairs, exactly. 1/2 is a guess, 1 tells all apart.
//
// Pure functions, safe from any thread.
#pragma once

#include "sotto/span.h"

namespace sotto::server {

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

}  // namespace sotto::server
