// The options of a training without a server. Part of sotto::server/sim.
//
// Plain values: any thread may read them.
#ifndef SOTTO_SIM_PEER_OPTIONS_H_
#define SOTTO_SIM_PEER_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "sotto/peer_job.h"

namespace sotto {

const char* Name(PeerRule rule);  // "average", "shared", "accumulate"
const char* Name(PeerUnit unit);  // "none", "sample", "device"

}  // namespace sotto

namespace sotto::server {

enum class Topology { kServer, kPeers };
const char* Name(Topology topology);  // "server", "peers"

// In which order the nodes take their steps.
enum class PeerOrder {
  kTurns,   // in each turn node 0, 1, ..., M - 1
  kRandom,  // in each turn every node once, in an order that is drawn anew
};
const char* Name(PeerOrder order);  // "turns", "random"

// How much noise an epsilon asks for.
enum class PeerNoise {
  kSound,      // as much as the accountants need for the joint release of all outputs
  kPublished,  // the paper's Theorem 2: epsilon for each output alone, and L = 1
};
const char* Name(PeerNoise noise);  // "sound", "published"

struct PeerOptions {
  Topology topology = Topology::kServer;
  uint32_t peers = 10;             // M
  std::string share = "coin:0.1";  // the policy
  PeerRule rule = PeerRule::kAverage;
  PeerOrder order = PeerOrder::kTurns;
  PeerUnit unit = PeerUnit::kSample;
  uint32_t passes = 1;
  float range = 8.0f;
  float error_clip = 0.0f;
  float feature_norm = 1.0f;
  std::optional<uint32_t> most_local_steps;  // absent: the policy's
  uint32_t publication_steps = 1;
  std::optional<uint32_t> most_releases;  // absent: the policy's
  PeerNoise noise = PeerNoise::kSound;
  std::optional<uint32_t> pca;  // 0: none; absent: kDefaultPca if no model is named
  std::string job_out;          // file for the job; empty: none
};

// Where no model is named and samples have more features than this.
constexpr uint32_t kDefaultPca = 50;
// The mini-batch of a node, where none is named.
constexpr uint32_t kDefaultPeerBatch = 50;

}  // namespace sotto::server

#endif  // SOTTO_SIM_PEER_OPTIONS_H_
