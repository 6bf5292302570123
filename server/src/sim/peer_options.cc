#include "sim/peer_options.h"

namespace sotto::server {

const char* Name(PeerOrder order) {
  switch (order) {
    case PeerOrder::kTurns:
      return "turns";
    case PeerOrder::kRandom:
      return "random";
  }
  return "unknown";
}

const char* Name(PeerNoise noise) {
  switch (noise) {
    case PeerNoise::kSound:
      return "sound";
    case PeerNoise::kPublished:
      return "published";
  }
  return "unknown";
}

}  // namespace sotto::server
