#include "device.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

#include "mark.h"
#include "sotto/model/model_text.h"
#include "sotto/posix/files.h"
#include "sotto/posix/port.h"
#include "sotto/posix/signals.h"
#include "sotto/wire.h"

namespace sotto::posix {
namespace {

constexpr uint64_t kSoonMs = 1000;  // an answer that comes later is waited for
constexpr uint32_t kNextJobMs = 15'000;
constexpr uint32_t kTakeModelMs = 2000;  // a reading that takes longer: twice, four times as long

// What a server that does not know devices that stay means by Done, for such a device.
Reply NextJob() {
  Reply wait;
  wait.kind = Reply::Kind::kWait;
  wait.state = WaitState::kNoJob;
  wait.wait_ms = kNextJobMs;
  return wait;
}

// No later job is for this key.
bool IsOfOldKey(ErrorCode code) {
  return code == ErrorCode::kKeyRotated || code == ErrorCode::kKeyRevoked;
}

Share FirstShare(const ClientOptions& options, const ModelInfo* model) {
  if (model != nullptr) return LoadShare(options, *model);
  RequireData(options);
  return EmptyShare();
}

// The time until which a device that began to take a model at `began_ms` sends nothing. So nobody
// learns how long it read its samples, and whether it could read them all.
uint64_t EndOfTaking(uint64_t began_ms) {
  const uint64_t taken_ms = NowMs() - began_ms;
  uint64_t silent_ms = kTakeModelMs;
  while (silent_ms < taken_ms) silent_ms *= 2;
  return began_ms + silent_ms;
}

bool IsInRound(Client::State state) {
  return state != Client::State::kHello && state != Client::State::kDone;
}

bool IsInFetch(Client::State state) {
  return state == Client::State::kAskRelease || state == Client::State::kFetchRelease;
}

// What the folder of --keep-model holds of a net.
Span<const float> HeldBy(const ModelKeeper& keeper, const ModelInfo* model) {
  return model == nullptr ? Span<const float>() : keeper.Held(*model);
}

}  // namespace

Device::Device(const ClientOptions& options, const SharedModel& model, const DeviceKey& key,
               Reporter& reporter)
    : options_(options),
      key_(key),
      records_(StatePath(options)),
      personal_(StatePath(options)),
      keeper_(options.keep_model),
      trainee_(std::make_unique<Trainee>(options, model, FirstShare(options, model.get()), key_,
                                         Ledger(), personal_.store(),
                                         HeldBy(keeper_, model.get()))),
      connection_(ParseServerAddresses(options.server), key_, kMaxFrame, options.resume_tls),
      reporter_(reporter),
      tries_(options, reporter) {
  personal_.SetPath(StoreSlot::kPersonal, PersonalPath(options));
  reporter_.Data(DescribeData(trainee_->share()));
  if (!keeper_.damage().empty()) reporter_.KeptModelDamaged(keeper_.damage());
  RequireLedger();
  const std::vector<uint8_t> receipt = PrepareMark(MarkPath(options));
  client().RestoreReceipt({receipt.data(), receipt.size()});
}

UpdateLedger Device::Ledger() {
  records_.SetPath(StoreSlot::kClient, LedgerPath(options_));
  return LedgerIn(records_.store());
}

// Throws if the ledger cannot be read: the device must not count from zero.
void Device::RequireLedger() {
  const UpdateLedger ledger = LedgerIn(records_.store());
  PrivateSpending spent;
  const Status status = ledger.load(ledger.store, &spent);
  if (status == Status::kOk) return;
  if (status == Status::kStoreFailed) records_.ThrowError();
  throw FileError(
      LedgerPath(options_) +
      ": this is not the ledger of this device's updates, or it is damaged; name another file with "
      "--ledger. What was sent stays sent: a new ledger counts from 0");
}

void Device::ThrowStoreError() const {
  if (!personal_.error().empty()) personal_.ThrowError();
  records_.ThrowError();
}

std::optional<PrivateSpending> Device::private_spending() {
  const UpdateLedger ledger = LedgerIn(records_.store());
  PrivateSpending spent;
  const bool is_known = ledger.load(ledger.store, &spent) == Status::kOk;
  return is_known ? std::optional<PrivateSpending>(spent) : std::nullopt;
}

Ending Device::Run() {
  reporter_.Started(model(), trainee_->samples());
  const Ending ending = RunUntilEnd();
  connection_.Close();
  return ending;
}

Ending Device::RunUntilEnd() {
  for (;;) {
    if (std::optional<Ending> ending = tries_.End("server")) return *ending;
    if (std::optional<Ending> ending = Step()) return *ending;
  }
}

Span<const float> Device::downloaded_model() const {
  return has_model_ ? trainee_->base() : Span<const float>();
}

// One step of the client, and the pause or the message that it asks for.
std::optional<Ending> Device::Step() {
  const bool is_training = client().state() == Client::State::kTrain;
  if (is_training) LimitTraining();
  Client::Progress progress = Client::Progress::kAgain;
  if (const Status status = client().Step(&progress); status != Status::kOk) {
    if (client().is_refused()) return RefuseTask(client().task());
    GiveRoundUp(status);
    return std::nullopt;
  }
  if (is_training && client().state() == Client::State::kUploadBegin) {
    reporter_.Trained(client().local_round(), trainee_->samples(), why_late_);
    if (client().local_round().kept() == Status::kStoreFailed) ThrowStoreError();
  }
  switch (progress) {
    case Client::Progress::kDone:
      return FetchAtEnd();
    case Client::Progress::kWait:
      SleepUnlessStopped(client().wait_ms());
      return std::nullopt;
    case Client::Progress::kSend:
      return Talk();
    case Client::Progress::kAgain:
      break;
  }
  return std::nullopt;
}

// Between two mini-batches.
void Device::LimitTraining() {
  const auto taken_ms = static_cast<double>(NowMs() - training_since_ms_);
  if (options_.round_s <= 0 || taken_ms < options_.round_s * 1000 || !why_late_.empty()) return;
  client().GiveTrainingUp();
  why_late_ = fmt::format("it was not finished after --round-seconds {}", options_.round_s);
}

// After a failure of this device itself.
void Device::GiveRoundUp(Status status) {
  if (status == Status::kInvalidArgument || status == Status::kEntropyFailed) {
    throw std::runtime_error(
        fmt::format("the device cannot take part: {} ({})", Reason(status), StatusName(status)));
  }
  if (status == Status::kStoreFailed) ThrowStoreError();
  if (status == Status::kMalformed) RequireLedger();
  reporter_.RoundGivenUp(FailureOf(status));
  tries_.Pause();
}

// Why this device takes no part in a task.
std::string Device::WhyRefused(const TrainTask& task) const {
  if (!task.is_private() && !options_.allow_no_privacy) {
    return "the job trains without privacy; --allow-no-privacy takes part all the same";
  }
  if (!task.HasPrivateNoise(PrivateNoiseLimitQ20(options_.min_private_noise))) {
    return fmt::format("the job's private noise multiplier is {}, and --min-private-noise {}",
                       task.private_noise_multiplier(), options_.min_private_noise);
  }
  return fmt::format(
      "this device has sent {} updates with private noise, and --max-private-updates is {}",
      client().private_updates(), options_.max_private_updates);
}

// Whether no later job can be for this device.
bool Device::IsUsedUp(const TrainTask& task) const {
  const uint32_t limit = options_.max_private_updates;
  return limit > 0 && client().private_updates() >= limit &&
         task.HasPrivateNoise(PrivateNoiseLimitQ20(options_.min_private_noise));
}

// A task that the device does not take. It may not be its last.
std::optional<Ending> Device::RefuseTask(const TrainTask& task) {
  const Failure failure = {WhyRefused(task), StatusName(Status::kPeerRefused)};
  if (IsUsedUp(task)) return Ending{Outcome::kRefused, failure.reason, failure.code};
  return StayOut(failure);
}

// The client asks again in a minute.
std::optional<Ending> Device::StayOut(const Failure& failure) {
  if (options_.once) return Ending{Outcome::kRefused, failure.reason, failure.code};
  reporter_.StaysOut(failure);
  FetchIfDue(WaitState::kUnknown);
  return std::nullopt;
}

// Too many samples for this machine are none, as in ShareFor(). Throws std::bad_alloc if the model
// itself is too large.
std::unique_ptr<Trainee> Device::TraineeFor(const SharedModel& model) {
  Share share = ShareFor(options_, *model);
  try {
    return std::make_unique<Trainee>(options_, model, std::move(share), key_, Ledger(),
                                     personal_.store(), keeper_.Held(*model));
  } catch (const std::bad_alloc&) {
    share = EmptyShare();
    share.unsuited = kTooLittleMemory;
  }
  return std::make_unique<Trainee>(options_, model, std::move(share), key_, Ledger(),
                                   personal_.store(), keeper_.Held(*model));
}

// The device reads its samples for the model and goes on with it. If they do not suit it, the
// device takes part without samples.
void Device::Take(const SharedModel& model) {
  const uint64_t began_ms = NowMs();
  auto next = TraineeFor(model);
  next->client().RestoreReceipt(client().receipt());
  trainee_ = std::move(next);
  has_model_ = false;
  has_taken_ = true;
  fetched_in_.reset();
  differs_.clear();
  reporter_.TookModel(*trainee_->model(), trainee_->samples(), trainee_->share().unsuited);
  reporter_.Data(DescribeData(trainee_->share()));
  const uint64_t end_ms = EndOfTaking(began_ms);
  const uint64_t now_ms = NowMs();
  if (now_ms < end_ms) SleepUnlessStopped(static_cast<uint32_t>(end_ms - now_ms));
  tries_.NothingToAnswer();
}

// The job trains another model, which the server calls `name`. A model that is too large for this
// machine ends no device that stays: the next job may have a smaller one.
std::optional<Ending> Device::OnOtherModel(const std::string& name) {
  try {
    return LookAtModel(name);
  } catch (const std::bad_alloc&) {
    // Not told to the server: how much is left may depend on the samples that this device holds.
    return StayOut({fmt::format("this machine has too little memory for the job's model, and "
                                "--model-memory, {} MB, allows it more than there is: lower it, or "
                                "free some memory",
                                options_.model_memory_mb),
                    ErrorCodeName(ErrorCode::kModelMismatch)});
  }
}

std::optional<Ending> Device::LookAtModel(const std::string& name) {
  // No server makes a device spin by another model each time.
  if (has_taken_) SleepUnlessStopped(model_pace_.WaitMs(0));
  Download download(MostDescriptionBytes(options_));
  Reply reply;
  while (!download.is_whole()) {
    if (!Ask(download.NextRequest(), &reply)) return std::nullopt;  // it meets the job again
    if (!download.Take(reply)) break;
  }
  JobModel job;
  if (download.is_whole()) {
    job = Judge(options_, model(), name, download.bytes());
  } else {
    job.reason = fmt::format("{}; {}", WhyMismatch(name, model()), download.why());
  }
  if (job.model != nullptr) {
    Take(job.model);
    return std::nullopt;
  }
  const std::string said = std::exchange(differs_, job.differs);
  const bool is_other_job = std::exchange(differs_from_, name) != name;
  if ((differs_ != said || is_other_job) && !differs_.empty()) {
    (void)Ask(client().request(), &reply);  // so the server's operator knows it at once
  }
  return StayOut({job.reason, ErrorCodeName(ErrorCode::kModelMismatch)});
}

// Exchanges the client's request for a reply.
std::optional<Ending> Device::Talk() {
  Reply reply;
  if (Ask(client().request(), &reply)) return TakeReply(reply);
  return is_over_ ? std::optional<Ending>(Ending{}) : std::nullopt;
}

// False: there was no answer, and the link is lost.
bool Device::Ask(const Request& request, Reply* reply) {
  const bool is_open = connection_.is_open() || Open();
  const Status status = is_open ? AwaitReply(WithDifference(request), reply) : Status::kLinkLost;
  if (status != Status::kOk) {
    if (StopSignal() == 0) LoseLink(status);
    return false;
  }
  OnContact();
  return true;
}

bool Device::Open() {
  is_new_link_ = true;
  differs_.clear();  // the server may train another model by now
  if (!std::exchange(has_looked_up_, true) && !IsNumericAddress(connection_.server().host)) {
    reporter_.LooksUp(connection_.server().host);
  }
  return connection_.Open();
}

// A Hello says what the device's own client does not know: that it asks for descriptions, that it
// has no model, or how its model differs from the job's, as far as the smallest frame has room.
Request Device::WithDifference(Request hello) const {
  if (hello.kind != Request::Kind::kHello) return hello;
  static constexpr uint8_t kNoDigest[kSha256Size] = {};
  const bool is_whole = hello.version != 0;  // a short one leaves out what stays as it was
  if (is_whole && model() == nullptr) hello.model_digest = kNoDigest;
  const bool is_told_at_once = options_.once && options_.accept_model.empty();
  if (is_whole && !is_told_at_once) hello.abilities.features |= kFeatureDescription;
  hello.differs = {reinterpret_cast<const uint8_t*>(differs_.data()), differs_.size()};
  uint8_t frame[kFrameHeaderSize + kMinMaxFrame];
  size_t size = 0;
  while (!hello.differs.empty() &&
         EncodeRequest(hello, kMinMaxFrame, frame, &size) != Status::kOk) {
    hello.differs = hello.differs.first(hello.differs.size() - 1);
  }
  return hello;
}

// A server that holds its answer to a Hello has no work for now.
Status Device::AwaitReply(const Request& request, Reply* reply) {
  for (uint64_t patience_ms = kSoonMs;;) {
    const Status status = connection_.Exchange(request, reply, patience_ms);
    if (status != Status::kWouldBlock || StopSignal() != 0) return status;
    if (!connection_.is_authenticated()) continue;
    ReportLink();
    if (request.kind == Request::Kind::kHello) reporter_.StillWaiting();
    patience_ms = kUntilAnsweredMs;
  }
}

void Device::ReportLink() {
  if (!is_new_link_ || !connection_.is_authenticated()) return;
  is_new_link_ = false;
  reporter_.Connected(AddressText(connection_.server()));
}

// After a reply of the device's own server.
void Device::OnContact() {
  ReportLink();
  tries_.Answered();
}

void Device::LoseLink(Status status) {
  const Failure failure = WhyLost(connection_, key_.device_id, status);
  connection_.Close();
  client().OnLinkLost();
  tries_.PauseAfter(failure);
}

std::optional<Ending> Device::TakeReply(const Reply& reply) {
  const Client::State before = client().state();
  if (model() == nullptr && reply.kind == Reply::Kind::kTrain) {
    LoseLink(Status::kMalformed);  // it has said that it has no model
    return std::nullopt;
  }
  const Reply taken = reply.kind == Reply::Kind::kDone && !options_.once ? NextJob() : reply;
  const Status status = client().OnReply(taken);
  if (IsInFetch(before)) return FollowFetch(status, taken);
  if (status == Status::kOk) {
    FollowReply(before, taken);
    return std::nullopt;
  }
  if (client().is_refused()) {
    if (taken.kind == Reply::Kind::kTrain) return RefuseTask(taken.task);
    const Failure failure = FailureOf(taken.code);
    if (IsOfOldKey(taken.code)) return Ending{Outcome::kRefused, failure.reason, failure.code};
    if (taken.code != ErrorCode::kModelMismatch) return StayOut(failure);
    return OnOtherModel({taken.bytes.begin(), taken.bytes.end()});
  }
  if (status == Status::kStoreFailed) ThrowStoreError();
  const Failure failure = FailureOf(taken, status);
  if (!IsInRound(before)) {
    tries_.PauseAfter(failure);
    return std::nullopt;
  }
  reporter_.RoundGivenUp(failure);
  tries_.Pause();
  return std::nullopt;
}

// After a reply that the client has taken.
void Device::FollowReply(Client::State before, const Reply& reply) {
  if (reply.kind == Reply::Kind::kWait || reply.kind == Reply::Kind::kTrain) {
    has_taken_ = false;
    model_pace_.Forget();
  }
  if (reply.kind == Reply::Kind::kError && reply.code == ErrorCode::kOtherMachine) {
    reporter_.OtherMachine(client().wait_ms());
    connection_.Close();  // as the server does
  } else if (reply.kind == Reply::Kind::kWait) {
    differs_.clear();
    reporter_.Waiting(reply.state);
    FetchIfDue(reply.state);
  } else if (reply.kind == Reply::Kind::kTrain) {
    if (client().state() == Client::State::kHello) return;  // a task of which it has sent all
    reporter_.Drawn(client().task());
    ReportIfNothingIsHeldOut();
  } else if (reply.kind == Reply::Kind::kAck) {
    reporter_.Acknowledged(reply.offset);
    if (reply.complete) {
      reporter_.Sent(client().local_round());
      fetched_in_.reset();  // its round will be released
    }
  }
  const bool had_none = before == Client::State::kHello || before == Client::State::kDownload;
  if (had_none && client().state() == Client::State::kTrain) FollowDownload();
}

// The round's model is there: with a reply that brought its last byte, or with the task if the
// device holds that model already.
void Device::FollowDownload() {
  has_model_ = true;
  training_since_ms_ = NowMs();
  why_late_.clear();
  reporter_.Downloaded(client().downloaded_bytes());
  const RecordedSamples* const recorded = trainee_->share().recorded.get();
  if (recorded != nullptr) reporter_.Unread(recorded->why_unread());
  RememberRound();
}

// Writes down the last round that this device trained for, and the receipt that came with it.
void Device::RememberRound() {
  const TrainTask& task = client().task();
  const std::string mark = MarkBody(task, client().receipt());
  if (mark == marked_) return;
  WriteMark(MarkPath(options_), mark);
  marked_ = mark;
}

// The server cannot tell: such a device counts as 1/2 in the fleet's accuracy.
void Device::ReportIfNothingIsHeldOut() {
  const bool has_samples = trainee_->share().unsuited.empty();  // else its owner knows the reason
  if (client().task().accuracy_q20 == 0 || trainee_->held_out() != 0 || !has_samples) return;
  reporter_.NothingHeldOut(
      options_.held_out == 0
          ? "--held-out is 0; name a share of them, for example --held-out 0.2"
          : fmt::format("--held-out {} of {} is none; name a larger share, or give it more samples",
                        options_.held_out, trainee_->samples()));
}

}  // namespace sotto::posix
