// Short names for the figures of a statement that tests use.
#pragma once

#include "plans/statement.h"

namespace sotto::privacy {

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
