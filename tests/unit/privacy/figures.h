// Short names for what tests of figures use.
#pragma once

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "plans/statement.h"

namespace sotto::privacy {

inline constexpr double kInf = std::numeric_limits<double>::infinity();

inline void ExpectRelative(double actual, double expected, double tolerance) {
  EXPECT_LE(std::abs(actual - expected), tolerance * std::abs(expected))
      << "actual " << actual << ", expected " << expected;
}

inline double NetworkEpsilon(const Statement& statement) {
  return statement.EpsilonOf(Adversary::kNetwork, View::kReleasesAndParticipants);
}

inline double ServerEpsilon(const Statement& statement) {
  return statement.EpsilonOf(Adversary::kServer, View::kEveryUpdate);
}

inline double ServerUpdateEpsilon(const Statement& statement) {
  return statement.EpsilonOf(Adversary::kServer, View::kOneUpdate);
}

}  // namespace sotto::privacy
