#include "sim/peer_options.h"

namespace sotto {

const char* Name(PeerRule rule) {
  switch (rule) {
    case PeerRule::kAverage:
      return "average";
    case PeerRule::kShared:
      return "shared";
    case PeerRule::kAccumulate:
      return "accumulate";
  }
  return "unknown";
}

const char* Name(PeerUnit unit) {
  switch (unit) {
    case PeerUnit::kNone:
      return "none";
    case PeerUnit::kSample:
      return "sample";
    case PeerUnit::kDevice:
      return "device";
  }
  return "unknown";
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
