// Argument checks of accounting and plans. A bad argument is an error of the caller: the check
// throws, so a bad argument never yields a figure. Pure functions, safe from any thread. Part of
// sotto::server/accounting.
#pragma once

#include <cmath>
#include <sstream>
#include <stdexcept>

namespace sotto::privacy {

// Throws std::invalid_argument "<name> is <value>; it must be <allowed>" unless `holds` is true.
template <typename Value>
void Require(bool holds, const char* name, Value value, const char* allowed) {
  if (holds) return;
  std::ostringstream message;
  message << name << " is " << value << "; it must be " << allowed;
  throw std::invalid_argument(message.str());
}

inline void RequirePositive(double value, const char* name) {
  Require(value > 0 && std::isfinite(value), name, value, "finite and above 0");
}

inline void RequireDelta(double delta) {
  Require(delta > 0 && delta < 1, "delta", delta, "in (0, 1)");
}

inline void RequireNoiseMultiplier(double noise_multiplier) {
  Require(noise_multiplier >= 0 && std::isfinite(noise_multiplier), "noise multiplier",
          noise_multiplier, "finite and at least 0");
}

inline void RequireRate(double rate) {
  Require(rate >= 0 && rate <= 1, "sampling rate", rate, "in [0, 1]");
}

}  // namespace sotto::privacy
