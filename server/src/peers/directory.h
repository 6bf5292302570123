// The directory of nodes without a server, and its relay, without sockets and clock. Part of
// sotto::server/peers.
//
// It keeps the roster, the head (which publication is the newest model) and a lease, so that one
// node at a time publishes. server/PEER_PROTOCOL.md specifies what it answers. Invariants:
//   1. The head never goes back. A version is one publication for good.
//   2. What an answer says is durable before the answer exists (DirectoryLog).
//   3. At most one lease is in force. Fences rise with each lease, over restarts, too.
//   4. A publication becomes the head only by compare-and-swap: `previous` is the head's digest,
//      its version the next one, its publisher the sender, and no other lease is in force. With a
//      relay its bytes are here, hash to the digest, and are a publication of this job, version and
//      node.
//   5. A repeated request gets the same answer and changes nothing.
//   6. Memory is bounded: the head, its parent, and one publication that is being staged.
//
// A lease ends with its publication, with kRelease, or after lease_ms. Then the directory grants
// the next lease to the first node that asks (kAny), or in the simulator's order (kTurns): by step,
// then by number. With kTurns a node has its turn once every other unfinished node has said that it
// asks for no lease before that turn. Such a run waits for a node that is gone.
//
// An exception of the log leaves the directory unchanged; the caller ends it then. One thread at a
// time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sotto/keys.h"
#include "sotto/model_info.h"
#include "sotto/peer_job.h"
#include "sotto/peer_messages.h"

namespace sotto::server {

// A member of the roster. Its number is its place in the roster, for good.
struct DirectoryNode {
  std::string id;
  std::string address;        // where it listens, as it told last; empty: it does not
  uint32_t publications = 0;  // that became a version
  PeerHead last;              // the last of them; version 0: none
  bool is_finished = false;
  bool has_private_policy = false;  // it states no epsilon
};

struct DirectoryState {
  uint8_t job_id[kJobIdSize] = {};
  bool has_relay = false;
  PeerHead head;
  PeerHead parent;      // of the head
  uint32_t fences = 0;  // no lease had a larger fence; those below may not all have been given
  std::vector<DirectoryNode> nodes;
};

// Version, digest, publisher and size.
bool IsSamePublication(const PeerHead& a, const PeerHead& b);

// Where a directory keeps its state.
class DirectoryLog {
 public:
  DirectoryLog() = default;
  DirectoryLog(const DirectoryLog&) = delete;
  DirectoryLog& operator=(const DirectoryLog&) = delete;
  virtual ~DirectoryLog() = default;

  // Replaces the state as a whole; it is durable when the call returns. Throws std::runtime_error
  // otherwise: the old state or the new one is then there.
  //   head  the bytes of state.head if there is a relay and they are new, else empty
  virtual void Save(const DirectoryState& state, ByteSpan head) = 0;
};

enum class LeaseOrder { kAny, kTurns };
const char* Name(LeaseOrder order);  // "any", "turns"

struct DirectoryOptions {
  const ModelInfo* model = nullptr;
  PeerJob job;
  LeaseOrder order = LeaseOrder::kAny;
  uint64_t lease_ms = 30000;
  uint32_t max_frame = 16384;  // of the directory's link
  // A line for people: what happened. `is_detail`: for -v.
  std::function<void(const std::string& line, bool is_detail)> tell;
};

// How a roster begins, or goes on after a restart: the state's nodes, then those that are new.
//   ids  of all nodes, in the order of their numbers
// Throws std::runtime_error if the state is of another job or of other nodes.
void ContinueState(const ModelInfo& model, const PeerJob& job, bool has_relay,
                   const std::vector<std::string>& ids, DirectoryState* state);

// The TLS secret between two nodes: HKDF(directory's key, salt = none, info = key_label::kPair |
// the smaller id | 0 | the larger one), the same for both of them. Throws std::runtime_error if the
// cryptographic library fails.
Key PairKey(const Key& directory, const std::string& a, const std::string& b);

// One connection of a node. Its link has proved who it is.
struct DirectorySession {
  uint32_t node = 0;
  bool joined = false;
  uint32_t max_frame = kMinMaxFrame;  // of both sides
};

struct DirectoryCounts {
  uint64_t leases = 0;
  uint64_t expired = 0;    // of them, those after which another node got one
  uint64_t versions = 0;   // publications that became the head
  uint64_t stale = 0;      // commits that came too late
  uint64_t refused = 0;    // requests that no honest node sends
  uint64_t bytes_in = 0;   // of publications, staged
  uint64_t bytes_out = 0;  // of publications, fetched
};

class Directory {
 public:
  //   state  begun by ContinueState()
  //   key    of the directory, for pair keys
  //   head, parent  with a relay: the bytes of these two versions
  // The log outlives the directory. Throws std::invalid_argument for bytes that are not the
  // state's.
  Directory(const DirectoryOptions& options, DirectoryState state, const Key& key,
            std::vector<uint8_t> head, std::vector<uint8_t> parent, DirectoryLog* log);
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  // Answers a request. Spans of the answer point into the directory, valid until the next call.
  //   session  of the node that asks; changed by kJoin
  //   now_ms   of a clock that never goes back
  PeerReply Answer(DirectorySession* session, const PeerRequest& request, uint64_t now_ms);

