// Shared parts of the curves of rdp.h: argument checks, the cases that need no formula, and the
// chord between integer orders. Pure functions, safe from any thread. Part of
// sotto::server/accounting.
#pragma once

#include <cmath>
#include <cstdint>

#include "accounting/arguments.h"
#include "accounting/log_space.h"

namespace sotto::privacy {

inline void RequireRdpArguments(double noise_multiplier, double rate, double order) {
  RequireNoiseMultiplier(noise_multiplier);
  RequireRate(rate);
  Require(order > 1 && std::isfinite(order), "order", order, "finite and above 1");
}

// The value in the cases that need no formula: no sampling, no participation, no noise or almost
// none. NaN in all other cases.
inline double TrivialRdp(double z, double rate, double order) {
  const double unsampled = order / (2 * z * z);
  if (rate == 0) return 0;
  // Above 1e300 the exponents in the sums, which are `order` times larger, would overflow.
  if (!(unsampled * order < 1e300)) return kInfinity;
  return rate == 1 ? unsampled : std::nan("");
}

// (order - 1) * rho on the chord between the integers around `order`, from log_moment(n), which
// gives (n - 1) * rho(n) at integers n >= 2.
template <typename LogMoment>
double Chord(double order, LogMoment log_moment) {
  const auto below = static_cast<int64_t>(std::floor(order));
  const double share = order - static_cast<double>(below);
  const double left = below < 2 ? 0.0 : log_moment(below);
  if (share == 0) return left;
  return (1 - share) * left + share * log_moment(below + 1);
}

}  // namespace sotto::privacy
