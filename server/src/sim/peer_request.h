// From a request to a training without a server. Part of sotto::server/sim.
//
// Pure functions: safe from any thread.
#pragma once

#include "plans/peer_privacy.h"
#include "sim/peer_fields.h"
#include "sim/peers.h"

namespace sotto::server {

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

}  // namespace sotto::server
