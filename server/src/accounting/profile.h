// The other readings of an accountant's figures: delta at an epsilon, and the trade-off curve.
//
// An accountant answers with the epsilon that holds at a delta. Each such answer is a pair, and a
// mechanism is (epsilon, delta)-DP for each of its pairs; so all results here are as sound as the
// answers, and no more is assumed of them. Pure functions, safe from any thread. Part of
// sotto::server/accounting.
#pragma once

#include <functional>
#include <optional>
#include <vector>

namespace sotto::privacy {

// An upper bound on epsilon at a delta in (0, 1), which falls as delta grows; +infinity: none.
using EpsilonOfDelta = std::function<double(double delta)>;

// The ends of the search, and how close to each other its last two deltas are.
constexpr double kLeastSoughtDelta = 1e-200;
constexpr double kMostSoughtDelta = 0.999;
constexpr double kDeltaTolerance = 1e-7;  // relative

// An upper bound on delta at this epsilon: a delta at which the answer is at most epsilon. It is
// above the smallest such delta by a part of kDeltaTolerance at most, if the answers never rise
// with delta. 1, which holds for any mechanism, if there is none up to kMostSoughtDelta;
// kLeastSoughtDelta if a smaller one would do, too.
//   epsilon  >= 0, finite
// Takes some ten answers. Throws std::invalid_argument for another epsilon.
double DeltaFor(const EpsilonOfDelta& answers, double epsilon);

struct PrivacyPair {
  double epsilon = 0.0;  // >= 0; +infinity says nothing
  double delta = 0.0;    // in [0, 1]
};

// A lower bound on the type II error beta of every test at level alpha between two neighbours.
//   Each pair gives beta >= max(0, 1 - delta - e^epsilon alpha, e^-epsilon (1 - delta - alpha)).
//     Source: Wasserman and Zhou, "A Statistical Framework for Differential Privacy" (2010),
//     Theorem 2.4; Kairouz, Oh, Viswanath, "The Composition Theorem for Differential Privacy"
//     (2015), Theorem 2.1; both directions of a pair of neighbours.
//   mu-GDP gives beta >= Phi(Phi^-1(1 - alpha) - mu). Source: Dong, Roth, Su, "Gaussian
//     Differential Privacy" (2022), Eq. (6).
// Rounded down.
struct TradeOff {
  std::vector<PrivacyPair> pairs;
  std::optional<double> mu;  // of which the mechanism is GDP, or an upper bound on it; absent: none

  double BetaAt(double x) const;  // at AlphaAt(x)
};

// The level Phi(x), x in [-5, 5].
double AlphaAt(double x);

}  // namespace sotto::privacy
