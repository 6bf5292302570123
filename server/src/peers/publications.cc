// Publications at a directory: how one becomes the head, and the relay. Part of
// sotto::server/peers.
#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/bytes.h"
#include "peers/directory.h"
#include "sotto/peer_wire.h"
#include "sotto/publication.h"

namespace sotto::server {
namespace {

bool IsEqual(ByteSpan a, ByteSpan b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

}  // namespace

// Whether a node may publish under this name at all. kUnknown: yes.
ErrorCode Directory::CodeOfName(uint32_t node, const PeerHead& name) const {
  if (name.publisher != node) return ErrorCode::kMalformed;
  const bool is_too_large = name.size > MaxPublicationBytes(options_.model->parameters);
  return is_too_large ? ErrorCode::kTooLarge : ErrorCode::kUnknown;
}

bool Directory::MayCommit(uint32_t node, const PeerRequest& request, uint64_t now_ms) const {
  const bool is_next = request.publication.version == state_.head.version + 1 &&
                       IsEqual(request.previous, state_.head.digest);
  const bool is_shut_out =
      IsInForce(now_ms) && (lease_.node != node || lease_.fence != request.fence);
  return is_next && !is_shut_out;
}

PeerReply Directory::Commit(uint32_t node, const PeerRequest& request, uint64_t now_ms) {
  const PeerHead& name = request.publication;
  const ErrorCode code = CodeOfName(node, name);
  if (code != ErrorCode::kUnknown) return Refuse(node, code, "commits what it cannot publish");
  if (IsSamePublication(name, state_.nodes[node].last)) return Done(true);
  const bool is_here = !state_.has_relay ||
                       (IsSamePublication(name, staged_.name) && staged_.bytes.size() == name.size);
  if (!MayCommit(node, request, now_ms) || !is_here) {
    ++counts_.stale;
    Tell(fmt::format("{}: version {} came too late", state_.nodes[node].id, name.version), true);
    return Done(false);
  }
  if (state_.has_relay) {
    if (const char* why = WhyInvalid(node); why != nullptr) {
      staged_ = {};
      return Refuse(node, ErrorCode::kMalformed, why);
    }
  }
  Accept(node, name);
  return Done(true);
}

// What is wrong with the staged publication of this node. Null: nothing.
const char* Directory::WhyInvalid(uint32_t node) const {
  const ByteSpan bytes(staged_.bytes.data(), staged_.bytes.size());
  const auto digest = Sha256Of(bytes);
  if (!IsEqual({digest.data(), digest.size()}, staged_.name.digest)) {
    return "staged bytes of another digest";
  }
  PublicationHeader header;
  std::vector<float> parameters(options_.model->parameters);
  if (DecodePublication(bytes, options_.job.range, &header,
                        {parameters.data(), parameters.size()}) != Status::kOk) {
    return "staged what is no publication";
  }
  const bool is_its_own = IsEqual(header.job_id, job_id_) && header.node == node &&
                          header.version == staged_.name.version;
  return is_its_own ? nullptr : "staged a publication of another job, node or version";
}

// The head's successor is durable first.
void Directory::Accept(uint32_t node, const PeerHead& publication) {
  DirectoryState next = state_;
  next.parent = next.head;
  next.head = publication;
  next.nodes[node].last = publication;
  ++next.nodes[node].publications;
  log_.Save(next, {staged_.bytes.data(), staged_.bytes.size()});
  state_ = std::move(next);
  parent_ = std::move(head_);
  head_ = std::move(staged_.bytes);
  staged_ = {};
  ++counts_.versions;
  if (lease_.is_given && lease_.node == node) {
    next_step_[node] = lease_.step + 1;
    lease_ = {};
  }
  Tell(fmt::format("{}: version {}, {} bytes", state_.nodes[node].id, publication.version,
                   publication.size));
}

PeerReply Directory::Stage(uint32_t node, const PeerRequest& request, uint64_t now_ms) {
  const PeerHead& name = request.publication;
  if (!state_.has_relay) return Refuse(node, ErrorCode::kMalformed, "stages without a relay");
  const ErrorCode code = CodeOfName(node, name);
  if (code != ErrorCode::kUnknown) return Refuse(node, code, "stages what it cannot publish");
  PeerReply reply;
  reply.kind = PeerReply::Kind::kStaged;
  reply.offset = name.size;
  if (IsSamePublication(name, state_.nodes[node].last)) return reply;
  if (!Holds(node, now_ms)) return Refuse(node, ErrorCode::kNotSelected, "stages without a lease");
  if (name.version != state_.head.version + 1) {
    return Refuse(node, ErrorCode::kWrongAttempt, "stages what is not the next version");
  }
  if (!IsSamePublication(name, staged_.name)) staged_ = {name, {}};
  std::vector<uint8_t>& bytes = staged_.bytes;
  // The request's bytes are within the publication (peer_wire.h).
  const size_t known = bytes.size() - std::min<size_t>(bytes.size(), request.offset);
  const size_t repeated = std::min(known, request.bytes.size());
  if (!std::equal(request.bytes.begin(), request.bytes.begin() + repeated,
                  bytes.end() - static_cast<std::ptrdiff_t>(known))) {
    return Refuse(node, ErrorCode::kConflict, "stages other bytes in place of the first ones");
  }
  if (request.offset <= bytes.size()) {
    bytes.insert(bytes.end(), request.bytes.begin() + repeated, request.bytes.end());
    counts_.bytes_in += request.bytes.size() - repeated;
  }
  reply.offset = static_cast<uint32_t>(bytes.size());
  return reply;
}

PeerReply Directory::GetPublication(const DirectorySession& session, const PeerRequest& request) {
  const PeerHead& name = request.publication;
  const bool is_head = IsSamePublication(name, state_.head);
  PeerReply reply;
  if (!state_.has_relay || !(is_head || IsSamePublication(name, state_.parent))) {
    reply.code = ErrorCode::kWrongAttempt;  // the node looks for another version, or elsewhere
    reply.final = true;
    return reply;
  }
  const std::vector<uint8_t>& bytes = is_head ? head_ : parent_;
  const size_t rest = bytes.size() - request.offset;
  const size_t count = std::min<size_t>(rest, MaxPublicationChunkBytes(session.max_frame));
  reply.kind = PeerReply::Kind::kChunk;
  reply.bytes = {bytes.data() + request.offset, count};
  counts_.bytes_out += count;
  return reply;
}

}  // namespace sotto::server
