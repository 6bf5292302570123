// The messages between a node without a server and its directory, its relay and its neighbours, as
// structs. Part of sotto/wire.
//
// server/PEER_PROTOCOL.md specifies them. A node sends a request, the other side answers each with
// one reply. All requests are idempotent: a repeated one gets the same answer and changes nothing.
// Spans point to memory of the message's maker. Plain data: one thread at a time.
#pragma once

#include <cstdint>

#include "sotto/crypto.h"
#include "sotto/keys.h"
#include "sotto/messages.h"

namespace sotto {

constexpr uint32_t kPeerProtocolVersion = 1;

// The most bytes of a node's address, "HOST:PORT".
constexpr size_t kMaxPeerAddressSize = 128;

// A published model by name. version 0 is the job's initial model: the rest is then zeros.
struct PeerHead {
  uint32_t version = 0;
  uint32_t publisher = 0;            // number in the roster
  uint8_t digest[kSha256Size] = {};  // of its bytes
  uint32_t size = 0;                 // bytes
};

struct PeerRequest {
  enum class Kind : uint8_t {
    kNone,
    kJoin,            // to the directory: first in a session
    kLease,           // to the directory: may this node publish?
    kRelease,         // to the directory: gives a lease back without a publication
    kCommit,          // to the directory: the bytes are fixed, and staged if there is a relay
    kFinished,        // to the directory: this node takes no further step
    kRosterEntry,     // to the directory: address and pair key of a node
    kGetPublication,  // to the relay, or to the node that published
    kStage,           // to the relay: bytes of a publication
    kGreet,           // to a node: first in a session with it
  };
  Kind kind = Kind::kNone;

  // kJoin, kGreet
  uint32_t version = kPeerProtocolVersion;
  ByteSpan job_id;                        // [kJobIdSize]
  uint32_t max_frame = kDefaultMaxFrame;  // of the sender
  ByteSpan address;                       // kJoin: where this node listens; empty: it does not
  bool has_public_policy = true;          // kJoin: for the operator; a node states no epsilon else

  uint32_t step = 0;   // kLease: the node's next step. It asks for no earlier step any more
  uint32_t fence = 0;  // kRelease, kCommit: of the lease
  uint32_t node = 0;   // kRosterEntry

  // kGetPublication: which, and from which byte. kStage: of which publication the bytes are, and
  // where they begin. kCommit: what is to become the head.
  PeerHead publication;
  uint32_t offset = 0;
  ByteSpan bytes;  // kStage; at least 1
  // kCommit: the digest of the head at the lease, zeros for version 0. [kSha256Size]
  ByteSpan previous;
};

struct PeerReply {
  enum class Kind : uint8_t {
    kWelcome,  // to kJoin and kGreet
    kGranted,  // to kLease
    kWait,     // to kLease: ask again after wait_ms
    kChunk,    // to kGetPublication
    kStaged,   // to kStage: `offset` bytes are there
    kDone,     // to kCommit, kRelease, kFinished
    kEntry,    // to kRosterEntry
    kError,
  };
  Kind kind = Kind::kError;

  // kWelcome
  uint32_t node = 0;  // the sender's number in the roster; kGreet: the listener's
  uint32_t max_frame = kDefaultMaxFrame;  // of the answering side
  uint32_t nodes = 0;                     // in the roster
  bool has_relay = false;

  // kWelcome of the directory, kGranted, kDone: the head. kDone of a commit: `accepted` says
  // whether the node's publication has become a version, now or before.
  PeerHead head;
  PeerHead parent;  // kGranted: of the head, for a node that cannot get it; version 0: none
  bool accepted = false;

  uint32_t fence = 0;    // kGranted: rises with each lease
  uint32_t wait_ms = 0;  // kGranted: the lease ends after that; kWait; kError: retry after that

  uint32_t offset = 0;  // kStaged
  ByteSpan bytes;       // kChunk: not empty
  ByteSpan address;     // kEntry: empty: the node does not listen
  ByteSpan device_id;   // kEntry
  Key pair_key;         // kEntry: TLS secret between the two nodes

  ErrorCode code = ErrorCode::kUnknown;  // kError
  bool final = false;
};

}  // namespace sotto
