#include "sim/peer_fields.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>
#include <string>

#include "sotto/policy/policies.h"

namespace sotto::server {
namespace {

using Fields = std::vector<Field<SimulationRequest>>;

constexpr auto Row = RowOf<SimulationRequest>;

// Options of a fleet and of a job that mean the same for nodes without a server.
constexpr const char* kOfBoth[] = {
    "model",     "data",           "test",       "classes",       "samples-per-device",
    "partition", "partition-seed", "batch-size", "learning-rate", "weight-decay",
    "mechanism", "epsilon",        "delta",      "clip",          "seed",
    "seeds",     "json",           "model-out",  "threads",       "evaluate-every",
};

bool IsOfBoth(const std::string& name) {
  return std::find(std::begin(kOfBoth), std::end(kOfBoth), name) != std::end(kOfBoth);
}

bool IsOfPeers(const std::string& name) {
  const Fields& fields = SimulationFields();
  return std::any_of(fields.begin(), fields.end(), [&](const Field<SimulationRequest>& field) {
    return field.group == Group::kPeers && name == field.name;
  });
}

Fields Collaboration() {
  static const std::string kShareHelp = "when a node publishes: " + SharePolicyNames();
  return {
      Row("topology",
          "server: devices report to one; peers: nodes train among themselves, without a server")
          .In(Group::kPeers)
          .OneOf(Topology::kServer, Topology::kPeers)
          .Asked([](auto& request) -> auto& { return request.peers.topology; }),
      Row("peers", "nodes, M").In(Group::kPeers).Within({1, 10000}).Asked([
      ](auto& request) -> auto& { return request.peers.peers; }),
      Row("share", kShareHelp).In(Group::kPeers).Asked([](auto& request) -> auto& {
        return request.peers.share;
      }),
      Row("rule",
          "what a publication is made of: average: half the shared model, half the node's own; "
          "shared: steps on the shared model; accumulate: the shared model and all that the node "
          "has learned since")
          .In(Group::kPeers)
          .OneOf(PeerRule::kAverage, PeerRule::kShared, PeerRule::kAccumulate)
          .Asked([](auto& request) -> auto& { return request.peers.rule; }),
      Row("order", "turns: node after node; random: an order that is drawn anew for every turn")
          .In(Group::kPeers)
          .OneOf(PeerOrder::kTurns, PeerOrder::kRandom)
          .Asked([](auto& request) -> auto& { return request.peers.order; }),
  };
}

Fields StepsOfANode() {
  return {
      Row("passes", "over a node's samples; a partial last batch is dropped")
          .In(Group::kPeers)
          .Within({1, 65535})
          .Asked([](auto& request) -> auto& { return request.peers.passes; }),
      Row("range", "largest magnitude of a parameter")
          .In(Group::kPeers)
          .Within({0, 16, true})
          .Asked([](auto& request) -> auto& { return request.peers.range; }),
      Row("error-clip", "largest magnitude of an output's error; less needs less noise; 0: none")
          .In(Group::kPeers)
          .Within({0, 1})
          .Asked([](auto& request) -> auto& { return request.peers.error_clip; }),
      Row("feature-norm", "samples of a larger L2 norm are scaled down to it, for --unit sample")
          .In(Group::kPeers)
          .Within({0, 1024, true})
          .Asked([](auto& request) -> auto& { return request.peers.feature_norm; }),
      Row("most-local-steps", "that a publication carries; a node that took more drops them")
          .In(Group::kPeers)
          .Within({0, 1048576})
          .ByDefault("always 1, period:K K, coin:P what one in 1000 exceeds, else all")
          .Asked([](auto& request) -> auto& { return request.peers.most_local_steps; }),
      Row("publication-steps",
          "that a publication takes on the shared model, with noise once; with --share always a "
          "node hands the model over; not for --rule average")
          .In(Group::kPeers)
          .Within({1, 65535})
          .Asked([](auto& request) -> auto& { return request.peers.publication_steps; }),
      Row("pca",
          "take this many principal components of the training samples, as rows of norm "
          "--feature-norm; no epsilon covers the fit; 0: none")
          .In(Group::kPeers)
          .Within({0, 4096})
          .ByDefault("50 without --model if there are more features, else 0")
          .Asked([](auto& request) -> auto& { return request.peers.pca; }),
  };
}

Fields PrivacyOfANode() {
  return {
      Row("unit",
          "whom epsilon protects: sample: one sample of a node, convex models alone; device: all "
          "samples of a node; none: NO PRIVACY")
          .In(Group::kPeers)
          .OneOf(PeerUnit::kSample, PeerUnit::kDevice, PeerUnit::kNone)
          .Asked([](auto& request) -> auto& { return request.peers.unit; }),
      Row("most-releases", "publications of a node that --unit device pays for")
          .In(Group::kPeers)
          .Within({1, 1000000})
          .ByDefault("what the policy publishes; coin:P: what one node in 1000 exceeds")
          .Asked([](auto& request) -> auto& { return request.peers.most_releases; }),
      Row("peer-noise",
          "sound: --epsilon holds; published: the noise of the paper's Theorem 2, which counts "
          "each output alone, and the epsilon that it really has")
          .In(Group::kPeers)
          .OneOf(PeerNoise::kSound, PeerNoise::kPublished)
          .Asked([](auto& request) -> auto& { return request.peers.noise; }),
      Row("job-out",
          "write the job to this file: for `sotto directory` and `sotto-client --peer`, or as "
          "FILE.h "
          "for firmware")
          .In(Group::kPeers)
          .Asked([](auto& request) -> auto& { return request.peers.job_out; }),
  };
}

}  // namespace

Fields PeerFields() {
  Fields all;
  for (const Fields& part : {Collaboration(), StepsOfANode(), PrivacyOfANode()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

void RequireOptionsOfTopology(const SimulationRequest& request) {
  const bool is_peers = request.peers.topology == Topology::kPeers;
  for (const std::string& name : request.given) {
    if (name == "topology" || IsOfBoth(name) || IsOfPeers(name) == is_peers) continue;
    throw std::invalid_argument(
        fmt::format("--{} is for --topology {}", name, is_peers ? "server" : "peers"));
  }
}

}  // namespace sotto::server
