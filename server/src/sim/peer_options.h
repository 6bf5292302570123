// The choices of a training without a server. Part of sotto::server/sim.
//
// Plain values: any thread may read them.
#pragma once

#include <cstdint>

namespace sotto::server {

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

// Where no model is named and samples have more features than this.
constexpr uint32_t kDefaultPca = 50;

}  // namespace sotto::server
