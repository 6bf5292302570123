// The devices of a round: drawn, or chosen by their turns. Part of sotto::server/round.
//
// DrawCohort() draws over all eligible devices, connected or not, before any device reports. The
// accountant's amplification by sampling holds for this draw and for no other choice.
// ChooseByTurns() is for Sampling::kPasses, where nothing is amplified and the choice is free
// (plans/turns.h).
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

// A device that may be asked for a turn: its limit allows one, and under Order::kConnected it is
// connected.
struct Candidate {
  uint32_t device = 0;    // index
  int64_t turns = 0;      // charged in this job
  bool is_rested = true;  // its last turn is not one of the latest rounds
  uint32_t owner = 0;     // DeviceRegistry::OwnerOf(); 0: the device has none
};

// The largest cohort of these candidates in which no two devices have the same owner.
uint32_t LargestCohort(const std::vector<Candidate>& candidates);

// The devices to ask, ascending: those with the fewest turns first, of these the rested ones first,
// and otherwise by a shuffle; a device whose owner has one in the cohort already is passed over.
// With all devices as candidates, and without owners, they are disjoint cohorts until each device
// has had its turn.
//   cohort  in [1, LargestCohort(candidates)]
// Throws as DrawCohort().
std::vector<uint32_t> ChooseByTurns(std::vector<Candidate> candidates, uint32_t cohort,
                                    RandomStream& random);

}  // namespace sotto::server
