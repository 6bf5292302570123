#include "round/job.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <fmt/format.h>
#include <stdexcept>

#include "aggregate/dither_engine.h"
#include "aggregate/parallel.h"
#include "aggregate/server_step.h"
#include "round/cohort.h"
#include "round/run_key.h"
#include "sotto/bytes.h"

namespace sotto::server {
namespace {

// The most bytes of the model in one reply.
constexpr size_t kModelChunkSize = 16384;

constexpr privacy::TrustMode kTrusted = privacy::TrustMode::kTrustedServer;

// A device that was not drawn asks again after this long.
constexpr uint32_t kPollIntervalMs = 1000;

enum class OnBegin { kTake, kRepeatAck, kAskLater, kRefuse };

struct MemberRule {
  MemberState state;
  bool trains;  // Hello is answered by Train, not by Wait
  OnBegin on_update_begin;
  bool takes_chunks;
};

// In the order of the enumeration.
constexpr MemberRule kMemberStates[] = {
    {MemberState::kInvited, true, OnBegin::kTake, false},
    {MemberState::kUploading, true, OnBegin::kTake, true},
    {MemberState::kDecoding, false, OnBegin::kAskLater, false},
    {MemberState::kReported, false, OnBegin::kRepeatAck, false},
    {MemberState::kRejected, false, OnBegin::kRefuse, false},
};

const MemberRule& RuleOf(MemberState state) { return kMemberStates[static_cast<int>(state)]; }

void Check(Status status, const char* what) {
  if (status != Status::kOk) {
    throw std::runtime_error(std::string(what) + " failed: " + StatusName(status));
  }
}

Reply Wait(uint32_t ms) {
  Reply reply;
  reply.kind = Reply::Kind::kWait;
  reply.wait_ms = ms;
  return reply;
}

Reply FinalError(ErrorCode code) {
  Reply reply;
  reply.kind = Reply::Kind::kError;
  reply.code = code;
  reply.final = true;
  return reply;
}

Reply Busy() {
  Reply reply;
  reply.kind = Reply::Kind::kError;
  reply.code = ErrorCode::kBusy;
  reply.wait_ms = kPollIntervalMs;
  return reply;
}

Reply Ack(size_t held, bool complete) {
  Reply reply;
  reply.kind = Reply::Kind::kAck;
  reply.offset = static_cast<uint32_t>(held);
  reply.complete = complete;
  return reply;
}

bool Equal(ByteSpan a, ByteSpan b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

}  // namespace

Job::Job(const JobConfig& config, const DeviceRegistry& devices, Store& store,
         const Key& server_key, const std::optional<JobState>& resume, const UpdateChannel* channel)
    : config_(config),
      devices_(devices),
      store_(store),
      channel_(channel),
      server_key_(server_key),
      parameters_(config.model == nullptr ? 0 : config.model->parameters),
      clip_l2_(config.training.clip_l2) {
  config_.Validate();
  if (config_.plan.devices != devices_.size()) {
    throw std::invalid_argument("the plan's number of devices is not that of the registry");
  }
  if (config_.is_baseline() != (channel_ != nullptr)) {
    throw std::invalid_argument("a baseline needs its channel, which only a simulation has");
  }
  Check(ModelDigest(*config_.model, model_digest_), "the model's digest");
  const Key id = DeriveKey(server_key_, "sotto job");
  std::copy_n(resume ? resume->job_id : id.bytes, kJobIdSize, job_id_);
  if (!resume) RequireBudget();  // before there is a job in the store
  store_.BeginJob({job_id_, model_digest_, config_});
  if (resume) Resume(*resume);
}

void Job::Resume(const JobState& state) {
  if (!state.parameters.empty()) {
    if (state.parameters.size() != parameters_.size()) {
      throw std::runtime_error("the stored model has another number of parameters than the job's");
    }
    parameters_ = state.parameters;
  }
  if (state.clip_l2 != 0) clip_l2_ = static_cast<float>(state.clip_l2);
  round_ = state.next_round;
  attempt_ = state.next_attempt;
  attempts_ = state.attempts;
  surcharge_ = state.surcharge;
  RequireBudget();
}

Job::Phase Job::phase() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return phase_;
}

privacy::Statement Job::SpentAfter(uint32_t rounds) const {
  privacy::Plan plan = config_.plan;
  const int64_t charged = int64_t{rounds} + surcharge_;
  plan.rounds = std::max(plan.rounds, charged);
  privacy::Statement spent = privacy::Account(plan, charged, config_.spent_before);
  // The server has seen the updates of every attempt, whatever was charged for the releases.
  spent.epsilon_server = privacy::EpsilonAgainstServer(plan, attempts_, config_.spent_before);
  return spent;
}

// Why the budget cannot pay for the next round; empty if it can.
std::string Job::BudgetRefusal() const {
  if (!config_.is_accounted()) return "";
  const double next = SpentAfter(round_ + 1).epsilon;
  if (next <= config_.epsilon_budget) return "";
  const privacy::Statement spent = SpentAfter(round_);
  std::string earlier;
  if (spent.earlier_rounds > 0) {
    earlier = fmt::format(" and {} of earlier jobs on these devices", spent.earlier_rounds);
  }
  return fmt::format(
      "the privacy budget cannot pay for another round: epsilon {:.4g} at delta {:.3g} is spent by "
      "{} of {} rounds{}, the next one would make it {:.4g}, and the budget is {:.4g}; to go on, "
      "begin a job with a larger budget, or with more noise, or with new devices",
      spent.epsilon, spent.delta, round_, config_.plan.rounds, earlier, next,
      config_.epsilon_budget);
}

void Job::RequireBudget() const {
  if (round_ == config_.plan.rounds) return;
  if (const std::string refusal = BudgetRefusal(); !refusal.empty()) {
    throw std::invalid_argument(refusal);
  }
}

void Job::Finish(const std::string& reason) {
  phase_ = Phase::kFinished;
  finish_reason_ = reason;
}

bool Job::OpenRound() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (phase_ != Phase::kIdle) throw std::logic_error("a round can only be opened between rounds");
  if (diverged_) {
    Finish("round " + std::to_string(round_) +
           " would have made the model infinite, and left it as it was: training diverged; lower "
           "the learning rate or the noise");
    return false;
  }
  if (round_ == config_.plan.rounds) {
    Finish("all " + std::to_string(round_) + " rounds of the plan are released");
    return false;
  }
  PublishModel();
  StartAttempt();
  return phase_ == Phase::kOpen;
}

