#include "sotto/peer_wire.h"

#include "sotto/publication.h"
#include "wire/fields.h"
#include "wire/nanopb_frame.h"
#include "wire/peer.pb.h"

namespace sotto {
namespace {

bool IsZero(ByteSpan bytes) {
  uint8_t any = 0;
  for (const uint8_t byte : bytes) any |= byte;
  return any == 0;
}

bool IsAddress(ByteSpan address) {
  if (address.size() > kMaxPeerAddressSize) return false;
  for (const uint8_t c : address) {
    if (c <= ' ' || c > '~') return false;
  }
  return true;
}

// A publication that somebody has made, or is to make.
bool IsPublication(const PeerHead& head) {
  return head.version != 0 && head.size >= kPublicationHeaderSize;
}

bool IsHead(const PeerHead& head) {
  if (head.version != 0) return IsPublication(head);
  return head.publisher == 0 && head.size == 0 && IsZero(head.digest);
}

bool IsWithinLimits(const PeerRequest& r) {
  switch (r.kind) {
    case PeerRequest::Kind::kJoin:
    case PeerRequest::Kind::kGreet:
      return r.version != kPeerProtocolVersion ||
             (r.job_id.size() == kJobIdSize && IsMaxFrame(r.max_frame) && IsAddress(r.address));
    case PeerRequest::Kind::kCommit:
      return IsPublication(r.publication) && r.previous.size() == kSha256Size;
    case PeerRequest::Kind::kGetPublication:
      return IsPublication(r.publication) && r.offset < r.publication.size;
    case PeerRequest::Kind::kStage:
      return IsPublication(r.publication) && !r.bytes.empty() && r.offset < r.publication.size &&
             r.bytes.size() <= r.publication.size - r.offset;
    case PeerRequest::Kind::kLease:
    case PeerRequest::Kind::kRelease:
    case PeerRequest::Kind::kFinished:
    case PeerRequest::Kind::kRosterEntry:
      return true;
    case PeerRequest::Kind::kNone:
      break;
  }
  return false;
}

bool IsWithinLimits(const PeerReply& r) {
  switch (r.kind) {
    case PeerReply::Kind::kWelcome:
      return IsMaxFrame(r.max_frame) && IsHead(r.head) && r.node < r.nodes;
    case PeerReply::Kind::kGranted:
      return IsHead(r.head) && IsHead(r.parent) &&
             (r.parent.version == 0 || r.parent.version < r.head.version);
    case PeerReply::Kind::kDone:
      return IsHead(r.head);
    case PeerReply::Kind::kChunk:
      return !r.bytes.empty();
    case PeerReply::Kind::kEntry:
      return IsAddress(r.address) && IsValidDeviceId(r.device_id);
    case PeerReply::Kind::kError:
      return KnownErrorCode(static_cast<uint32_t>(r.code)) == r.code;
    case PeerReply::Kind::kWait:
    case PeerReply::Kind::kStaged:
      return true;
  }
  return false;
}

// What follows has a function for each direction in one: see fields.h.

template <class Way, class Wire, class Ours>
void PublicationFields(Way& way, Wire& wire, Ours& head) {
  way(wire.version, head.version);
  way(wire.publisher, head.publisher);
  way(wire.digest, head.digest);
  way(wire.size, head.size);
}

// A publication that the message has always. Not inlined, as the others below: many messages have
// one.
[[gnu::noinline]] void Named(Packing& way, bool& is_there, sotto_peer_Publication& wire,
                             const PeerHead& head) {
  is_there = true;
  PublicationFields(way, wire, head);
}
void Named(Unpacking& way, bool, const sotto_peer_Publication& wire, PeerHead& head) {
  PublicationFields(way, wire, head);
}

// A head that may be absent: it is version 0, and only that.
[[gnu::noinline]] void Optional(Packing& way, bool& is_there, sotto_peer_Publication& wire,
                                const PeerHead& head) {
  is_there = head.version != 0;
  PublicationFields(way, wire, head);
}
void Optional(Unpacking& way, bool is_there, const sotto_peer_Publication& wire, PeerHead& head) {
  head = PeerHead();
  if (!is_there) return;
  if (wire.version == 0) return way.Refuse();
  PublicationFields(way, wire, head);
}

void Opposite(Packing&, bool& wire, bool ours) { wire = !ours; }
void Opposite(Unpacking&, bool wire, bool& ours) { ours = !wire; }

// False for an unknown message.
template <class Way, class Wire, class Ours>
bool RequestFields(Way& way, Wire& wire, Ours& r) {
  using Kind = PeerRequest::Kind;
  auto& m = wire.message;
  if (way.Is(wire, sotto_peer_PeerRequest_join_tag, r, Kind::kJoin)) {
    way(m.join.version, r.version);
    way(m.join.job, r.job_id);
    way(m.join.max_frame, r.max_frame);
    way(m.join.address, r.address);
    Opposite(way, m.join.private_policy, r.has_public_policy);
  } else if (way.Is(wire, sotto_peer_PeerRequest_greet_tag, r, Kind::kGreet)) {
    way(m.greet.version, r.version);
    way(m.greet.job, r.job_id);
    way(m.greet.max_frame, r.max_frame);
  } else if (way.Is(wire, sotto_peer_PeerRequest_lease_tag, r, Kind::kLease)) {
    way(m.lease.step, r.step);
  } else if (way.Is(wire, sotto_peer_PeerRequest_release_tag, r, Kind::kRelease)) {
    way(m.release.fence, r.fence);
  } else if (way.Is(wire, sotto_peer_PeerRequest_commit_tag, r, Kind::kCommit)) {
    Named(way, m.commit.has_publication, m.commit.publication, r.publication);
    way(m.commit.previous, r.previous);
    way(m.commit.fence, r.fence);
  } else if (way.Is(wire, sotto_peer_PeerRequest_roster_entry_tag, r, Kind::kRosterEntry)) {
    way(m.roster_entry.node, r.node);
  } else if (way.Is(wire, sotto_peer_PeerRequest_get_publication_tag, r, Kind::kGetPublication)) {
    auto& get = m.get_publication;
    Named(way, get.has_publication, get.publication, r.publication);
    way(get.offset, r.offset);
  } else if (way.Is(wire, sotto_peer_PeerRequest_stage_tag, r, Kind::kStage)) {
    Named(way, m.stage.has_publication, m.stage.publication, r.publication);
    way(m.stage.offset, r.offset);
    way(m.stage.bytes, r.bytes);
  } else {
    return way.Is(wire, sotto_peer_PeerRequest_finished_tag, r, Kind::kFinished);
  }
  return true;
}

template <class Way, class Wire, class Ours>
bool ReplyFields(Way& way, Wire& wire, Ours& r) {
  using Kind = PeerReply::Kind;
  auto& m = wire.message;
  if (way.Is(wire, sotto_peer_PeerReply_welcome_tag, r, Kind::kWelcome)) {
    way(m.welcome.node, r.node);
    way(m.welcome.max_frame, r.max_frame);
    way(m.welcome.nodes, r.nodes);
    way(m.welcome.has_relay, r.has_relay);
    Optional(way, m.welcome.has_head, m.welcome.head, r.head);
  } else if (way.Is(wire, sotto_peer_PeerReply_granted_tag, r, Kind::kGranted)) {
    way(m.granted.fence, r.fence);
    way(m.granted.lease_ms, r.wait_ms);
    Optional(way, m.granted.has_head, m.granted.head, r.head);
    Optional(way, m.granted.has_parent, m.granted.parent, r.parent);
  } else if (way.Is(wire, sotto_peer_PeerReply_wait_tag, r, Kind::kWait)) {
    way(m.wait.wait_ms, r.wait_ms);
  } else if (way.Is(wire, sotto_peer_PeerReply_chunk_tag, r, Kind::kChunk)) {
    way(m.chunk.bytes, r.bytes);
  } else if (way.Is(wire, sotto_peer_PeerReply_staged_tag, r, Kind::kStaged)) {
    way(m.staged.offset, r.offset);
  } else if (way.Is(wire, sotto_peer_PeerReply_done_tag, r, Kind::kDone)) {
    way(m.done.accepted, r.accepted);
    Optional(way, m.done.has_head, m.done.head, r.head);
  } else if (way.Is(wire, sotto_peer_PeerReply_entry_tag, r, Kind::kEntry)) {
    way(m.entry.node, r.node);
    way(m.entry.device, r.device_id);
    way(m.entry.address, r.address);
    way(m.entry.pair_key, r.pair_key.bytes);
  } else if (way.Is(wire, sotto_peer_PeerReply_error_tag, r, Kind::kError)) {
    way(m.error.code, r.code);
    way(m.error.final, r.final);
    way(m.error.retry_after_ms, r.wait_ms);
  } else {
    return false;
  }
  return true;
}

}  // namespace

Status EncodePeerRequest(const PeerRequest& request, uint32_t max_frame, MutableByteSpan out,
                         size_t* size) {
  if (!IsWithinLimits(request)) return Status::kInvalidArgument;
  sotto_peer_PeerRequest wire{};
  Packing way;
  RequestFields(way, wire, request);
  return EncodeFrame(sotto_peer_PeerRequest_fields, &wire, max_frame, out, size);
}

Status EncodePeerReply(const PeerReply& reply, uint32_t max_frame, MutableByteSpan out,
                       size_t* size) {
  if (!IsWithinLimits(reply)) return Status::kInvalidArgument;
  sotto_peer_PeerReply wire{};
  Packing way;
  ReplyFields(way, wire, reply);
  return EncodeFrame(sotto_peer_PeerReply_fields, &wire, max_frame, out, size);
}

Status DecodePeerRequest(ByteSpan body, PeerRequest* request) {
  sotto_peer_PeerRequest wire{};
  Unpacking way;
  PeerRequest result;
  if (!DecodeFrame(body, sotto_peer_PeerRequest_fields, &wire) ||
      !RequestFields(way, wire, result) || !way.is_valid() || !IsWithinLimits(result)) {
    return Status::kMalformed;
  }
  *request = result;
  return Status::kOk;
}

Status DecodePeerReply(ByteSpan body, PeerReply* reply) {
  sotto_peer_PeerReply wire{};
  Unpacking way;
  PeerReply result = *reply;
  if (!DecodeFrame(body, sotto_peer_PeerReply_fields, &wire) || !ReplyFields(way, wire, result) ||
      !way.is_valid() || !IsWithinLimits(result)) {
    return Status::kMalformed;
  }
  *reply = result;
  return Status::kOk;
}

}  // namespace sotto
