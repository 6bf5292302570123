// The report of a simulation without a server: text for people, JSON for programs. Part of
// sotto::server/cli.
//
// Pure functions.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "sim/peer_request.h"

namespace sotto::server {

struct PeersOutcome {
  PeersPlan plan;
  std::string data_name;
  SampleInfo test;  // names of classes
  PeersResult result;
  PeersResult alone;  // of NeverSharing()
};

// The final table, several lines.
std::string DescribePeers(const PeersOutcome& outcome);

// The whole report. Rates and accuracies are in [0, 1], lengths in bytes, noise in model units.
// server/SIMULATE.md lists the fields.
nlohmann::ordered_json PeersToJson(const PeersOutcome& outcome);

}  // namespace sotto::server