void Job::PublishModel() {
  model_bytes_.resize(4 * parameters_.size());
  for (size_t j = 0; j < parameters_.size(); ++j) {
    StoreU32Le(FloatBits(parameters_[j]), model_bytes_.data() + 4 * j);
  }
}

// Opens the next attempt at the round, or finishes the job if there can be none.
void Job::StartAttempt() {
  for (;; GiveAttemptUp()) {
    if (given_up_ == config_.max_attempts) {
      Finish("round " + std::to_string(round_ + 1) + " was given up after " +
             std::to_string(given_up_) + " attempts");
      return;
    }
    if (const std::string refusal = BudgetRefusal(); !refusal.empty()) {
      Finish(refusal);
      return;
    }
    RandomStream random(DeriveKey(server_key_, "sotto cohort", round_, attempt_), 0);
    cohort_ = DrawCohort(config_.plan.sampling, devices_.size(),
                         static_cast<uint32_t>(config_.plan.cohort), random);
    store_.CommitAttempt({round_, attempt_, cohort_});
    ++attempts_;
    if (cohort_.size() <= static_cast<size_t>(config_.plan.planned_reports)) break;
  }
  members_.assign(cohort_.size(), {});
  sum_ = std::make_unique<Accumulator>(config_.coordinates());
  is_heard_of_.assign(devices_.size(), false);
  heard_of_ = 0;
  reported_ = 0;
  rejected_ = 0;
  update_bytes_ = 0;
  phase_ = Phase::kOpen;
}

// What is given up costs nothing, because it is given up for reasons that have nothing to do with
// the data nor with who was drawn. Given such a reason the next cohort is as random as the first
// one, so the released models are distributed as if the attempt had never been. The reasons:
//
// - Fewer than min_devices of ALL devices asked for work before the deadline. A device asks before
//   it can know whether it is drawn, so the count says nothing about the draw. (Devices that cheat
//   can wait until others of theirs know: what that changes is a cohort without these, B of N - c
//   devices instead of B of N, and then their noise is honest.)
// - The process ended. Nobody may end it because of who reports.
// - A Poisson draw was above the cap. That does depend on the draw: what is released is then a
//   Poisson draw on condition that it is within the cap, which differs from one without by
//   Pr[Bin(N, q) > cap] in total variation. The plan's delta pays for that in every release.
//
// That few of the DRAWN devices report is no reason, and such a round is released, of noise if need
// be. Suppose that one device alone is up. Drawn anew until it reports, each release would hold its
// update for certain, and sampling would amplify nothing; nor would it help to charge what was
// given up, since the epsilons of N/B sampled rounds may be less than that of a certain one.
//
// Whoever watches the network is granted anyway that every device takes part in every release. What
// releases nothing shows no number that depends on data, and adds nothing to that epsilon either.
void Job::GiveAttemptUp() {
  ++attempt_;
  ++given_up_;
}

