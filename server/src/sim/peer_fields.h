// The options of `sotto peers simulate`. Part of sotto::server/sim.
//
// A plain value and pure functions: safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/peer_options.h"
#include "sim/simulation_request.h"
#include "sotto/peer_job.h"

namespace sotto::server {

// The request for a training without a server, before defaults and noise are resolved. Of a
// simulation with a server it has what PeersFields() sets.
struct PeersRequest : SimulationRequest {
  uint32_t peers = 10;             // M
  std::string share = "coin:0.1";  // the policy
  PeerOrder order = PeerOrder::kTurns;
  PeerJob nodes;  // the nodes' job; MakePeers() finds its noise, its salt and the next three
  std::optional<float> clip_l2;              // absent: the bound of a job with a server
  std::optional<uint32_t> most_local_steps;  // absent: the policy's
  std::optional<uint32_t> most_releases;     // absent: the policy's
  PeerNoise noise = PeerNoise::kSound;
  std::optional<uint32_t> pca;  // 0: none; absent: kDefaultPca if no model is named
  std::string job_out;          // file for the job; empty: none
};

// All options of `sotto peers simulate`.
const std::vector<Field<PeersRequest>>& PeersFields();

}  // namespace sotto::server
