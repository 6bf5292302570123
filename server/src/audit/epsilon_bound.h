// A lower bound on a mechanism's epsilon, measured: how well outputs tell two neighbouring inputs
// apart. Part of sotto::server/audit.
//
// Notation. P and Q are the distributions of a number that is computed from the output for one
// input and for the other. S is an event: the number is at least t, or at most t.
//   Lemma 1. If the mechanism is (epsilon, delta)-differentially private, then P(S) <= e^epsilon
//     Q(S) + delta for every S, so epsilon >= ln((P(S) - delta) / Q(S)); the same with P and Q
//     exchanged. Source: Dwork, Roth, "The Algorithmic Foundations of Differential Privacy" (2014).
//   Lemma 2. Let S be chosen from other draws than those that are counted. Then the counts are
//     binomial, and with confidence bounds p on P(S) from below and q on Q(S) from above,
//     epsilon >= ln((p - delta) / q) holds with the confidence of both together.
//   Lemma 3. Several such bounds, at several deltas and for several S, hold all at once with the
//     error probabilities added up.
//
// Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "sotto/span.h"

namespace sotto::server {

// The event that was counted.
struct TellingEvent {
  double threshold = 0;
  bool is_above = true;       // the number is at least the threshold, and P is the likelier side
  int64_t trials = 0;         // that were counted, of each side
  int64_t likely_hits = 0;    // of the side whose probability is bounded from below
  int64_t unlikely_hits = 0;  // of the other side
};

struct MeasuredEpsilon {
  double delta = 0;
  double epsilon_lower = 0;  // >= 0
  TellingEvent event;        // the one that gives it
};

// For each delta the larger one of the bounds that the two directions give. The first half of the
// draws chooses the thresholds, the second half is counted.
//   p, q    [2 n] each, n >= 1: draws of P and of Q, independent
//   deltas  each in [0, 1)
//   error   in (0, 0.5): the probability that not all bounds hold, shared evenly by all of them
// Throws std::invalid_argument outside the ranges.
std::vector<MeasuredEpsilon> MeasureEpsilon(Span<const double> p, Span<const double> q,
                                            const std::vector<double>& deltas, double error);

}  // namespace sotto::server
