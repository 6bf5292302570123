#include "accounting/binomial.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "accounting/arguments.h"
#include "accounting/log_space.h"

namespace sotto::privacy {
namespace {

constexpr double kTwoPi = 6.28318530717958647693;
constexpr double kRounding = 8 * std::numeric_limits<double>::epsilon();

// An upper bound, tight up to Stirling's error, on ln Pr[Bin(n, p) = k] for 0 < p < 1, 0 < k <= n.
// For k < n, Stirling's formula gives
//   C(n, k) p^k (1-p)^(n-k) <= sqrt(n / (2 pi k (n-k))) exp(-n KL(k/n || p)).
double LogBinomialTerm(int64_t trials, double p, int64_t successes) {
  const auto n = static_cast<double>(trials);
  const auto k = static_cast<double>(successes);
  if (successes == trials) return n * std::log(p) * (1 - kRounding);
  const double gain = k * std::log(k / (n * p));
  const double loss = (n - k) * std::log((n - k) / (n * (1 - p)));
  const double rounding = kRounding * (n + std::abs(gain) + std::abs(loss) + 1);
  return std::log(n / (kTwoPi * k * (n - k))) / 2 - gain - loss + rounding;
}

// The sum over k, k + 1, ... of the terms relative to the first term. Beyond the mode the ratio of
// successive terms falls, so a geometric series bounds the terms that are not summed.
double RelativeTail(int64_t trials, double p, int64_t first) {
  double term = 1.0;
  double sum = 0.0;
  for (int64_t k = first; k <= trials; ++k) {
    sum += term;
    const double ratio = static_cast<double>(trials - k) / static_cast<double>(k + 1) * p / (1 - p);
    const double rest = term * ratio / (1 - ratio);
    if (rest < 1e-14 * sum) return sum + rest;
    term *= ratio;
  }
  return sum;
}

}  // namespace

double LogBinomialTail(int64_t trials, double probability, int64_t limit) {
  Require(trials >= 1 && trials <= kMaxTrials, "number of trials", trials, "in [1, 10^9]");
  RequireRate(probability);
  Require(limit >= 0, "limit", limit, "at least 0");
  if (limit >= trials || probability == 0) return -kInfinity;
  const int64_t first = limit + 1;
  const double mode = (static_cast<double>(trials) + 1) * probability;
  if (probability == 1 || static_cast<double>(first) <= mode) return 0;
  const double log_tail = LogBinomialTerm(trials, probability, first) +
                          std::log(RelativeTail(trials, probability, first));
  return std::min(log_tail, 0.0);
}

int64_t PoissonCap(int64_t devices, double rate, int64_t rounds, double epsilon,
                   double delta_slice) {
  Require(devices >= 1 && devices <= kMaxTrials, "number of devices", devices, "in [1, 10^9]");
  RequireRate(rate);
  Require(rounds >= 1, "number of rounds", rounds, "at least 1");
  Require(epsilon >= 0, "epsilon", epsilon, "at least 0");
  Require(delta_slice > 0 && delta_slice < 1, "delta slice", delta_slice, "in (0, 1)");
  const double log_allowed =
      std::log(delta_slice) - Softplus(epsilon) - std::log(static_cast<double>(rounds));
  int64_t high = devices;  // always enough: the draw cannot exceed it
  int64_t low = -1;        // never tried
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    if (LogBinomialTail(devices, rate, middle) <= log_allowed) {
      high = middle;
    } else {
      low = middle;
    }
  }
  return high;
}

}  // namespace sotto::privacy