  // Of a node that takes no part any more, because its device was revoked: nobody waits for it.
  void Exclude(uint32_t node) { excluded_[node] = true; }

  const DirectoryState& state() const { return state_; }
  const DirectoryCounts& counts() const { return counts_; }
  bool is_finished() const;   // all nodes are
  bool has_told_all() const;  // each node has been answered kFinished since the start
  // The bytes of the head's publication. Empty: version 0, or there is no relay.
  ByteSpan head_bytes() const { return {head_.data(), head_.size()}; }
  // The node that holds a lease now; absent: none.
  std::optional<uint32_t> lease_holder(uint64_t now_ms) const;

 private:
  struct Lease {
    uint32_t node = 0;
    uint32_t step = 0;
    uint32_t fence = 0;
    uint64_t end_ms = 0;
    bool is_given = false;
  };
  struct Staged {
    PeerHead name;
    std::vector<uint8_t> bytes;
  };

  PeerReply Join(DirectorySession* session, const PeerRequest& request);
  PeerReply AskLease(uint32_t node, uint32_t step, uint64_t now_ms);
  PeerReply Grant(uint32_t node, uint32_t step, uint64_t now_ms);
  PeerReply Granted(uint64_t now_ms) const;
  PeerReply Release(uint32_t node, uint32_t fence);
  PeerReply Commit(uint32_t node, const PeerRequest& request, uint64_t now_ms);
  PeerReply Finish(uint32_t node);
  PeerReply RosterEntry(uint32_t node, uint32_t other) const;
  PeerReply GetPublication(const DirectorySession& session, const PeerRequest& request);
  PeerReply Stage(uint32_t node, const PeerRequest& request, uint64_t now_ms);
  PeerReply Done(bool accepted) const;
  PeerReply Refuse(uint32_t node, ErrorCode code, const char* why);

  bool IsInForce(uint64_t now_ms) const { return lease_.is_given && now_ms < lease_.end_ms; }
  bool Holds(uint32_t node, uint64_t now_ms) const {
    return IsInForce(now_ms) && lease_.node == node;
  }
  bool MayCommit(uint32_t node, const PeerRequest& request, uint64_t now_ms) const;
  bool HasTurn(uint32_t node, uint32_t step) const;
  bool IsOut(uint32_t node) const { return excluded_[node] || state_.nodes[node].is_finished; }
  const char* WhyInvalid(uint32_t node) const;
  ErrorCode CodeOfName(uint32_t node, const PeerHead& name) const;
  void Accept(uint32_t node, const PeerHead& publication);
  void Tell(const std::string& line, bool is_detail = false) const;

  const DirectoryOptions options_;
  uint8_t job_id_[kJobIdSize] = {};
  DirectoryState state_;
  const Key key_;
  DirectoryLog& log_;
  DirectoryCounts counts_;
  std::vector<uint8_t> head_;    // with a relay
  std::vector<uint8_t> parent_;  // with a relay
  Staged staged_;
  Lease lease_;
  uint32_t last_fence_ = 0;  // given
  std::vector<bool> excluded_;
  std::vector<bool> told_;  // answered kFinished
  // kTurns: each node asks for no lease before this step; absent: it has not said so yet.
  std::vector<std::optional<uint32_t>> next_step_;
};

}  // namespace sotto::server
