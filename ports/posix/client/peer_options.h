// The options of sotto-client --peer, as the user typed them. Part of ports/posix/client. Values
// and pure functions, safe in any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sotto/options/field.h"
#include "sotto/peer/peer_options.h"

namespace sotto::posix {

struct ClientOptions;

struct PeerClientOptions {
  bool is_on = false;          // --peer
  PeerJobOptions job;          // --job and the settings of a job
  std::string share = "coin";  // a text of sotto/policy/policies.h
  std::string listen;          // HOST:PORT; empty: the node does not listen
  std::string address;         // HOST:PORT that neighbours are told; empty: that of --listen
  std::string public_data;     // as --data; empty: none
  std::string head_out;        // path; empty: none
  double most_rho = 0;         // zCDP; 0: the job's own limits
  double serve_s = 60;         // after the last step; >= 0
};

// The rows of the group "Without a server", but for the nodes' job.
std::vector<Field<PeerClientOptions>> PeerRows();

// Throws std::invalid_argument if options contradict each other or a text has the wrong form.
void CheckPeerOptions(const ClientOptions& options);

// The limit of --most-rho in units of 2^-40, rounded down.
uint64_t MostRhoQ40(const PeerClientOptions& options);

}  // namespace sotto::posix
