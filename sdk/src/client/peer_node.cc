#include "sotto/peer_node.h"

#include "sotto/bytes.h"
#include "sotto/peer_wire.h"

namespace sotto {
namespace {

constexpr uint32_t kMostCommits = 3;    // of one publication that the directory refuses
constexpr uint32_t kFetchWaitMs = 500;  // before the same place is asked again
constexpr uint32_t kMostErrorWaitMs = 60000;

bool IsSame(const uint8_t (&a)[kSha256Size], ByteSpan b) {
  return b.size() == kSha256Size && __builtin_memcmp(a, b.data(), kSha256Size) == 0;
}

bool IsSame(const PeerHead& a, const PeerHead& b) {
  return a.version == b.version && IsSame(a.digest, ByteSpan(b.digest));
}

uint32_t Least(uint32_t a, uint32_t b) { return a < b ? a : b; }

}  // namespace

PeerNode::PeerNode(PeerTrainer* trainer, const SharePolicy& policy, const PeerNodeConfig& config)
    : trainer_(trainer), policy_(policy), config_(config) {}

Status PeerNode::CheckConfig() const {
  const bool is_right = trainer_ != nullptr && config_.port.now_ms != nullptr &&
                        config_.max_frame >= kMinMaxFrame && config_.max_frame <= kMaxMaxFrame &&
                        config_.address.size() <= kMaxPeerAddressSize;
  if (!is_right) return Status::kInvalidArgument;
  const size_t most = MaxPublicationBytes(trainer_->local().size());
  return config_.fetched.size() >= most ? Status::kOk : Status::kBufferTooSmall;
}

Status PeerNode::Fail(Status status) {
  state_ = State::kFailed;
  failure_ = status;
  return status;
}

void PeerNode::Wait(uint32_t ms) {
  wait_pending_ = true;
  wait_ms_ = Least(ms, kMostErrorWaitMs);
}

void PeerNode::Refuse(Refusal why, State next) {
  refusal_ = why;
  state_ = next;
}

bool PeerNode::IsToDirectory() const { return state_ != State::kFetch || has_relay_; }

PeerPlace PeerNode::where() const {
  PeerPlace place;
  if (IsToDirectory()) return place;
  place.is_directory = false;
  place.node = candidates_[candidate_].publisher;
  place.address = ByteSpan(address_).first(address_size_);
  place.device_id = ByteSpan(device_id_).first(device_id_size_);
  place.pair_key = &pair_key_;
  return place;
}

// ---- Steps

Status PeerNode::Step(Progress* progress) {
  if (awaiting_reply_) return Status::kWrongState;
  if (!was_checked_) {
    if (Status s = CheckConfig(); s != Status::kOk) return Fail(s);
    was_checked_ = true;
  }
  *progress = Progress::kAgain;
  if (wait_pending_) {
    wait_pending_ = false;
    *progress = Progress::kWait;
    return Status::kOk;
  }
  if (state_ == State::kFailed) return failure_;
  if (state_ == State::kDone) {
    *progress = Progress::kDone;
    return Status::kOk;
  }
  const bool is_work = state_ == State::kDecide || state_ == State::kPublish;
  if (is_work && !is_new_) return Work();
  Prepare();
  awaiting_reply_ = true;
  asked_ms_ = config_.port.now_ms(config_.port.context);
  *progress = Progress::kSend;
  return Status::kOk;
}

Status PeerNode::Work() {
  const Status status = state_ == State::kDecide ? StepDecide() : StepPublish();
  return status == Status::kOk ? status : Fail(status);
}

Status PeerNode::StepDecide() {
  if (trainer_->is_done()) {
    state_ = State::kFinish;
    return Status::kOk;
  }
  bool share = false;
  if (Status s = trainer_->Decide(policy_, &share); s != Status::kOk) return s;
  if (!share) return trainer_->LearnAlone();
  if (IsUnreachable()) {
    Refuse(Refusal::kUnreachable, State::kDone);
    return Status::kOk;
  }
  state_ = State::kLease;
  return Status::kOk;
}

Status PeerNode::StepPublish() {
  if (IsPast(lease_end_ms_)) {
    state_ = State::kLease;  // nothing has left yet
    return Status::kOk;
  }
  const Status status = trainer_->Publish(candidates_[0].version + 1, number_);
  if (status == Status::kPeerRefused) {
    Refuse(Refusal::kNotPaidFor, State::kRelease);
    return Status::kOk;
  }
  if (status != Status::kOk) return status;
  const bool is_on_head = IsSame(candidates_[0].digest, trainer_->head_digest());
  if (!is_on_head) ++fallbacks_;
  __builtin_memcpy(previous_, candidates_[0].digest, kSha256Size);
  commits_ = 0;
  if (IsPast(lease_end_ms_)) {
    state_ = State::kLease;  // the steps took too long: the bytes wait for another one
  } else {
    SendPending();
  }
  return Status::kOk;
}

bool PeerNode::IsPast(uint64_t end_ms) const {
  return config_.port.now_ms(config_.port.context) >= end_ms;
}

// The pending publication's way out, from its beginning.
void PeerNode::SendPending() {
  staged_ = 0;
  state_ = has_relay_ ? State::kStage : State::kCommit;
}

Status PeerNode::Adopt(bool accepted) {
  if (Status s = trainer_->Adopt(accepted); s != Status::kOk) return s;
  if (accepted) {
    pace_.Forget();
    ++accepted_;
    fence_ = 0;
  }
  state_ = fence_ == 0 ? State::kDecide : State::kRelease;
  return Status::kOk;
}

// ---- Requests

void PeerNode::Prepare() {
  request_ = PeerRequest();
  if (IsToDirectory() && !joined_) return PrepareJoin();
  if (!IsToDirectory() && !greeted_) return PrepareGreet();
  switch (state_) {
    case State::kLease:
      request_.kind = PeerRequest::Kind::kLease;
      request_.step = IsPending() ? trainer_->publication_step() : trainer_->step();
      return;
    case State::kLocate:
      request_.kind = PeerRequest::Kind::kRosterEntry;
      request_.node = candidates_[candidate_].publisher;
      return;
    case State::kFetch:
      request_.kind = PeerRequest::Kind::kGetPublication;
      request_.publication = candidates_[candidate_];
      request_.offset = fetched_;
      return;
    case State::kStage:
      return PrepareStage();
    case State::kCommit:
      return PrepareCommit();
    case State::kRelease:
      request_.kind = PeerRequest::Kind::kRelease;
      request_.fence = fence_;
      return;
    case State::kFinish:
      request_.kind = PeerRequest::Kind::kFinished;
      return;
    case State::kDecide:
    case State::kPublish:
    case State::kDone:
    case State::kFailed:
      return;  // they send nothing once the directory has answered
  }
}

void PeerNode::PrepareJoin() {
  request_.kind = PeerRequest::Kind::kJoin;
  request_.job_id = trainer_->job_id();
  request_.max_frame = config_.max_frame;
  request_.address = config_.address;
  request_.has_public_policy = policy_.has_public_inputs();
}

void PeerNode::PrepareGreet() {
  request_.kind = PeerRequest::Kind::kGreet;
  request_.job_id = trainer_->job_id();
  request_.max_frame = config_.max_frame;
}

PeerHead PeerNode::Own() const {
  PeerHead own;
  own.version = trainer_->publication_version();
  own.publisher = number_;
  own.size = static_cast<uint32_t>(trainer_->publication().size());
  __builtin_memcpy(own.digest, trainer_->publication_digest().data(), kSha256Size);
  return own;
}

void PeerNode::PrepareStage() {
  const ByteSpan bytes = trainer_->publication();
  const uint32_t most = MaxStageBytes(Least(directory_frame_, config_.max_frame));
  request_.kind = PeerRequest::Kind::kStage;
  request_.publication = Own();
  request_.offset = staged_;
  const auto rest = static_cast<uint32_t>(bytes.size()) - staged_;
  request_.bytes = bytes.subspan(staged_, Least(rest, most));
}

void PeerNode::PrepareCommit() {
  request_.kind = PeerRequest::Kind::kCommit;
  request_.publication = Own();
  request_.fence = fence_;
  request_.previous = previous_;
}

// ---- Replies

void PeerNode::OnLinkLost() {
  awaiting_reply_ = false;
  if (IsToDirectory()) {
    joined_ = false;
    return;
  }
  greeted_ = false;
  CountTry();
}

Status PeerNode::OnReply(const PeerReply& reply) {
  if (!awaiting_reply_) return Status::kWrongState;
  awaiting_reply_ = false;
  const Status status = HandleReply(reply);
  if (status == Status::kMalformed) {
    OnLinkLost();
  } else if (status != Status::kOk) {
    return Fail(status);
  }
  return status;
}

Status PeerNode::HandleReply(const PeerReply& reply) {
  using Kind = PeerReply::Kind;
  if (reply.kind == Kind::kError) return OnError(reply);
  switch (request_.kind) {
    case PeerRequest::Kind::kJoin:
      if (reply.kind == Kind::kWelcome) return OnWelcome(reply);
      break;
    case PeerRequest::Kind::kGreet:
      if (reply.kind == Kind::kWelcome) return OnGreeted(reply);
      break;
    case PeerRequest::Kind::kLease:
      if (reply.kind == Kind::kGranted) return OnLease(reply);
      if (reply.kind != Kind::kWait) break;
      Wait(pace_.WaitMs(reply.wait_ms));
      return Status::kOk;
    case PeerRequest::Kind::kRosterEntry:
      if (reply.kind == Kind::kEntry) return OnEntry(reply);
      break;
    case PeerRequest::Kind::kGetPublication:
      if (reply.kind == Kind::kChunk) return OnChunk(reply);
      break;
    case PeerRequest::Kind::kStage:
      if (reply.kind == Kind::kStaged) return OnStaged(reply);
      break;
    case PeerRequest::Kind::kCommit:
      if (reply.kind == Kind::kDone) return OnCommitted(reply);
      break;
    case PeerRequest::Kind::kRelease:
      if (reply.kind == Kind::kDone) return OnReleased(reply);
      break;
    case PeerRequest::Kind::kFinished:
      if (reply.kind != Kind::kDone) break;
      state_ = State::kDone;
      return Status::kOk;
    case PeerRequest::Kind::kNone:
      break;
  }
  return Status::kMalformed;
}

Status PeerNode::OnError(const PeerReply& reply) {
  error_code_ = reply.code;
  const bool is_fetch = state_ == State::kLocate || state_ == State::kFetch;
  const bool is_join = request_.kind == PeerRequest::Kind::kJoin;
  if (is_fetch && !is_join) return OnFetchError(reply);
  if (!reply.final) {
    Wait(pace_.WaitMs(reply.wait_ms));
  } else if (state_ == State::kStage && !is_join) {
    state_ = State::kCommit;  // the directory decides
  } else {
    Refuse(Refusal::kByDirectory, State::kDone);
  }
  return Status::kOk;
}

Status PeerNode::OnFetchError(const PeerReply& reply) {
  if (reply.final) return NextCandidate();
  Wait(pace_.WaitMs(reply.wait_ms));
  CountTry();
  return Status::kOk;
}

// What a directory tells as its head: it never goes back, and a version keeps its digest.
Status PeerNode::TakeHead(const PeerHead& head) {
  const bool is_other = head.version == head_.version && !IsSame(head, head_);
  if (head.version < head_.version || is_other) return Status::kMalformed;
  head_ = head;
  const bool is_before = IsPending() && head.version + 1 == trainer_->publication_version();
  if (is_before) __builtin_memcpy(previous_, head.digest, kSha256Size);
  return Status::kOk;
}

Status PeerNode::OnWelcome(const PeerReply& reply) {
  if (reply.max_frame < kMinMaxFrame || reply.node >= reply.nodes) return Status::kMalformed;
  if (!is_new_ && reply.node != number_) return Status::kMalformed;
  if (Status s = TakeHead(reply.head); s != Status::kOk) return s;
  number_ = reply.node;
  nodes_ = reply.nodes;
  has_relay_ = reply.has_relay;
  directory_frame_ = reply.max_frame;
  joined_ = true;
  if (is_new_) Resume();
  is_new_ = false;
  // The relay may have come or gone with a new directory.
  if (state_ == State::kStage && !has_relay_) state_ = State::kCommit;
  return Status::kOk;
}

// After a reset: the fence is forgotten.
void PeerNode::Resume() {
  if (!IsPending()) return;
  if (IsUnreachable()) return Refuse(Refusal::kUnreachable, State::kDone);
  const bool is_past = head_.version >= trainer_->publication_version();
  state_ = is_past ? State::kCommit : State::kLease;
}

Status PeerNode::OnGreeted(const PeerReply& reply) {
  if (reply.node != candidates_[candidate_].publisher) return Status::kMalformed;
  greeted_ = true;
  return Status::kOk;
}

Status PeerNode::OnLease(const PeerReply& reply) {
  const bool has_room = reply.head.version != UINT32_MAX;
  const bool is_ordered = reply.parent.version < reply.head.version ||
                          (reply.parent.version == 0 && reply.head.version == 0);
  if (reply.fence == 0 || reply.fence < last_fence_ || !has_room || !is_ordered)
    return Status::kMalformed;
  if (Status s = TakeHead(reply.head); s != Status::kOk) return s;
  fence_ = last_fence_ = reply.fence;
  lease_end_ms_ = asked_ms_ + reply.wait_ms;
  fetch_end_ms_ = lease_end_ms_ + reply.wait_ms;
  candidates_[0] = reply.head;
  candidates_[1] = reply.parent;
  if (!IsPending()) return StartFetch();
  if (reply.head.version >= trainer_->publication_version()) {
    state_ = State::kCommit;  // too late; whether it was accepted before is to be asked
  } else {
    SendPending();
  }
  return Status::kOk;
}

Status PeerNode::StartFetch() {
  candidate_ = 0;
  return Choose();
}

// The present candidate cannot be fetched: under a later lease the node does not ask for it again.
Status PeerNode::NextCandidate() {
  given_up_[candidate_] = candidates_[candidate_];
  ++candidate_;
  return Choose();
}

// Finds where to fetch the first available candidate, from the present one on.
Status PeerNode::Choose() {
  state_ = State::kPublish;
  tries_ = 0;
  fetched_ = 0;
  greeted_ = false;
  for (; candidate_ < 2; ++candidate_) {
    const PeerHead& head = candidates_[candidate_];
    if (head.version == 0) {
      if (candidate_ == 0) return trainer_->SetHead({});
      continue;  // the head has no parent
    }
    const bool is_held =
        head.version == trainer_->head_version() && IsSame(head.digest, trainer_->head_digest());
    if (is_held) return Status::kOk;
    const bool is_own = !trainer_->publication().empty() && IsSame(head, Own());
    if (is_own) return trainer_->SetHead(trainer_->publication());
    if (IsSame(head, given_up_[0]) || IsSame(head, given_up_[1])) continue;
    if (head.size <= kPublicationHeaderSize || head.size > config_.fetched.size()) continue;
    if (!has_relay_ && (head.publisher == number_ || head.publisher >= nodes_)) continue;
    state_ = has_relay_ ? State::kFetch : State::kLocate;
    return Status::kOk;
  }
  return Status::kOk;  // on the newest one that the node holds
}

// After a failure of a link or a place that may pass.
void PeerNode::CountTry() {
  if (++tries_ < kFetchTries) return Wait(kFetchWaitMs);
  // Of a publication that the node holds and cannot decode there is none.
  if (NextCandidate() != Status::kOk) state_ = State::kPublish;
}

Status PeerNode::OnEntry(const PeerReply& reply) {
  const bool is_right =
      reply.address.size() <= kMaxPeerAddressSize && IsValidDeviceId(reply.device_id);
  if (!is_right) return Status::kMalformed;
  if (reply.address.empty()) return NextCandidate();
  __builtin_memcpy(address_, reply.address.data(), reply.address.size());
  __builtin_memcpy(device_id_, reply.device_id.data(), reply.device_id.size());
  address_size_ = reply.address.size();
  device_id_size_ = reply.device_id.size();
  pair_key_ = reply.pair_key;
  state_ = State::kFetch;
  return Status::kOk;
}

Status PeerNode::OnChunk(const PeerReply& reply) {
  const PeerHead& head = candidates_[candidate_];
  if (reply.bytes.empty() || reply.bytes.size() > head.size - fetched_) return Status::kMalformed;
  __builtin_memcpy(config_.fetched.data() + fetched_, reply.bytes.data(), reply.bytes.size());
  fetched_ += static_cast<uint32_t>(reply.bytes.size());
  if (fetched_ < head.size) return IsPast(fetch_end_ms_) ? NextCandidate() : Status::kOk;
  bool is_valid = false;
  if (Status s = CheckFetched(&is_valid); s != Status::kOk) return s;
  if (!is_valid) return NextCandidate();
  state_ = State::kPublish;
  return Status::kOk;
}

// Whether these are the publication that the directory has named, of this job; it is then the
// trainer's head.
Status PeerNode::CheckFetched(bool* is_valid) {
  const PeerHead& head = candidates_[candidate_];
  const ByteSpan bytes = ByteSpan(config_.fetched).first(head.size);
  uint8_t digest[kSha256Size];
  if (Status s = Sha256Digest(bytes, digest); s != Status::kOk) return s;
  PublicationHeader header;
  *is_valid = IsSame(digest, ByteSpan(head.digest)) &&
              DecodePublicationHeader(bytes, &header) == Status::kOk &&
              header.version == head.version && header.node == head.publisher;
  if (!*is_valid) return Status::kOk;
  const Status status = trainer_->SetHead(bytes);
  *is_valid = status == Status::kOk;
  return status == Status::kMalformed ? Status::kOk : status;
}

Status PeerNode::OnStaged(const PeerReply& reply) {
  const auto size = static_cast<uint32_t>(trainer_->publication().size());
  if (reply.offset > size) return Status::kMalformed;
  if (reply.offset <= request_.offset) Wait(pace_.WaitMs(0));
  staged_ = reply.offset;
  if (staged_ == size) state_ = State::kCommit;
  return Status::kOk;
}

Status PeerNode::OnReleased(const PeerReply& reply) {
  if (Status s = TakeHead(reply.head); s != Status::kOk) return s;
  fence_ = 0;
  state_ = is_refused() ? State::kFinish : State::kDecide;
  return Status::kOk;
}

Status PeerNode::OnCommitted(const PeerReply& reply) {
  const uint32_t version = trainer_->publication_version();
  if (reply.accepted && reply.head.version < version) return Status::kMalformed;
  if (reply.accepted && reply.head.version == version && !IsSame(reply.head, Own())) {
    return Status::kMalformed;
  }
  if (Status s = TakeHead(reply.head); s != Status::kOk) return s;
  const bool may_follow = reply.head.version + 1 == version;
  if (!reply.accepted && may_follow && ++commits_ < kMostCommits) {
    state_ = State::kLease;
    return Status::kOk;
  }
  return Adopt(reply.accepted);
}

}  // namespace sotto
