#include "accounting/profile.h"

#include <algorithm>
#include <cmath>

#include "accounting/arguments.h"

namespace sotto::privacy {
namespace {

constexpr double kSqrtHalf = 0.70710678118654752440;
// Above the rounding of a double below 1 and of its erfc, however they add up here.
constexpr double kRounding = 1e-14;
// A step to the right after which AlphaAt() has grown by more than its own rounding, for |x| <= 5.
constexpr double kStepRight = 1e-8;

double Phi(double x) { return std::erfc(-x * kSqrtHalf) / 2; }

double BetaOfPair(const PrivacyPair& pair, double alpha) {
  const double grown = std::exp(pair.epsilon);
  return std::max(1 - pair.delta - grown * alpha, (1 - pair.delta - alpha) / grown);
}

// An end of the bracket in which ln delta is sought.
struct End {
  double log_delta;
  double excess;  // the answer minus the epsilon that is asked for
};

// Where a straight line between the ends, in sqrt(-ln delta), crosses 0: the epsilon of a Gaussian
// is nearly straight there. Stays inside; the middle where the line says nothing.
double Crossing(const End& low, const End& high, double away) {
  const double middle = low.log_delta + (high.log_delta - low.log_delta) / 2;
  if (!std::isfinite(low.excess) || !std::isfinite(high.excess)) return middle;
  const double at_low = std::sqrt(-low.log_delta);
  const double at_high = std::sqrt(-high.log_delta);
  const double share = low.excess / (low.excess - high.excess);
  const double at = at_low + share * (at_high - at_low);
  const double guess = -at * at + away;
  return guess > low.log_delta && guess < high.log_delta ? guess : middle;
}

}  // namespace

double DeltaFor(const EpsilonOfDelta& answers, double epsilon) {
  Require(epsilon >= 0 && std::isfinite(epsilon), "epsilon", epsilon, "finite and at least 0");
  const auto end_at = [&](double log_delta) -> End {
    return {log_delta, answers(std::exp(log_delta)) - epsilon};
  };
  End low = end_at(std::log(kLeastSoughtDelta));
  if (low.excess <= 0) return kLeastSoughtDelta;
  End high = end_at(std::log(kMostSoughtDelta));
  if (!(high.excess <= 0)) return 1;
  // Every third step halves the bracket; the others step over the crossing, now to one side, now to
  // the other.
  constexpr int kMostSteps = 120;
  for (int step = 0; step < kMostSteps && high.log_delta - low.log_delta > kDeltaTolerance / 2;
       ++step) {
    const double away = (step % 3 == 0 ? 1 : -1) * kDeltaTolerance / 8;
    const double next = step % 3 == 2 ? low.log_delta + (high.log_delta - low.log_delta) / 2
                                      : Crossing(low, high, away);
    const End end = end_at(next);
    (end.excess <= 0 ? high : low) = end;
  }
  return std::exp(high.log_delta);
}

double AlphaAt(double x) { return Phi(x); }

double TradeOff::BetaAt(double x) const {
  const double alpha = AlphaAt(x);
  double beta = 0.0;
  for (const PrivacyPair& pair : pairs) {
    if (std::isfinite(pair.epsilon)) beta = std::max(beta, BetaOfPair(pair, alpha) - kRounding);
  }
  if (mu) beta = std::max(beta, Phi(-(x + kStepRight) - *mu) * (1 - kRounding));
  return std::max(beta, 0.0);
}

}  // namespace sotto::privacy
