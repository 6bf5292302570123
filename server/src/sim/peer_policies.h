// What policies of nodes without a server do in a run of known length. Part of sotto::server/sim.
//
// Pure functions: safe from any thread.
#pragma once

#include <cstdint>
#include <string>

namespace sotto::server {

struct PolicyBounds {
  uint32_t most_local_steps = 0;  // that a publication carries
  uint32_t most_releases = 0;     // of a node
};

// What `sotto simulate` takes as a job's bounds where none is named. Of coin:P the chance that a
// node exceeds most_releases, or that a given publication exceeds most_local_steps, is below 1/1000
// (the former by the Chernoff bound). A policy that nobody can predict gets all steps.
//   share  the policy's text, see FindSharePolicy()
//   steps  of a node, all passes, >= 1
PolicyBounds BoundsOf(const std::string& share, uint32_t steps);

}  // namespace sotto::server
