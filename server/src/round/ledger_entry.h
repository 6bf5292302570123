// A release as a ledger keeps it. Part of sotto::server/round.
//
// What of it is shown, where and to whom is a row of round_figures.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plans/claim.h"
#include "plans/plan.h"
#include "round/recorded_figures.h"

namespace sotto::server {

// A release without its parameters: the facts from which its figures are computed, and the claims.
// The claims hold after this round, over the whole job and the jobs before it.
struct LedgerEntry {
  int64_t job = 0;
  uint32_t round = 0;
  std::string mechanism;
  // The plan of this round: under adaptive clipping and with a schedule, clip_l2, clip_bit_scale
  // and noise_sigma are the round's own, and it has no schedule. Without privacy, noise_sigma is 0.
  privacy::Plan plan;
  int64_t reported = 0;
  double noise_multiplier = 0.0;            // of the released sum, with all of its noise
  double accounted_noise_multiplier = 0.0;  // without the colluders' noise
  int64_t attempts = 0;                     // of the job so far, released or not
  int64_t charged_rounds = 0;               // of the job so far
  int64_t earlier_rounds = 0;               // of the jobs before it
  double numeric_error = 0.0;               // largest numeric error in the public epsilon
  bool seeded = false;  // noise that the claims rest on derives from a seed: not private
  std::vector<privacy::Claim> claims;
  RecordedFigures recorded;  // of its attempt; empty: the server was killed before it wrote them
};

}  // namespace sotto::server
