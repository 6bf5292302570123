// What a directory must remember: the newest versions, and how far its nodes are. Part of
// sotto::server/peers.
//
// Plain values: any thread may read them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sotto/keys.h"
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

}  // namespace sotto::server
