// A node without a server on Linux: its dialogue until its last step. Part of ports/posix/client.
//
// sotto/peer_node.h holds the dialogue. This class adds connections to the directory and to one
// neighbour at a time, pauses between tries, the ledger's file, a NeighbourServer for a node that
// listens, and the reports to a PeerReporter. One process at a time uses a ledger: a lock file
// beside it sees to that.
//
// What ends the node's part: its last step, a ledger that does not pay for another publication, a
// final error of a directory that has proved itself; and the owner, by --give-up or a stop signal,
// which is noticed as in device.h. All other failures are tried again.
//
// It owns all of the node's memory. One thread at a time, beside the NeighbourServer's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connection.h"
#include "ending.h"
#include "neighbour_server.h"
#include "options.h"
#include "public_loss.h"
#include "reporter.h"
#include "share.h"
#include "sotto/data/device_share.h"
#include "sotto/peer_node.h"
#include "sotto/policy/policies.h"
#include "sotto/posix/key_file.h"
#include "sotto/posix/lock_file.h"
#include "sotto/posix/record_store.h"
#include "tries.h"

namespace sotto::posix {

class PeerDevice {
 public:
  // Throws std::invalid_argument for options that do not suit the model or the data; a FileError
  // for a ledger that is damaged or in use; std::runtime_error if the machine fails.
  //   options   outlive the device
  //   model     constant; outlives the device
  //   reporter  outlives the device; told of everything but the ending
  PeerDevice(const ClientOptions& options, const SharedModel& model, const DeviceKey& key,
             PeerReporter& reporter);
  PeerDevice(const PeerDevice&) = delete;
  PeerDevice& operator=(const PeerDevice&) = delete;

  // Takes the node's steps until it can take no further one, and closes the connections. Blocks.
  // Call it once. Throws std::runtime_error if the machine fails: no entropy, the ledger cannot be
  // written.
  Ending Run();

  const ModelInfo& model() const { return model_; }
  const PeerTrainer& trainer() const { return trainer_; }
  const PeerJob& job() const { return job_; }
  const SharePolicyInfo& policy() const { return policy_row_; }
  Span<const float> local() const { return {local_.data(), local_.size()}; }  // w_L
  // The newest publication that the node has; the initial model before the first one.
  Span<const float> head() const { return {head_.data(), head_.size()}; }

 private:
  void Begin();
  PeerBuffers Buffers();
  SharePolicyContext PolicyContext();
  PeerNodeConfig NodeConfig();
  [[noreturn]] void ThrowBegin(Status status) const;

  Ending RunUntilEnd();
  std::optional<Ending> Step();
  std::optional<Ending> Talk();
  void ReportStep(PeerNode::State before);
  void TakeReply(Connection& link, const PeerReply& reply);
  Ending EndingOfNode();

  Connection& LinkTo(const PeerPlace& place);
  Status Exchange(Connection& link, const PeerRequest& request, PeerReply* reply);
  void LoseLink(Connection& link, Status status);
  void CloseIdleLink();

  void LearnRoster();
  void Serve();
  void ServeOn();
  std::optional<uint32_t> AskHead();

  const ClientOptions& options_;
  const ModelInfo& model_;
  const DeviceKey key_;
  const PeerJob job_;
  const SharePolicyInfo& policy_row_;
  PeerReporter& reporter_;
  LockFile lock_;
  RecordStore store_;
  Share share_;
  DeviceShare samples_;  // reads share_

  std::vector<float> local_, work_, head_, last_, scratch_;
  std::vector<uint32_t> indices_;
  std::vector<uint8_t> publication_, fetched_;

  PeerTrainer trainer_;
  SeededPeerEntropy entropy_;  // with --seed
  std::unique_ptr<PublicLossData> public_loss_;
  std::unique_ptr<OwnedSharePolicy> policy_;
  std::string address_;
  std::unique_ptr<PeerNode> node_;
  std::unique_ptr<NeighbourServer> server_;

  Connection directory_;
  DeviceKey pair_key_;  // of neighbour_
  std::unique_ptr<Connection> neighbour_;
  uint32_t neighbour_number_ = 0;
  bool is_new_link_ = false;
  bool is_reported_joined_ = false;
  bool is_serving_on_ = false;  // after the last step
  uint32_t roster_nodes_ = 0;   // that the server knows
  Tries tries_;
  uint64_t directory_used_ms_ = 0;  // its link
};

}  // namespace sotto::posix