Job::Member* Job::FindMember(uint32_t device) {
  const auto found = std::lower_bound(cohort_.begin(), cohort_.end(), device);
  if (phase_ != Phase::kOpen || found == cohort_.end() || *found != device) return nullptr;
  return &members_[static_cast<size_t>(found - cohort_.begin())];
}

Reply Job::Answer(uint32_t device, const Request& request) {
  std::unique_lock<std::mutex> lock(mutex_);
  switch (request.kind) {
    case Request::Kind::kHello:
      return OnHello(device, request);
    case Request::Kind::kGetModel:
      return OnGetModel(device, request);
    case Request::Kind::kUpdateBegin:
      return OnUpdateBegin(device, request);
    case Request::Kind::kUpdateChunk:
      return OnUpdateChunk(device, request, lock);
    case Request::Kind::kNone:
      break;
  }
  return FinalError(ErrorCode::kMalformed);
}

bool Job::IsComplete() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  // To go on waiting for devices matters: a round that ends early is one that is released.
  return phase_ == Phase::kOpen && reported_ + rejected_ == cohort_.size() &&
         heard_of_ >= config_.min_devices;
}

void Job::HearOf(uint32_t device) {
  if (phase_ != Phase::kOpen || is_heard_of_[device]) return;
  is_heard_of_[device] = true;
  ++heard_of_;
}

Reply Job::OnHello(uint32_t device, const Request& request) {
  if (request.version != kProtocolVersion) return FinalError(ErrorCode::kVersion);
  if (!Equal(request.model_digest, model_digest_)) return FinalError(ErrorCode::kModelMismatch);
  if (phase_ == Phase::kFinished) {
    Reply reply;
    reply.kind = Reply::Kind::kDone;
    return reply;
  }
  HearOf(device);
  const Member* member = FindMember(device);
  if (member == nullptr || !RuleOf(member->state).trains) return Wait(kPollIntervalMs);
  Reply reply;
  reply.kind = Reply::Kind::kTrain;
  reply.task = config_.TaskFor(round_, clip_l2_);
  std::copy_n(job_id_, kJobIdSize, reply.task.job_id);
  reply.task.attempt = attempt_;
  return reply;
}

Reply Job::OnGetModel(uint32_t device, const Request& request) {
  const size_t offset = request.offset;
  if (FindMember(device) == nullptr) return FinalError(ErrorCode::kNotSelected);
  if (offset % 4 != 0 || offset >= model_bytes_.size()) return FinalError(ErrorCode::kMalformed);
  Reply reply;
  reply.kind = Reply::Kind::kModelChunk;
  reply.bytes = {model_bytes_.data() + offset,
                 std::min(kModelChunkSize, model_bytes_.size() - offset)};
  return reply;
}

bool Job::BelongsToAttempt(const Request& request) const {
  return Equal(request.job_id, job_id_) && request.round == round_ && request.attempt == attempt_;
}

Reply Job::OnUpdateBegin(uint32_t device, const Request& request) {
  Member* member = FindMember(device);
  if (member == nullptr) return FinalError(ErrorCode::kNotSelected);
  if (!BelongsToAttempt(request)) return FinalError(ErrorCode::kWrongAttempt);
  if (request.nonce.size() != kNonceSize || request.coding != config_.format().coding ||
      request.clip_bit_q20 != config_.ClipBitQ20() ||
      request.private_noise_q20 != config_.TaskFor(round_, clip_l2_).private_noise_q20) {
    return FinalError(ErrorCode::kMalformed);
  }
  const bool same_update = Equal(request.nonce, member->nonce);
  switch (RuleOf(member->state).on_update_begin) {
    case OnBegin::kTake:
      break;
    case OnBegin::kRepeatAck:
      return same_update ? Ack(member->size, true) : FinalError(ErrorCode::kConflict);
    case OnBegin::kAskLater:
      return Busy();
    case OnBegin::kRefuse:
      return FinalError(ErrorCode::kMalformed);
  }
  if (!same_update && !member->bytes.empty() && config_.plan.Trust() != kTrusted) {
    // What is accounted against this server is one update an attempt, not parts of a second one.
    Reject(*member);
    return FinalError(ErrorCode::kConflict);
  }
  if (!same_update) {
    // The device trained anew, for example after a reset: what came before is worth nothing.
    std::copy(request.nonce.begin(), request.nonce.end(), member->nonce);
    member->bytes.clear();
  }
  member->state = MemberState::kUploading;
  return Ack(member->bytes.size(), false);
}

