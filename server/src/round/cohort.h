// Draws the devices of a round. Part of sotto::server/round.
//
// The server draws the cohort over all eligible devices, connected or not, before any device
// reports. The accountant's amplification by sampling holds for this draw and for no other choice.
//
// Safe from any thread, if each has its own random stream.
#ifndef SOTTO_ROUND_COHORT_H_
#define SOTTO_ROUND_COHORT_H_

#include <cstdint>
#include <vector>

#include "accounting/types.h"
#include "sotto/random.h"

namespace sotto::server {

// The devices drawn, ascending.
//   sampling  kUniform: exactly `cohort` of the devices, every subset equally likely
//             kPoisson: each device independently with probability cohort / devices, exactly
//             kNone, kFull: all of them
//   devices   >= 1; 1 <= cohort <= devices
// Throws std::invalid_argument, or std::runtime_error if the random stream fails.
std::vector<uint32_t> DrawCohort(privacy::Sampling sampling, uint32_t devices, uint32_t cohort,
                                 RandomStream& random);

}  // namespace sotto::server

#endif  // SOTTO_ROUND_COHORT_H_
