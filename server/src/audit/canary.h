// Releases of a job's own code, with a device in them that gives itself away as far as it can: the
// canary. Part of sotto::server/audit.
//
//   canary's training --> the SDK's encoder --> Attempt --> MakeRelease() --> released model
//
// The canary's training is hostile: its update lies along one direction and is a hundred times as
// long as the bound, and it moves away from the base where a training is told to move towards it.
// So what keeps its update short is the encoder of the device, and what hides it is the noise. All
// other devices report nothing: the server tops the noise up for them, and no data of theirs blur
// what the canary does. In uniform cohorts the other devices stand at the far corner: the update -v
// of each is added to the sum, without noise, which the top-up has. So a cohort without the
// canary differs from one with it at +v by the whole sensitivity, and from one with it at -v by
// nothing. That is the fleet that tells most: its delta in one round is the claim's. A release
// becomes one number, how far the model moved along the canary's direction, summed over the rounds.
//
// In a job of passes everybody knows who is in which round. The canary is in as many rounds as its
// limit allows: the last ones, whose noise is the least. The number is how far these moved the
// model.
//
// In trust mode private-noise the server is an adversary, too. It sees the canary's update decoded:
// one number again, the update along the same direction. It is always there, as +v or as -v.
//
// Neighbouring fleets. Under add/remove adjacency the canary takes part or does not exist. Under
// replace-one adjacency its update is +v or -v.
//
// What a run draws depends on its key alone, not on the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "round/job_config.h"
#include "sotto/crypto.h"

namespace sotto::server {

// What the adversary sees of a repeat.
enum class CanaryView {
  kReleases,   // the models
  kOneUpdate,  // the canary's update of round 0, as the server decodes it
};

// Whether the canary is known to be in this round of a job of passes.
bool CanaryTakesTurn(const privacy::Plan& plan, int64_t round);

struct CanaryReleases {
  // How far the model moved along the canary's direction, in sensitivities of the mean update, or
  // how long the update is along it, in sensitivities of one update; one number for each repeat.
  std::vector<double> with;     // the canary's update is +v
  std::vector<double> without;  // it is -v, or the canary does not exist
  // Updates that the canary was drawn for; and of these those that the device did not encode or the
  // server refused. An honest encoder's are never refused.
  uint64_t drawn = 0;
  uint64_t refused = 0;
};

// Draws the releases of `repeats` jobs of config.plan.rounds rounds, for each of the two fleets.
//   config   valid; its codec is accounted. At most 2^32 - 1 repeats times attempts
//   done     called from this thread now and then with the share that is done, in (0, 1]
// Throws std::runtime_error if a device fails in another way than by a refusal.
CanaryReleases DrawReleases(const JobConfig& config, CanaryView view, const Key& key,
                            uint32_t repeats, int threads, const std::function<void(double)>& done);

}  // namespace sotto::server
