// The result of an accountant at one delta, and the function type that answers at any delta.
//
// Plain values, safe from any thread. Part of sotto::server/accounting.
#pragma once

#include <functional>
#include <optional>

namespace sotto::privacy {

struct AccountedEpsilon {
  // An upper bound unless is_upper_bound is false; +infinity if the accountant has no finite
  // figure.
  double epsilon = 0.0;
  // A lower bound on the smallest true epsilon of the worst pair of neighbours. Absent if only
  // upper bounds are known, as for uniform cohorts.
  std::optional<double> epsilon_lower;
  // The part of epsilon that may be numeric error of the method. It is 0 for formulas: margins of
  // 1e-11 and below cover their rounding.
  double numeric_error = 0.0;
  // The method that computed the figure: "rdp", "rdp-classic", "pld", "gaussian" (exact composition
  // of unsampled Gaussians), "per-round" (closed forms, added up), "known-draws" (known_draws.h),
  // "rdp-filter" or "gdp" (the approximation).
  const char* winner = "rdp";
  double order = 0.0;          // RDP's best order; 0 for the other methods
  bool order_at_edge = false;  // see ConvertedEpsilon
  bool is_upper_bound = true;
};

// How much work a figure may take. A figure of kQuick is an upper bound too. It is the same
// figure bit for bit where kFull takes little work, and as a rule a larger one elsewhere.
enum class Effort {
  kFull,   // some tenths of a second at most
  kQuick,  // some hundredths of a second: for the trials of a search
};

// The epsilon of rounds that are already composed, at any delta in (0, 1). Not safe to share
// between threads.
using EpsilonAt = std::function<AccountedEpsilon(double delta)>;

}  // namespace sotto::privacy
