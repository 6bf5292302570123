// A training without a server in one process. Part of sotto::server/sim.
//
// Each node is the SDK's PeerTrainer, which a board links, with its persistent store in RAM. Nodes
// take their steps one after the other, so each publication builds on the one before. Nodes have
// the names, secrets and samples of a Fleet of the same key: real nodes with the keys of `sotto
// keys new --seed` train the same model.
//
// Reentrant: calls of SimulatePeers() may run at the same time. Threads serve evaluations alone, so
// results do not depend on their number.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "evaluation/evaluation.h"
#include "sotto/crypto.h"
#include "sotto/data/dataset.h"
#include "sotto/data/partitions.h"
#include "sotto/model/model_file.h"
#include "sotto/peer_job.h"

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

struct PeersConfig {
  posix::SharedModel model;
  PeerJob job;
  uint32_t peers = 10;
  std::string share = "never";  // the policy, see sotto/policy/policies.h
  PeerOrder order = PeerOrder::kTurns;
  uint32_t samples_per_peer = 6000;
  std::string partition = kDefaultPartition;
  std::optional<uint64_t> partition_seed;  // absent: the run's
  Key run_key;             // posix::RunKey(): names, secrets, samples and order follow from it
  bool is_seeded = false;  // noise follows from it, too; else noise is the system's entropy
  int threads = 1;
  // The shared model and the nodes' own are evaluated before the first turn, after every turn whose
  // number divides by this one, and at the end. 0: before and at the end alone.
  uint32_t evaluate_every = 0;
  std::function<bool()> stop;  // asked before each turn; true ends the simulation. Null: never
};

// The samples that each node of such a training holds. Throws as MakePartition() does.
Partition PeerPartition(const PeersConfig& config, const Dataset& data);

// The most nodes that one sample lies on, at least 1.
uint32_t MostCopies(const Partition& partition, size_t samples);

// The first samples of the test set that the policy deep-q-public computes losses of published
// models on: they count as public. Accuracies are over all test samples.
constexpr size_t kPublicSamples = 500;

struct PublicationRecord {
  uint32_t version = 0;  // from 1
  uint32_t node = 0;
  uint32_t step = 0;         // of the node, from 0; the first one of the publication
  uint32_t local_steps = 0;  // that it carries, or that were dropped as too many
  uint32_t lag = 0;  // versions of other nodes since the node published last, or since version 0
  uint32_t bytes = 0;
};

struct PeerNodeReport {
  uint32_t samples = 0;
  uint32_t steps = 0;
  uint32_t publications = 0;
  uint32_t passes = 0;       // in which it published
  uint32_t refused = 0;      // decisions to publish that the ledger did not pay for
  uint64_t bytes = 0;        // published
  uint64_t rho_q40 = 0;      // of the ledger, zCDP in units of 2^-40, of the job's unit
  std::vector<float> local;  // [model.parameters] its own model
  Evaluation own;            // of that
};

struct PeersEvaluation {
  uint32_t turn = 0;     // after this many turns
  uint32_t version = 0;  // of the shared model
  Evaluation shared;     // of the newest published model
  double mean_own = 0;   // over nodes, of the accuracy of a node's own model; NaN: no classes
  double mean_own_loss = 0;
};

struct PeersResult {
  std::vector<PublicationRecord> publications;  // in order
  std::vector<PeerNodeReport> nodes;
  std::vector<PeersEvaluation> evaluations;  // the last one is of the end of the run
  std::vector<float> shared;                 // [model.parameters] the newest published model
  uint32_t turns = 0;
  uint64_t local_steps = 0;
  bool has_public_policy = true;
  bool stopped = false;
  double wall_seconds = 0;

  uint64_t bytes() const;
  uint64_t steps() const;  // of all nodes, with the steps of publications
  const PeersEvaluation& last() const { return evaluations.back(); }
};

// Runs all passes of all nodes. on_turn is called after every turn with its number and the number
// of turns.
// Throws std::invalid_argument for a bad configuration, a model that the job does not suit, data
// that does not fit, or a node without samples for one batch.
PeersResult SimulatePeers(const PeersConfig& config, const TrainTest& data,
                          const std::function<void(uint32_t turn, uint32_t turns)>& on_turn);

}  // namespace sotto::server
