// Draws the devices of a round. Part of sotto::server/round.
//
// The server draws the cohort over all eligible devices, connected or not, before any device
// reports. The accountant's amplification by sampling holds for this draw and for no other choice.
//
// Safe from any thread, if each has its own random stream.
#pragma once

#include <cstdint>
#include <vector>

#include "accounting/types.h"
#include "sotto/random.h"

namespace sotto::server {

// The devices drawn, ascending.
//   sampling         kUniform: exactly `cohort` of the devices, every subset equally likely
//                    kPoisson: each device independently, with probability exactly
//                              cohort / planned_devices
//                    kNone, kFull: all of them; of a fleet that has grown since, as kUniform
//   devices          >= 1
//   cohort           in [1, devices]; kPoisson: in [1, planned_devices]
//   planned_devices  for kPoisson, the fleet for which the cohort was planned; 0: this one
// Throws std::invalid_argument, or std::runtime_error if the random stream fails.
std::vector<uint32_t> DrawCohort(privacy::Sampling sampling, uint32_t devices, uint32_t cohort,
                                 RandomStream& random, uint32_t planned_devices = 0);

}  // namespace sotto::server
