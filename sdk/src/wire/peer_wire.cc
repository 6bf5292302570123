#include "sotto/peer_wire.h"

#include "sotto/publication.h"
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

sotto_peer_Publication ToWire(const PeerHead& head) {
  return {head.version, head.publisher, View(ByteSpan(head.digest)), head.size};
}

// False if the digest has another size.
bool FromWire(const sotto_peer_Publication& wire, PeerHead* head) {
  if (wire.digest.size != kSha256Size) return false;
  head->version = wire.version;
  head->publisher = wire.publisher;
  __builtin_memcpy(head->digest, wire.digest.data, kSha256Size);
  head->size = wire.size;
  return true;
}

// An absent head is version 0, and only that.
bool HeadFromWire(bool is_there, const sotto_peer_Publication& wire, PeerHead* head) {
  *head = PeerHead();
  return !is_there || (wire.version != 0 && FromWire(wire, head));
}

sotto_peer_PeerRequest ToWire(const PeerRequest& r) {
  sotto_peer_PeerRequest wire{};
  auto& m = wire.message;
  switch (r.kind) {
    case PeerRequest::Kind::kJoin:
      wire.which_message = sotto_peer_PeerRequest_join_tag;
      m.join = {r.version, View(r.job_id), r.max_frame, View(r.address), !r.has_public_policy};
      break;
    case PeerRequest::Kind::kGreet:
      wire.which_message = sotto_peer_PeerRequest_greet_tag;
      m.greet = {r.version, View(r.job_id), r.max_frame};
      break;
    case PeerRequest::Kind::kLease:
      wire.which_message = sotto_peer_PeerRequest_lease_tag;
      m.lease = {r.step};
      break;
    case PeerRequest::Kind::kRelease:
      wire.which_message = sotto_peer_PeerRequest_release_tag;
      m.release = {r.fence};
      break;
    case PeerRequest::Kind::kCommit:
      wire.which_message = sotto_peer_PeerRequest_commit_tag;
      m.commit = {true, ToWire(r.publication), View(r.previous), r.fence};
      break;
    case PeerRequest::Kind::kFinished:
      wire.which_message = sotto_peer_PeerRequest_finished_tag;
      break;
    case PeerRequest::Kind::kRosterEntry:
      wire.which_message = sotto_peer_PeerRequest_roster_entry_tag;
      m.roster_entry = {r.node};
      break;
    case PeerRequest::Kind::kGetPublication:
      wire.which_message = sotto_peer_PeerRequest_get_publication_tag;
      m.get_publication = {true, ToWire(r.publication), r.offset};
      break;
    case PeerRequest::Kind::kStage:
      wire.which_message = sotto_peer_PeerRequest_stage_tag;
      m.stage = {true, ToWire(r.publication), r.offset, View(r.bytes)};
      break;
    case PeerRequest::Kind::kNone:
      break;
  }
  return wire;
}

// False for an unknown message, and for a publication whose digest has another size.
bool FromWire(const sotto_peer_PeerRequest& wire, PeerRequest* r) {
  const auto& m = wire.message;
  switch (wire.which_message) {
    case sotto_peer_PeerRequest_join_tag:
      r->kind = PeerRequest::Kind::kJoin;
      r->version = m.join.version;
      r->job_id = View(m.join.job);
      r->max_frame = m.join.max_frame;
      r->address = View(m.join.address);
      r->has_public_policy = !m.join.private_policy;
      return true;
    case sotto_peer_PeerRequest_greet_tag:
      r->kind = PeerRequest::Kind::kGreet;
      r->version = m.greet.version;
      r->job_id = View(m.greet.job);
      r->max_frame = m.greet.max_frame;
      return true;
    case sotto_peer_PeerRequest_lease_tag:
      r->kind = PeerRequest::Kind::kLease;
      r->step = m.lease.step;
      return true;
    case sotto_peer_PeerRequest_release_tag:
      r->kind = PeerRequest::Kind::kRelease;
      r->fence = m.release.fence;
      return true;
    case sotto_peer_PeerRequest_commit_tag:
      r->kind = PeerRequest::Kind::kCommit;
      r->previous = View(m.commit.previous);
      r->fence = m.commit.fence;
      return FromWire(m.commit.publication, &r->publication);
    case sotto_peer_PeerRequest_finished_tag:
      r->kind = PeerRequest::Kind::kFinished;
      return true;
    case sotto_peer_PeerRequest_roster_entry_tag:
      r->kind = PeerRequest::Kind::kRosterEntry;
      r->node = m.roster_entry.node;
      return true;
    case sotto_peer_PeerRequest_get_publication_tag:
      r->kind = PeerRequest::Kind::kGetPublication;
      r->offset = m.get_publication.offset;
      return FromWire(m.get_publication.publication, &r->publication);
    case sotto_peer_PeerRequest_stage_tag:
      r->kind = PeerRequest::Kind::kStage;
      r->offset = m.stage.offset;
      r->bytes = View(m.stage.bytes);
      return FromWire(m.stage.publication, &r->publication);
  }
  return false;
}

