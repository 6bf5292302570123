#include "device.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>
#include <utility>

#include "mark.h"
#include "sotto/model/model_text.h"
#include "sotto/models.h"
#include "sotto/posix/files.h"
#include "sotto/posix/port.h"
#include "sotto/posix/signals.h"

namespace sotto::posix {
namespace {

constexpr uint32_t kMaxBatchSize = 1024;
constexpr uint64_t kSoonMs = 1000;  // an answer that comes later is waited for
constexpr uint64_t kAnyTimeMs = 1'000'000;

// A device that gives a lost server up does not wait longer than that for an answer.
uint32_t HoldMs(const ClientOptions& options) {
  const double hold_s =
      options.give_up_s > 0 ? std::min(options.hold_s, options.give_up_s / 2) : options.hold_s;
  return static_cast<uint32_t>(hold_s * 1000);
}

// What to do about another model.
std::string ModelRemedy(const std::string& name, const ModelInfo& own) {
  if (name.empty()) return "another one; name the job's model with --model";
  if (name == own.name) {
    return fmt::format("another model of the name {}; name the job's file with --model", name);
  }
  if (FindModel(name.c_str()) == nullptr) {
    return fmt::format("{}; name the file of that model with --model", name);
  }
  return fmt::format("{0}; name the job's model with --model {0}", name);
}

std::string WhyMismatch(ByteSpan name, const ModelInfo& own) {
  return fmt::format("this device has model {}, the job trains {}", DescribeModel(own),
                     ModelRemedy({name.begin(), name.end()}, own));
}

bool IsInRound(Client::State state) {
  return state != Client::State::kHello && state != Client::State::kDone;
}

}  // namespace

Device::Device(const ClientOptions& options, const ModelInfo& model, const DeviceKey& key,
               Share share, Reporter& reporter)
    : options_(options),
      model_(model),
      key_(key),
      share_(std::move(share)),
      samples_(*share_.data, share_.view(), options.held_out),
      held_out_(MakeHeldOut(samples_.held_out_source())),
      memory_(model, kMaxBatchSize, MaxChunkBytes(kMaxFrame), true, true,
              2 * model.parameters + kMaxPadding),  // nearly any update, and every fixed-length one
      records_(StatePath(options)),
      entropy_(options.seed ? std::optional<SeededEntropy>(key.secret) : std::nullopt),
      client_(MakeConfig(model), memory_.buffers()),
      connection_(ParseServerAddress(options.server), key_, kMaxFrame),
      reporter_(reporter),
      tries_(options, reporter) {
  if (entropy_) entropy_->Attach(&client_.task());
  RequireLedger();
  const std::vector<uint8_t> receipt = PrepareMark(MarkPath(options));
  client_.RestoreReceipt({receipt.data(), receipt.size()});
}

ClientConfig Device::MakeConfig(const ModelInfo& model) {
  ClientConfig config;
  config.model = &model;
  config.device_id = {reinterpret_cast<const uint8_t*>(key_.device_id.data()),
                      key_.device_id.size()};
  config.secret = key_.secret;
  config.samples = samples_.source();
  config.held_out = &held_out_;
  config.port = SystemPort();
  if (entropy_) {
    config.port.entropy = SeededEntropy::Fill;
    config.port.context = &*entropy_;
  }
  config.allow_training_without_privacy = options_.allow_no_privacy;
  config.min_private_noise_q20 = PrivateNoiseLimitQ20(options_.min_private_noise);
  records_.SetPath(StoreSlot::kClient, LedgerPath(options_));
  config.ledger = LedgerIn(records_.store());
  config.most_private_updates = options_.max_private_updates;
  config.max_frame = kMaxFrame;
  config.hold_ms = HoldMs(options_);
  return config;
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

std::optional<PrivateSpending> Device::private_spending() {
  const UpdateLedger ledger = LedgerIn(records_.store());
  PrivateSpending spent;
  const bool is_known = ledger.load(ledger.store, &spent) == Status::kOk;
  return is_known ? std::optional<PrivateSpending>(spent) : std::nullopt;
}

Ending Device::Run() {
  reporter_.Started(model_, samples_.source().count);
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
  return has_model_ ? memory_.base() : Span<const float>();
}

// One step of the client, and the pause or the message that it asks for.
std::optional<Ending> Device::Step() {
  const bool is_training = client_.state() == Client::State::kTrain;
  Client::Progress progress = Client::Progress::kAgain;
  if (const Status status = client_.Step(&progress); status != Status::kOk) {
    if (client_.is_refused()) return RefusedTask(client_.task());
    GiveRoundUp(status);
    return std::nullopt;
  }
  if (is_training && client_.state() == Client::State::kUploadBegin) {
    reporter_.Trained(client_.local_round(), samples_.source().count);
  }
  switch (progress) {
    case Client::Progress::kDone:
      return Ending{};
    case Client::Progress::kWait:
      SleepUnlessStopped(client_.wait_ms());
      return std::nullopt;
    case Client::Progress::kSend:
      return Talk();
    case Client::Progress::kAgain:
      break;
  }
  return std::nullopt;
}

// After a failure of this device itself.
void Device::GiveRoundUp(Status status) {
  if (status == Status::kInvalidArgument || status == Status::kEntropyFailed) {
    throw std::runtime_error(
        fmt::format("the device cannot take part: {} ({})", Reason(status), StatusName(status)));
  }
  if (status == Status::kStoreFailed) records_.ThrowError();
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
      client_.private_updates(), options_.max_private_updates);
}

Ending Device::RefusedTask(const TrainTask& task) const {
  return {Outcome::kRefused, WhyRefused(task), StatusName(Status::kPeerRefused)};
}

// A final reply that ends the device's part in the job.
Ending Device::EndingOf(const Reply& reply) const {
  if (reply.kind == Reply::Kind::kTrain) return RefusedTask(reply.task);
  const std::string reason = reply.code == ErrorCode::kModelMismatch
                                 ? WhyMismatch(reply.bytes, model_)
                                 : Reason(reply.code);
  return {Outcome::kRefused, reason, ErrorCodeName(reply.code)};
}

// Exchanges the client's request for a reply.
std::optional<Ending> Device::Talk() {
  Reply reply;
  const Status status = Exchange(&reply);
  if (status != Status::kOk) {
    if (StopSignal() == 0) LoseLink(status);
    return std::nullopt;
  }
  OnContact();
  return TakeReply(reply);
}

Status Device::Exchange(Reply* reply) {
  return connection_.is_open() || Open() ? AwaitReply(reply) : Status::kLinkLost;
}

bool Device::Open() {
  is_new_link_ = true;
  return connection_.Open();
}

// A server that holds its answer to a Hello has no work for now.
Status Device::AwaitReply(Reply* reply) {
  const Request& request = client_.request();
  for (uint64_t patience_ms = kSoonMs;;) {
    const Status status = connection_.Exchange(request, reply, patience_ms);
    if (status != Status::kWouldBlock || StopSignal() != 0) return status;
    if (!connection_.is_authenticated()) continue;
    ReportLink();
    if (request.kind == Request::Kind::kHello) reporter_.Waiting();
    patience_ms = kAnyTimeMs;
  }
}

void Device::ReportLink() {
  if (!is_new_link_ || !connection_.is_authenticated()) return;
  is_new_link_ = false;
  reporter_.Connected();
}

// After a reply of the device's own server.
void Device::OnContact() {
  ReportLink();
  tries_.Answered();
}

void Device::LoseLink(Status status) {
  const Failure failure = WhyLost(connection_, key_.device_id, status);
  connection_.Close();
  client_.OnLinkLost();
  tries_.PauseAfter(failure);
}

std::optional<Ending> Device::TakeReply(const Reply& reply) {
  const Client::State before = client_.state();
  const Status status = client_.OnReply(reply);
  if (status == Status::kOk) {
    FollowReply(before, reply);
    return std::nullopt;
  }
  if (client_.is_refused()) return EndingOf(reply);
  const Failure failure = FailureOf(reply, status);
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
  if (reply.kind == Reply::Kind::kError && reply.code == ErrorCode::kOtherMachine) {
    reporter_.OtherMachine(client_.wait_ms());
    connection_.Close();  // as the server does
  } else if (reply.kind == Reply::Kind::kWait) {
    reporter_.Waiting();
  } else if (reply.kind == Reply::Kind::kTrain) {
    if (client_.state() == Client::State::kHello) return;  // a task of which it has sent all
    reporter_.Drawn(client_.task());
    ReportIfNothingIsHeldOut();
  } else if (before == Client::State::kDownload && client_.state() == Client::State::kTrain) {
    has_model_ = true;
    reporter_.Downloaded(4 * model_.parameters);
    RememberRound();
  } else if (reply.kind == Reply::Kind::kAck) {
    reporter_.Acknowledged(reply.offset);
    if (reply.complete) reporter_.Sent(client_.local_round());
  }
}

// Writes down the last round that this device trained for, and the receipt that came with it.
void Device::RememberRound() {
  const TrainTask& task = client_.task();
  const std::string mark = MarkBody(task, client_.receipt());
  if (mark == marked_) return;
  WriteMark(MarkPath(options_), mark);
  marked_ = mark;
}

// The server cannot tell: such a device counts as 1/2 in the fleet's accuracy.
void Device::ReportIfNothingIsHeldOut() {
  if (client_.task().accuracy_q20 == 0 || held_out_.samples.count != 0) return;
  reporter_.NothingHeldOut(
      options_.held_out == 0
          ? "--held-out is 0; name a share of them, for example --held-out 0.2"
          : fmt::format("--held-out {} of {} is none; name a larger share, or give it more samples",
                        options_.held_out, samples_.source().count));
}

}  // namespace sotto::posix
