#include "audit/binomial_interval.h"

#include <cmath>
#include <stdexcept>

#include "accounting/binomial.h"

namespace sotto::server {

double LowerProbability(int64_t trials, int64_t successes, double error) {
  if (trials < 1 || trials > privacy::kMaxTrials || successes < 0 || successes > trials ||
      !(error > 0 && error < 0.5)) {
    throw std::invalid_argument(
        "a confidence bound takes 1 to 10^9 trials, at most as many successes, and an error "
        "probability between 0 and 0.5");
  }
  if (successes == 0) return 0;
  const double log_error = std::log(error);
  // Pr[Bin(trials, p) >= successes] rises with p. `low` always satisfies that it is at most
  // `error`.
  double low = 0;
  double high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = low + (high - low) / 2;
    (privacy::LogBinomialTail(trials, middle, successes - 1) <= log_error ? low : high) = middle;
  }
  return low;
}

double UpperProbability(int64_t trials, int64_t successes, double error) {
  return 1 - LowerProbability(trials, trials - successes, error);
}

}  // namespace sotto::server
