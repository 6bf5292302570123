#include "sim/peer_options.h"

#include "sotto/peer/peer_options.h"

namespace sotto {

const char* Name(PeerRule rule) {
  return rule > PeerRule::kAccumulate ? "unknown" : posix::NameOf(rule);
}

const char* Name(PeerUnit unit) {
  return unit > PeerUnit::kDevice ? "unknown" : posix::NameOf(unit);
}

}  // namespace sotto

namespace sotto::server {

const char* Name(Topology topology) {
  switch (topology) {
    case Topology::kServer:
      return "server";
    case Topology::kPeers:
      return "peers";
  }
  return "unknown";
}

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
