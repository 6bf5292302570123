// What an accountant answers, and the form in which it answers at several deltas.
// Part of sotto::server/accounting.
#ifndef SOTTO_ACCOUNTING_ACCOUNTED_H_
#define SOTTO_ACCOUNTING_ACCOUNTED_H_

#include <functional>
#include <optional>

namespace sotto::privacy {

struct AccountedEpsilon {
  // An upper bound unless is_upper_bound is false; +infinity if the accountant has no finite one.
  double epsilon = 0.0;
  // The true smallest epsilon of the worst pair of neighbours is at least this; absent where only
  // upper bounds are known, as for uniform cohorts.
  std::optional<double> epsilon_lower;
  // How much of epsilon may be the numeric error of the method; 0 for formulas, whose rounding is
  // covered by margins of 1e-11 and below.
  double numeric_error = 0.0;
  // What the figure was computed by: "rdp", "rdp-classic", "pld", "gaussian" (exact composition of
  // unsampled Gaussians) or "gdp" (the approximation).
  const char* winner = "rdp";
  double order = 0.0;          // RDP's best order; 0 for the other methods
  bool order_at_edge = false;  // see ConvertedEpsilon
  bool is_upper_bound = true;
};

// Rounds that are composed already: answers with their epsilon at any delta in (0, 1).
using EpsilonAt = std::function<AccountedEpsilon(double delta)>;

}  // namespace sotto::privacy

#endif  // SOTTO_ACCOUNTING_ACCOUNTED_H_
