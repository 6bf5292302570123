// The options of `sotto peers simulate`, and the training without a server that follows from them.
// Part of sotto::server/sim.
//
// Plain values and pure functions: safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plans/peer_privacy.h"
#include "sim/peers.h"
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

// The files that a simulation without a server reads.
std::vector<NamedInput> PeersInputsOf(const PeersRequest& request);

// What a simulation without a server was asked for, and the training that follows from it.
struct PeersPlan {
  PeersConfig config;
  double epsilon = 0;  // asked for; infinite: no noise
  PeerNoise noise = PeerNoise::kSound;
  // Whom and what the statement is about; with copies, the most nodes that one sample lies on.
  privacy::PeerTraining training;
  uint32_t pca = 0;         // components that were fitted on the training samples; 0: none
  uint32_t most_steps = 0;  // of a node, all passes
};

// Checks of the request that need no data. Throws std::invalid_argument, which names the option.
void CheckPeers(const PeersRequest& request);

//   data  OpenPeerData() of the request
// Throws std::invalid_argument, which names the option, and privacy::UnattainableEpsilon.
PeersPlan MakePeers(const PeersRequest& request, const TrainTest& data);

// What the publications of a run tell.
privacy::PeerStatement StatementOf(const PeersPlan& plan, const PeersResult& result);

// The same nodes, samples and steps without a publication and without noise.
PeersConfig NeverSharing(const PeersConfig& config);

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