sotto_peer_PeerReply ToWire(const PeerReply& r) {
  sotto_peer_PeerReply wire{};
  auto& m = wire.message;
  const bool has_head = r.head.version != 0;
  switch (r.kind) {
    case PeerReply::Kind::kWelcome:
      wire.which_message = sotto_peer_PeerReply_welcome_tag;
      m.welcome = {r.node, r.max_frame, r.nodes, r.has_relay, has_head, ToWire(r.head)};
      break;
    case PeerReply::Kind::kGranted:
      wire.which_message = sotto_peer_PeerReply_granted_tag;
      m.granted = {r.fence,         r.wait_ms, has_head, ToWire(r.head), r.parent.version != 0,
                   ToWire(r.parent)};
      break;
    case PeerReply::Kind::kWait:
      wire.which_message = sotto_peer_PeerReply_wait_tag;
      m.wait = {r.wait_ms};
      break;
    case PeerReply::Kind::kChunk:
      wire.which_message = sotto_peer_PeerReply_chunk_tag;
      m.chunk = {View(r.bytes)};
      break;
    case PeerReply::Kind::kStaged:
      wire.which_message = sotto_peer_PeerReply_staged_tag;
      m.staged = {r.offset};
      break;
    case PeerReply::Kind::kDone:
      wire.which_message = sotto_peer_PeerReply_done_tag;
      m.done = {r.accepted, has_head, ToWire(r.head)};
      break;
    case PeerReply::Kind::kEntry:
      wire.which_message = sotto_peer_PeerReply_entry_tag;
      m.entry = {r.node, View(r.device_id), View(r.address), View(ByteSpan(r.pair_key.bytes))};
      break;
    case PeerReply::Kind::kError:
      wire.which_message = sotto_peer_PeerReply_error_tag;
      m.error = {static_cast<uint32_t>(r.code), r.final, r.wait_ms};
      break;
  }
  return wire;
}

// False for an unknown message, and for a head, a digest or a key of another size.
bool FromWire(const sotto_peer_PeerReply& wire, PeerReply* r) {
  const auto& m = wire.message;
  switch (wire.which_message) {
    case sotto_peer_PeerReply_welcome_tag:
      r->kind = PeerReply::Kind::kWelcome;
      r->node = m.welcome.node;
      r->max_frame = m.welcome.max_frame;
      r->nodes = m.welcome.nodes;
      r->has_relay = m.welcome.has_relay;
      return HeadFromWire(m.welcome.has_head, m.welcome.head, &r->head);
    case sotto_peer_PeerReply_granted_tag:
      r->kind = PeerReply::Kind::kGranted;
      r->fence = m.granted.fence;
      r->wait_ms = m.granted.lease_ms;
      return HeadFromWire(m.granted.has_head, m.granted.head, &r->head) &&
             HeadFromWire(m.granted.has_parent, m.granted.parent, &r->parent);
    case sotto_peer_PeerReply_wait_tag:
      r->kind = PeerReply::Kind::kWait;
      r->wait_ms = m.wait.wait_ms;
      return true;
    case sotto_peer_PeerReply_chunk_tag:
      r->kind = PeerReply::Kind::kChunk;
      r->bytes = View(m.chunk.bytes);
      return true;
    case sotto_peer_PeerReply_staged_tag:
      r->kind = PeerReply::Kind::kStaged;
      r->offset = m.staged.offset;
      return true;
    case sotto_peer_PeerReply_done_tag:
      r->kind = PeerReply::Kind::kDone;
      r->accepted = m.done.accepted;
      return HeadFromWire(m.done.has_head, m.done.head, &r->head);
    case sotto_peer_PeerReply_entry_tag:
      if (m.entry.pair_key.size != kKeySize) return false;
      r->kind = PeerReply::Kind::kEntry;
      r->node = m.entry.node;
      r->device_id = View(m.entry.device);
      r->address = View(m.entry.address);
      __builtin_memcpy(r->pair_key.bytes, m.entry.pair_key.data, kKeySize);
      return true;
    case sotto_peer_PeerReply_error_tag:
      r->kind = PeerReply::Kind::kError;
      r->code = KnownErrorCode(m.error.code);
      r->final = m.error.final;
      r->wait_ms = m.error.retry_after_ms;
      return true;
  }
  return false;
}

}  // namespace

Status EncodePeerRequest(const PeerRequest& request, uint32_t max_frame, MutableByteSpan out,
                         size_t* size) {
  if (!IsWithinLimits(request)) return Status::kInvalidArgument;
  const sotto_peer_PeerRequest wire = ToWire(request);
  return EncodeFrame(sotto_peer_PeerRequest_fields, &wire, max_frame, out, size);
}

Status EncodePeerReply(const PeerReply& reply, uint32_t max_frame, MutableByteSpan out,
                       size_t* size) {
  if (!IsWithinLimits(reply)) return Status::kInvalidArgument;
  const sotto_peer_PeerReply wire = ToWire(reply);
  return EncodeFrame(sotto_peer_PeerReply_fields, &wire, max_frame, out, size);
}

Status DecodePeerRequest(ByteSpan body, PeerRequest* request) {
  sotto_peer_PeerRequest wire{};
  PeerRequest result;
  if (!DecodeFrame(body, sotto_peer_PeerRequest_fields, &wire) || !FromWire(wire, &result) ||
      !IsWithinLimits(result)) {
    return Status::kMalformed;
  }
  *request = result;
  return Status::kOk;
}

Status DecodePeerReply(ByteSpan body, PeerReply* reply) {
  sotto_peer_PeerReply wire{};
  PeerReply result = *reply;
  if (!DecodeFrame(body, sotto_peer_PeerReply_fields, &wire) || !FromWire(wire, &result) ||
      !IsWithinLimits(result)) {
    return Status::kMalformed;
  }
  *reply = result;
  return Status::kOk;
}

}  // namespace sotto