void Job::Reject(Member& member) {
  member.state = MemberState::kRejected;
  member.bytes = {};
  ++rejected_;
}

Reply Job::OnUpdateChunk(uint32_t device, const Request& request,
                         std::unique_lock<std::mutex>& lock) {
  Member* member = FindMember(device);
  if (member == nullptr) return FinalError(ErrorCode::kNotSelected);
  if (!RuleOf(member->state).takes_chunks) return FinalError(ErrorCode::kWrongAttempt);
  if (request.offset != member->bytes.size() || request.bytes.empty()) {
    return FinalError(ErrorCode::kMalformed);
  }
  const size_t room = MaxUploadSize() - member->bytes.size();
  if (request.bytes.size() > room) return FinalError(ErrorCode::kTooLarge);
  member->bytes.insert(member->bytes.end(), request.bytes.begin(), request.bytes.end());
  if (!request.last) return Ack(member->bytes.size(), false);
  return FinishUpload(device, *member, lock);
}

Reply Job::FinishUpload(uint32_t device, Member& member, std::unique_lock<std::mutex>& lock) {
  // While a member decodes, CloseRound() waits and nobody else touches it.
  member.state = MemberState::kDecoding;
  member.size = member.bytes.size();
  ++decoding_;
  lock.unlock();
  bool valid = false;
  std::exception_ptr failure;
  try {
    valid = DecodeAndAdd(device, member);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  --decoding_;
  member.state = valid ? MemberState::kReported : MemberState::kRejected;
  member.bytes = {};
  if (valid) {
    ++reported_;
    update_bytes_ += member.size;
  } else {
    ++rejected_;
  }
  decoded_.notify_all();
  if (failure) std::rethrow_exception(failure);
  return valid ? Ack(member.size, true) : FinalError(ErrorCode::kMalformed);
}

size_t Job::MaxUploadSize() const {
  const uint32_t coordinates = config_.coordinates();
  return channel_ != nullptr ? channel_->MaxSize(coordinates)
                             : MaxUpdateSize(coordinates, config_.format());
}

bool Job::DecodeAndAdd(uint32_t device, const Member& member) {
  if (config_.mechanism == Mechanism::kNone) {
    return AddExact({member.bytes.data(), member.bytes.size()});
  }
  std::vector<int32_t> noisy(config_.coordinates());
  const bool valid = Decode(device, member, {noisy.data(), noisy.size()});
  if (valid) sum_->Add(Span<const int32_t>(noisy.data(), noisy.size()));
  SecureWipe(noisy.data(), noisy.size() * sizeof(noisy[0]));
  return valid;
}

bool Job::AddExact(ByteSpan encoded) {
  std::vector<int64_t> exact(parameters_.size());
  if (encoded.size() != 4 * exact.size()) return false;
  const double unit = config_.SumUnit(clip_l2_);
  for (size_t j = 0; j < exact.size(); ++j) {
    const double value = FloatFromBits(LoadU32Le(encoded.data() + 4 * j)) / unit;
    if (!(std::fabs(value) < 0x1p41)) return false;  // above any clipped update, or NaN
    exact[j] = std::llrint(value);
  }
  sum_->Add(Span<const int64_t>(exact.data(), exact.size()));
  return true;
}

bool Job::Decode(uint32_t device, const Member& member, Span<int32_t> noisy) const {
  const ByteSpan encoded(member.bytes.data(), member.bytes.size());
  if (channel_ != nullptr) return channel_->Decode(encoded, noisy);
  const Device& owner = devices_[device];
  const ByteSpan id(reinterpret_cast<const uint8_t*>(owner.id.data()), owner.id.size());
  Key round_key;
  return DeriveRoundKey(owner.secret, {job_id_, id, round_, attempt_, member.nonce}, &round_key) ==
             Status::kOk &&
         DecodeUpdate(round_key, config_.format(), encoded, noisy, FastEngine()) == Status::kOk;
}

// What a device with nothing to say would have brought: a zero update under this key, decoded.
void Job::DrawNoise(const Key& key, Span<int32_t> noise) const {
  if (channel_ != nullptr) {
    const std::vector<int32_t> zeros(noise.size());
    const std::vector<uint8_t> encoded = channel_->Encode(key, {zeros.data(), zeros.size()});
    if (!channel_->Decode({encoded.data(), encoded.size()}, noise)) {
      throw std::logic_error("a channel does not decode what it encoded");
    }
    return;
  }
  const uint8_t zero_update[1] = {0};
  const UpdateFormat unpadded = {Coding::kRange, DitherKind::kGaussian, 0};
  Check(DecodeUpdate(key, unpadded, zero_update, noise, FastEngine()), "topping the noise up");
}

// Adds `missing` zero updates under keys of the server's own: the same certified noise, exactly, as
// that many devices with nothing to say would have brought. With private noise theirs too, or the
// variance would tell how many reported.
void Job::TopUp(uint32_t missing) {
  const uint32_t private_noise_q20 = config_.TaskFor(round_, clip_l2_).private_noise_q20;
  ParallelFor(config_.threads, missing, [&](size_t i, int) {
    const auto number = static_cast<uint32_t>(i);
    std::vector<int32_t> noise(config_.coordinates());
    const Span<int32_t> view(noise.data(), noise.size());
    DrawNoise(DeriveKey(server_key_, "sotto zero", round_, attempt_, number), view);
    sum_->Add(Span<const int32_t>(view));
    if (private_noise_q20 != 0) {
      const Key seed = DeriveKey(server_key_, "sotto zero private", round_, attempt_, number);
      Check(PrivateNoise(seed, private_noise_q20).Generate(0, view), "topping the noise up");
      sum_->Add(Span<const int32_t>(view));
    }
    SecureWipe(noise.data(), noise.size() * sizeof(noise[0]));
  });
}

RoundOutcome Job::CloseRound() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (phase_ != Phase::kOpen) throw std::logic_error("no round is open");
  phase_ = Phase::kClosing;
  decoded_.wait(lock, [this] { return decoding_ == 0; });

  RoundOutcome outcome;
  outcome.round = round_;
  outcome.attempt = attempt_;
  outcome.cohort = static_cast<uint32_t>(cohort_.size());
  outcome.heard_of = heard_of_;
  outcome.reported = reported_;
  outcome.update_bytes = update_bytes_;
  outcome.clip_l2 = static_cast<double>(clip_l2_);
  if (config_.has_noise()) {
    outcome.noise_sigma = static_cast<double>(config_.NoiseSigmaFor(clip_l2_));
  }
  try {
    if (outcome.heard_of < config_.min_devices) {
      GiveAttemptUp();
      StartAttempt();
      return outcome;
    }
    // Nobody else touches the sum in this phase, so devices are answered while the work is done.
    lock.unlock();
    std::vector<float> next = Release(&outcome);
    lock.lock();
    FinishRound(std::move(next), outcome);
  } catch (const std::exception& error) {
    if (!lock.owns_lock()) lock.lock();
    Finish(std::string("stopped by an error: ") + error.what());
    throw;
  }
  return outcome;
}

