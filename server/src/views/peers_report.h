// A training without a server as text for people and as JSON for programs: the privacy of its
// nodes, and the report of a simulation. Part of sotto::server/views.
//
// Pure functions, safe from any thread.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "plans/peer_privacy.h"
#include "sim/peer_request.h"

namespace sotto::server {

// Several lines: each claim with unit, adjacency, adversary and assumptions, or the reason why
// there is none; what the directory learns.
//   seeded  the noise follows from a seed that somebody knows
std::string DescribePeerPrivacy(const privacy::PeerStatement& statement, bool seeded);

// All members of the statement. `claims` as of a job with a server; `epsilon` is the first claim's,
// `epsilon_sample` and `epsilon_device` are each unit's, null without a claim. Norms and noise in
// model units.
nlohmann::ordered_json PeerPrivacyToJson(const privacy::PeerStatement& statement, bool seeded);

struct PeersOutcome {
  PeersPlan plan;
  std::string data_name;
  SampleInfo test;  // names of classes
  PeersResult result;
  PeersResult alone;  // of NeverSharing()
};

// A warning for the user of the simulation: the shared model is worse than the one with
// which the nodes began, and what to change. Empty: it is not.
std::string PeersWarning(const PeersOutcome& outcome);

// The final table, several lines.
std::string DescribePeers(const PeersOutcome& outcome);

// The whole report. Rates and accuracies are in [0, 1], lengths in bytes, noise in model units.
// server/PEERS.md lists the fields.
nlohmann::ordered_json PeersToJson(const PeersOutcome& outcome);

}  // namespace sotto::server
