// The directory of nodes without a server: roster, head and lease. Part of sotto::server/service.
//
// One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "peers/directory.h"
#include "sotto/peer/peer_options.h"

namespace sotto::server {

// The options as the user typed them.
struct DirectoryRequest {
  std::string store;
  std::string state;
  std::string model = "softmax-784-10";
  posix::PeerJobOptions job;
  std::string listen = "127.0.0.1:7178";
  std::string port_file;
  bool relay = false;
  bool stay = false;
  double lease_s = 30;
  LeaseOrder order = LeaseOrder::kAny;
  std::optional<uint32_t> peers;
  std::optional<uint64_t> seed;
  bool insecure_seed = false;
  bool verbose = false;
  std::string log = "lines";
  std::string log_level = "info";
  std::string json;
  std::string model_out;
};

// Serves until all nodes have finished, or until a signal, and writes the results. Throws
// std::invalid_argument for options that do not go together or do not suit the state that an
// earlier start left, and Stopped after a signal.
void RunDirectory(const DirectoryRequest& request);

}  // namespace sotto::server
