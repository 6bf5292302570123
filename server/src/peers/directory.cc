#include "peers/directory.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>
#include <utility>

#include "base/bytes.h"
#include "base/names.h"
#include "sotto/key_labels.h"
#include "sotto/peer_wire.h"
#include "sotto/retry_pace.h"

namespace sotto::server {
namespace {

void RequireRoster(const std::vector<std::string>& ids, const DirectoryState& state) {
  const size_t known = state.nodes.size();
  if (known > ids.size()) {
    throw std::runtime_error(
        fmt::format("the state is of {} nodes, and the roster has {}: start with the same store "
                    "and the same --peers",
                    known, ids.size()));
  }
  for (size_t i = 0; i < known; ++i) {
    if (state.nodes[i].id == ids[i]) continue;
    throw std::runtime_error(
        fmt::format("node {} of the state is {}, and of the store {}: this is the state of another "
                    "store",
                    i, state.nodes[i].id, ids[i]));
  }
}

// Leases whose fences are made durable at a time.
constexpr uint32_t kFencesAtOnce = 64;

// After that a node asks again for its lease.
constexpr uint64_t kMostWaitMs = 200;
constexpr uint64_t kTurnWaitMs = 20;

bool IsZeroHead(const PeerHead& head) { return head.version == 0; }

void RequireBytes(const PeerHead& head, const std::vector<uint8_t>& bytes) {
  const size_t expected = IsZeroHead(head) ? 0 : head.size;
  const auto digest = Sha256Of({bytes.data(), bytes.size()});
  const bool is_same = bytes.size() == expected &&
                       (IsZeroHead(head) || std::equal(digest.begin(), digest.end(), head.digest));
  if (!is_same) {
    throw std::invalid_argument(
        fmt::format("the bytes of version {} differ from the published ones", head.version));
  }
}

}  // namespace

bool IsSamePublication(const PeerHead& a, const PeerHead& b) {
  return a.version == b.version && a.publisher == b.publisher && a.size == b.size &&
         std::equal(std::begin(a.digest), std::end(a.digest), b.digest);
}

void ContinueState(const ModelInfo& model, const PeerJob& job, bool has_relay,
                   const std::vector<std::string>& ids, DirectoryState* state) {
  uint8_t id[kJobIdSize];
  if (PeerJobId(model, job, id) != Status::kOk) {
    throw std::runtime_error("the job's id cannot be computed");
  }
  const bool is_new = state->nodes.empty();
  if (is_new) {
    std::copy(std::begin(id), std::end(id), state->job_id);
    state->has_relay = has_relay;
  }
  if (!std::equal(std::begin(id), std::end(id), state->job_id)) {
    throw std::runtime_error(
        "the state is of another job: give the options and the model with which it began, or a new "
        "folder to --state");
  }
  if (state->has_relay != has_relay) {
    throw std::runtime_error(
        state->has_relay ? "the state is of a directory with a relay: add --relay"
                         : "the state is of a directory without a relay: leave --relay out");
  }
  RequireRoster(ids, *state);
  for (size_t i = state->nodes.size(); i < ids.size(); ++i) {
    state->nodes.emplace_back();
    state->nodes.back().id = ids[i];
  }
}

Key PairKey(const Key& directory, const std::string& a, const std::string& b) {
  const std::string info = key_label::kPair + std::min(a, b) + '\0' + std::max(a, b);
  Key key;
  if (HkdfSha256(directory.bytes, {}, BytesOf(info), &key) != Status::kOk) {
    throw std::runtime_error("deriving a pair key failed");
  }
  return key;
}

const char* Name(LeaseOrder order) {
  constexpr privacy::Named<LeaseOrder> kNames[] = {{LeaseOrder::kAny, "any"},
                                                   {LeaseOrder::kTurns, "turns"}};
  return privacy::NameIn(kNames, order);
}

Directory::Directory(const DirectoryOptions& options, DirectoryState state, const Key& key,
                     std::vector<uint8_t> head, std::vector<uint8_t> parent, DirectoryLog* log)
    : options_(options),
      state_(std::move(state)),
      key_(key),
      log_(*log),
      head_(std::move(head)),
      parent_(std::move(parent)),
      last_fence_(state_.fences),
      excluded_(state_.nodes.size()),
      told_(state_.nodes.size()),
      next_step_(state_.nodes.size()) {
  std::copy(std::begin(state_.job_id), std::end(state_.job_id), job_id_);
  if (!state_.has_relay) return;
  RequireBytes(state_.head, head_);
  RequireBytes(state_.parent, parent_);
}

void Directory::Tell(const std::string& line, bool is_detail) const {
  if (options_.tell) options_.tell(line, is_detail);
}

bool Directory::is_finished() const {
  for (uint32_t node = 0; node < state_.nodes.size(); ++node) {
    if (!IsOut(node)) return false;
  }
  return true;
}

bool Directory::has_told_all() const {
  for (uint32_t node = 0; node < state_.nodes.size(); ++node) {
    if (!excluded_[node] && !told_[node]) return false;
  }
  return true;
}

std::optional<uint32_t> Directory::lease_holder(uint64_t now_ms) const {
  return IsInForce(now_ms) ? std::optional<uint32_t>(lease_.node) : std::nullopt;
}

PeerReply Directory::Answer(DirectorySession* session, const PeerRequest& request,
                            uint64_t now_ms) {
  using Kind = PeerRequest::Kind;
  const uint32_t node = session->node;
  if (request.kind == Kind::kJoin) return Join(session, request);
  if (!session->joined) return Refuse(node, ErrorCode::kMalformed, "asked before it joined");
  switch (request.kind) {
    case Kind::kLease:
      return AskLease(node, request.step, now_ms);
    case Kind::kRelease:
      return Release(node, request.fence);
    case Kind::kCommit:
      return Commit(node, request, now_ms);
    case Kind::kFinished:
      return Finish(node);
    case Kind::kRosterEntry:
      return RosterEntry(node, request.node);
    case Kind::kGetPublication:
      return GetPublication(*session, request);
    case Kind::kStage:
      return Stage(node, request, now_ms);
    case Kind::kNone:
    case Kind::kJoin:
    case Kind::kGreet:
      break;
  }
  return Refuse(node, ErrorCode::kMalformed, "sent what is no request to a directory");
}

// Of what no honest node sends, and of what never becomes right by waiting.
PeerReply Directory::Refuse(uint32_t node, ErrorCode code, const char* why) {
  ++counts_.refused;
  Tell(fmt::format("{}: refused, {}: it {}", state_.nodes[node].id, ErrorCodeName(code), why));
  PeerReply reply;
  reply.code = code;
  reply.final = true;
  return reply;
}

PeerReply Directory::Done(bool accepted) const {
  PeerReply reply;
  reply.kind = PeerReply::Kind::kDone;
  reply.accepted = accepted;
  reply.head = state_.head;
  return reply;
}

PeerReply Directory::Join(DirectorySession* session, const PeerRequest& request) {
  const uint32_t node = session->node;
  if (request.version != kPeerProtocolVersion) {
    return Refuse(node, ErrorCode::kVersion, "speaks another version of the protocol");
  }
  if (!std::equal(request.job_id.begin(), request.job_id.end(), std::begin(job_id_))) {
    return Refuse(node, ErrorCode::kModelMismatch,
                  "has another job; start it with the directory's model and job");
  }
  const std::string address(request.address.begin(), request.address.end());
  const bool is_private = !request.has_public_policy;
  const DirectoryNode& known = state_.nodes[node];
  if (known.address != address || known.has_private_policy != is_private) {
    DirectoryState next = state_;
    next.nodes[node].address = address;
    next.nodes[node].has_private_policy = is_private;
    log_.Save(next, {});
    state_ = std::move(next);
  }
  session->joined = true;
  session->max_frame = std::min(options_.max_frame, request.max_frame);
  Tell(fmt::format("{}: joined as node {}{}", state_.nodes[node].id, node,
                   address.empty() ? "" : ", listens at " + address),
       true);
  PeerReply reply;
  reply.kind = PeerReply::Kind::kWelcome;
  reply.node = node;
  reply.nodes = static_cast<uint32_t>(state_.nodes.size());
  reply.max_frame = options_.max_frame;
  reply.has_relay = state_.has_relay;
  reply.head = state_.head;
  return reply;
}

// Whether all others that are not out have said that they ask for no lease before this turn.
bool Directory::HasTurn(uint32_t node, uint32_t step) const {
  for (uint32_t other = 0; other < state_.nodes.size(); ++other) {
    if (other == node || IsOut(other)) continue;
    const std::optional<uint32_t> next = next_step_[other];
    if (!next || std::make_pair(*next, other) < std::make_pair(step, node)) return false;
  }
  return true;
}

PeerReply Directory::AskLease(uint32_t node, uint32_t step, uint64_t now_ms) {
  if (IsOut(node)) return Refuse(node, ErrorCode::kConflict, "asks for a lease after its end");
  if (Holds(node, now_ms) && lease_.step == step) return Granted(now_ms);
  next_step_[node] = step;
  const bool is_free = !IsInForce(now_ms) || lease_.node == node;
  const bool is_in_turns = options_.order == LeaseOrder::kTurns;
  if (is_free && (!is_in_turns || HasTurn(node, step))) return Grant(node, step, now_ms);
  PeerReply reply;
  reply.kind = PeerReply::Kind::kWait;
  const uint64_t most = is_in_turns ? kTurnWaitMs : kMostWaitMs;
  const uint64_t rest = IsInForce(now_ms) ? lease_.end_ms - now_ms : most;
  reply.wait_ms = static_cast<uint32_t>(std::clamp<uint64_t>(rest, RetryPace::kAtOnceMs, most));
  return reply;
}

PeerReply Directory::Grant(uint32_t node, uint32_t step, uint64_t now_ms) {
  if (last_fence_ == state_.fences) {
    DirectoryState next = state_;
    next.fences += kFencesAtOnce;
    log_.Save(next, {});
    state_ = std::move(next);
  }
  if (lease_.is_given && lease_.node != node) {
    ++counts_.expired;
    Tell(fmt::format("{}: its lease {} ended without a publication", state_.nodes[lease_.node].id,
                     lease_.fence));
  }
  ++counts_.leases;
  lease_ = {node, step, ++last_fence_, now_ms + options_.lease_ms, true};
  Tell(fmt::format("{}: lease {} for step {}", state_.nodes[node].id, lease_.fence, step), true);
  return Granted(now_ms);
}

PeerReply Directory::Granted(uint64_t now_ms) const {
  PeerReply reply;
  reply.kind = PeerReply::Kind::kGranted;
  reply.fence = lease_.fence;
  reply.wait_ms = static_cast<uint32_t>(lease_.end_ms - now_ms);
  reply.head = state_.head;
  reply.parent = state_.parent;
  return reply;
}

PeerReply Directory::Release(uint32_t node, uint32_t fence) {
  if (lease_.is_given && lease_.node == node && lease_.fence == fence) lease_ = {};
  return Done(false);
}

PeerReply Directory::Finish(uint32_t node) {
  if (!state_.nodes[node].is_finished) {
    DirectoryState next = state_;
    next.nodes[node].is_finished = true;
    log_.Save(next, {});
    state_ = std::move(next);
    Tell(fmt::format("{}: finished after {} publications", state_.nodes[node].id,
                     state_.nodes[node].publications));
  }
  if (lease_.is_given && lease_.node == node) lease_ = {};
  told_[node] = true;
  return Done(false);
}

PeerReply Directory::RosterEntry(uint32_t node, uint32_t other) const {
  PeerReply reply;
  if (other >= state_.nodes.size() || other == node) {
    reply.code = ErrorCode::kMalformed;
    reply.final = true;
    return reply;
  }
  const DirectoryNode& entry = state_.nodes[other];
  reply.kind = PeerReply::Kind::kEntry;
  reply.node = other;
  reply.address = BytesOf(entry.address);
  reply.device_id = BytesOf(entry.id);
  reply.pair_key = PairKey(key_, state_.nodes[node].id, entry.id);
  return reply;
}

}  // namespace sotto::server