void Job::FinishRound(std::vector<float> next, const RoundOutcome& outcome) {
  parameters_ = std::move(next);
  clip_l2_ = static_cast<float>(outcome.next_clip_l2);
  diverged_ = outcome.diverged;
  ++round_;
  attempt_ = 0;
  given_up_ = 0;
  members_.clear();
  sum_.reset();
  phase_ = Phase::kIdle;
}

// The bits are read in the sum alone, after its noise is complete.
void Job::AdaptClip(RoundOutcome* outcome) const {
  outcome->next_clip_l2 = outcome->clip_l2;
  if (!config_.clip_schedule) return;
  double fraction = 0;
  const int64_t bit_sum = sum_->sums()[parameters_.size()];
  outcome->next_clip_l2 = static_cast<double>(config_.NextClip(clip_l2_, bit_sum, &fraction));
  outcome->unclipped_fraction = fraction;
}

std::vector<float> Job::Release(RoundOutcome* outcome) {
  if (config_.has_noise()) {
    outcome->topped_up = static_cast<uint32_t>(config_.plan.planned_reports) - outcome->reported;
    TopUp(outcome->topped_up);
  }
  if (config_.is_accounted()) outcome->spent = SpentAfter(round_ + 1);
  AdaptClip(outcome);
  std::vector<float> next = parameters_;
  // That the sum is too large for the model is read off the sum: the round is released, with the
  // model as it was, and charged.
  outcome->diverged =
      !ApplyServerStep(*config_.model, sum_->sums().first(parameters_.size()),
                       {config_.SumUnit(clip_l2_), static_cast<double>(config_.plan.cohort),
                        config_.server_learning_rate, config_.smoothing},
                       {next.data(), next.size()});
  store_.CommitRelease({round_,
                        attempt_,
                        outcome->reported,
                        {next.data(), next.size()},
                        config_.mechanism,
                        config_.seeded,
                        outcome->clip_l2,
                        outcome->next_clip_l2,
                        outcome->noise_sigma,
                        config_.plan,
                        attempts_,
                        outcome->spent});
  outcome->released = true;
  return next;
}

}  // namespace sotto::server
