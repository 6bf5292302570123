// The answers of an attempt to its devices: see attempt.h. Part of sotto::server/round.
#include <algorithm>
#include <exception>
#include <optional>
#include <string_view>

#include "round/attempt.h"
#include "sotto/key_labels.h"
#include "sotto/posix/check.h"
#include "sotto/posix/run_key.h"

namespace sotto::server {
namespace {

// The largest part of the model, or of its description, in one reply, bytes.
constexpr size_t kModelChunkSize = 16384;

constexpr privacy::TrustMode kTrusted = privacy::TrustMode::kTrustedServer;

enum class OnBegin { kTake, kRepeatAck, kAskLater, kRefuse };

struct MemberRule {
  MemberState state;
  bool trains;  // Hello is answered by Train, not by Wait
  OnBegin on_update_begin;
  bool takes_chunks;
};

// One row for each MemberState, in the order of the enumeration.
constexpr MemberRule kMemberStates[] = {
    {MemberState::kInvited, true, OnBegin::kTake, false},
    {MemberState::kUploading, true, OnBegin::kTake, true},
    {MemberState::kDecoding, false, OnBegin::kAskLater, false},
    {MemberState::kReported, false, OnBegin::kRepeatAck, false},
    {MemberState::kRejected, false, OnBegin::kRefuse, false},
    {MemberState::kRevoked, false, OnBegin::kRefuse, false},
};

const MemberRule& RuleOf(MemberState state) { return kMemberStates[static_cast<int>(state)]; }

Reply Wait(const JobConfig& config, WaitState state = WaitState::kRounds) {
  Reply reply;
  reply.kind = Reply::Kind::kWait;
  reply.state = state;
  reply.wait_ms = config.process.poll_interval_ms;
  return reply;
}

Reply FinalError(ErrorCode code) {
  Reply reply;
  reply.kind = Reply::Kind::kError;
  reply.code = code;
  reply.final = true;
  return reply;
}

Reply Busy(const JobConfig& config) {
  Reply reply;
  reply.kind = Reply::Kind::kError;
  reply.code = ErrorCode::kBusy;
  reply.wait_ms = config.process.poll_interval_ms;
  return reply;
}

Reply Ack(size_t held, bool complete) {
  Reply reply;
  reply.kind = Reply::Kind::kAck;
  reply.offset = static_cast<uint32_t>(held);
  reply.complete = complete;
  return reply;
}

Reply ModelChunk(ByteSpan whole, size_t offset) {
  if (offset >= whole.size()) return FinalError(ErrorCode::kMalformed);
  Reply reply;
  reply.kind = Reply::Kind::kModelChunk;
  reply.bytes = whole.subspan(offset, std::min(kModelChunkSize, whole.size() - offset));
  return reply;
}

bool Equal(ByteSpan a, ByteSpan b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

}  // namespace

std::optional<Reply> RefuseHello(const Request& hello, const ModelInfo& model, ByteSpan digest) {
  if (hello.version != kProtocolVersion) return FinalError(ErrorCode::kVersion);
  if (Equal(hello.model_digest, digest)) return std::nullopt;
  Reply mismatch = FinalError(ErrorCode::kModelMismatch);
  const std::string_view name(model.name);
  mismatch.bytes = {reinterpret_cast<const uint8_t*>(name.data()),
                    std::min(name.size(), kMaxModelNameSize)};
  return mismatch;
}

Reply AnswerBetweenAttempts(const Request& request, const JobConfig& config, WaitState state) {
  if (request.kind == Request::Kind::kHello) return Wait(config, state);
  return FinalError(request.kind == Request::Kind::kNone ? ErrorCode::kMalformed
                                                         : ErrorCode::kNotSelected);
}

Reply AnswerWithoutJob(const Request& request, bool is_done, uint32_t wait_ms) {
  JobConfig none;
  none.process.poll_interval_ms = wait_ms;
  if (request.kind == Request::Kind::kGetDescription) return Busy(none);
  const bool stays = (request.abilities.features & kFeatureStays) != 0;
  if (request.kind != Request::Kind::kHello || !is_done || stays) {
    return AnswerBetweenAttempts(request, none, WaitState::kNoJob);
  }
  Reply done;
  done.kind = Reply::Kind::kDone;
  return done;
}

Reply AnswerDescription(const Request& request, const JobConfig& config) {
  if (config.description == nullptr) return Busy(config);
  const ByteSpan whole(config.description->data(), config.description->size());
  if (request.offset >= whole.size()) return FinalError(ErrorCode::kMalformed);
  Reply reply;
  reply.kind = Reply::Kind::kDescriptionChunk;
  reply.bytes =
      whole.subspan(request.offset, std::min(kModelChunkSize, whole.size() - request.offset));
  reply.size = static_cast<uint32_t>(whole.size());
  return reply;
}

bool TakesDifferences(const Request& hello) {
  return (hello.abilities.features & kFeatureDifferences) != 0;
}

Reply AnswerCode(const Request& request, ModelCodes& codes) {
  const ByteSpan whole = codes.Bytes(request.code);
  if (whole.empty()) return FinalError(ErrorCode::kWrongAttempt);
  return ModelChunk(whole, request.offset);
}

Reply Attempt::Answer(uint32_t device, const Request& request) {
  std::unique_lock<std::mutex> lock(mutex_);
  const bool joined_later = device >= is_heard_.size();
  if (!open_ || joined_later) {
    return AnswerBetweenAttempts(request, config_, WaitState::kRounds);
  }
  Hear(device, request);
  switch (request.kind) {
    case Request::Kind::kHello:
      return OnHello(device, request);
    case Request::Kind::kGetModel:
      return OnGetModel(device, request);
    case Request::Kind::kUpdateBegin:
      return OnUpdateBegin(device, request);
    case Request::Kind::kUpdateChunk:
      return OnUpdateChunk(device, request, lock);
    case Request::Kind::kGetDescription:
      return AnswerDescription(request, config_);
    case Request::Kind::kGetRelease:
    case Request::Kind::kNone:
      break;
  }
  return FinalError(ErrorCode::kMalformed);
}

// Notes what the device lacks, or checks it in.
void Attempt::Hear(uint32_t device, const Request& request) {
  const size_t index = IndexOfDrawn(device);
  if (index < drawn_.size()) members_[index].heard = std::chrono::steady_clock::now();
  if (request.kind == Request::Kind::kHello) {
    if (IsLacking(task_, request.abilities)) {
      lacking_[device] = request.abilities;
    } else {
      lacking_.erase(device);
    }
    const bool is_timed = (request.abilities.features & kFeatureReportTime) != 0;
    if (is_timed || index == drawn_.size()) {
      untimed_.erase(device);
    } else {
      untimed_.insert(device);
    }
  }
  is_heard_[device] = lacking_.count(device) == 0;
  if (is_heard_[device]) CheckIn(device);
}

// Null if the device was not drawn, or lacks something: nobody can tell the two apart.
Attempt::Member* Attempt::FindMember(uint32_t device) {
  const size_t index = IndexOfDrawn(device);
  return lacking_.count(device) != 0 || index == drawn_.size() ? nullptr : &members_[index];
}

// The size of drawn_ if the device was not drawn.
size_t Attempt::IndexOfDrawn(uint32_t device) const {
  const auto found = std::lower_bound(drawn_.begin(), drawn_.end(), device);
  const bool is_drawn = found != drawn_.end() && *found == device;
  return is_drawn ? static_cast<size_t>(found - drawn_.begin()) : drawn_.size();
}

void Attempt::CheckIn(uint32_t device) {
  if (is_checked_in_[device]) return;
  is_checked_in_[device] = true;
  ++counts_.checked_in;
}

Reply Attempt::OnHello(uint32_t device, const Request& request) {
  Member* member = FindMember(device);
  if (member == nullptr || !RuleOf(member->state).trains) return Wait(config_);
  member->takes_salt = (request.abilities.features & kFeatureSalt) != 0;
  Reply reply;
  reply.kind = Reply::Kind::kTrain;
  reply.task = task_;
  reply.report_ms = ReportInMs();
  if (TakesDifferences(request)) reply.model = codes_.Offer(request.held);
  return reply;
}

// What is left until the report time, at least 1; 0: there is none.
uint32_t Attempt::ReportInMs() const {
  const uint32_t after_ms = config_.process.report_after_ms;
  if (after_ms == 0) return 0;
  const auto open = std::chrono::steady_clock::now() - opened_;
  const auto open_ms = std::chrono::duration_cast<std::chrono::milliseconds>(open).count();
  return open_ms < after_ms ? after_ms - static_cast<uint32_t>(open_ms) : 1;
}

Reply Attempt::OnGetModel(uint32_t device, const Request& request) {
  if (FindMember(device) == nullptr) return FinalError(ErrorCode::kNotSelected);
  if (request.offset % 4 != 0) return FinalError(ErrorCode::kMalformed);
  return ModelChunk(codes_.Float32(), request.offset);
}

bool Attempt::IsOfThisAttempt(const Request& request) const {
  return Equal(request.job_id, task_.job_id) && request.round == task_.round &&
         request.attempt == task_.attempt;
}

Reply Attempt::OnUpdateBegin(uint32_t device, const Request& request) {
  Member* member = FindMember(device);
  if (member == nullptr) return FinalError(ErrorCode::kNotSelected);
  if (!IsOfThisAttempt(request)) return FinalError(ErrorCode::kWrongAttempt);
  if (request.nonce.size() != kNonceSize || request.coding != task_.format.coding ||
      request.clip_bit_q20 != task_.clip_bit_q20 || request.accuracy_q20 != task_.accuracy_q20 ||
      request.private_noise_q20 != task_.private_noise_q20 || (task_.salt && !member->takes_salt)) {
    return FinalError(ErrorCode::kMalformed);
  }
  const bool same_update = Equal(request.nonce, member->nonce);
  switch (RuleOf(member->state).on_update_begin) {
    case OnBegin::kTake:
      break;
    case OnBegin::kRepeatAck:
      return same_update ? Ack(member->size, true) : FinalError(ErrorCode::kConflict);
    case OnBegin::kAskLater:
      return Busy(config_);
    case OnBegin::kRefuse:
      return FinalError(ErrorCode::kMalformed);
  }
  if (!same_update || member->state == MemberState::kInvited) {
    // The device trained again, for example after a reset.
    BeginAnew(*member);
    if (member->state == MemberState::kRejected) return FinalError(ErrorCode::kConflict);
    std::copy(request.nonce.begin(), request.nonce.end(), member->nonce);
    if (salts_ && member->takes_salt) DrawSalt(device, *member);
  }
  member->state = MemberState::kUploading;
  Reply reply = Ack(member->bytes.size(), false);
  reply.salt = member->salt;
  return reply;
}

// Drops what has arrived of an update. The epsilon against an untrusted server covers one update of
// a device in an attempt, and no part of a second one: there it ends the attempt for the device. So
// it does where the device has a salt.
void Attempt::BeginAnew(Member& member) {
  if (member.salt.is_there || (!member.bytes.empty() && config_.plan.Trust() != kTrusted)) {
    Reject(member);
    return;
  }
  member.bytes.clear();
}

// The secret is part of it: a device whose key was exchanged begins anew.
void Attempt::DrawSalt(uint32_t device, Member& member) {
  const Key drawn = posix::DeriveKey(*salts_, key_label::kSalt, task_.round, task_.attempt, device);
  Key salt;
  posix::Check(HkdfSha256((*devices_)[device].secret.bytes, drawn.bytes, {}, &salt), "a salt");
  std::copy_n(salt.bytes, kSaltSize, member.salt.bytes);
  member.salt.is_there = true;
}

void Attempt::Reject(Member& member) {
  member.state = MemberState::kRejected;
  member.bytes = std::vector<uint8_t>();
  ++counts_.rejected;
}

Reply Attempt::OnUpdateChunk(uint32_t device, const Request& request,
                             std::unique_lock<std::mutex>& lock) {
  Member* member = FindMember(device);
  if (member == nullptr) return FinalError(ErrorCode::kNotSelected);
  if (!RuleOf(member->state).takes_chunks) return FinalError(ErrorCode::kWrongAttempt);
  if (request.offset != member->bytes.size() || request.bytes.empty()) {
    return FinalError(ErrorCode::kMalformed);
  }
  const size_t room = codec_->MaxSize(config_.coordinates()) - member->bytes.size();
  if (request.bytes.size() > room) return FinalError(ErrorCode::kTooLarge);
  member->bytes.insert(member->bytes.end(), request.bytes.begin(), request.bytes.end());
  if (!request.last) return Ack(member->bytes.size(), false);
  return FinishUpload(device, *member, lock);
}

Verdict Attempt::Decode(const Device& owner, const Member& member) {
  const ByteSpan id(reinterpret_cast<const uint8_t*>(owner.id.data()), owner.id.size());
  return codec_->Add({id, owner.secret, member.nonce, member.salt.view()},
                     {member.bytes.data(), member.bytes.size()}, sum_);
}

Reply Attempt::FinishUpload(uint32_t device, Member& member, std::unique_lock<std::mutex>& lock) {
  // While a member is in state kDecoding, Close() waits and no other thread changes the member.
  member.state = MemberState::kDecoding;
  member.size = member.bytes.size();
  ++decoding_;
  const SharedDevices devices = devices_;
  lock.unlock();
  Verdict verdict = Verdict::kMalformed;
  std::exception_ptr failure;
  try {
    verdict = Decode((*devices)[device], member);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  --decoding_;
  const bool valid = verdict == Verdict::kAdded;
  if (valid) {
    member.state = MemberState::kReported;
    member.bytes = std::vector<uint8_t>();
    ++counts_.reported;
    counts_.reporters.push_back(device);
    counts_.update_bytes += member.size;
  } else {
    Reject(member);
    if (verdict == Verdict::kBeyondBound) counts_.beyond_bound.push_back(device);
  }
  decoded_.notify_all();
  if (failure) std::rethrow_exception(failure);
  return valid ? Ack(member.size, true) : FinalError(ErrorCode::kMalformed);
}

}  // namespace sotto::server
