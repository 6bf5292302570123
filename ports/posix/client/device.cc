#include "device.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <stdexcept>
#include <utility>

#include "mark.h"
#include "reasons.h"
#include "sotto/bytes.h"
#include "sotto/posix/files.h"
#include "sotto/posix/port.h"
#include "sotto/posix/sleep.h"
#include "sotto/posix/terminal.h"

namespace sotto::posix {
namespace {

constexpr uint32_t kMaxFrame = 4096;
constexpr uint32_t kMaxBatchSize = 1024;
constexpr uint32_t kFirstBackOffMs = 500;
constexpr uint32_t kLastBackOffMs = 30000;

// A device that gives a lost server up does not wait longer than that for an answer.
uint32_t HoldMs(const ClientOptions& options) {
  const double hold_s =
      options.give_up_s > 0 ? std::min(options.hold_s, options.give_up_s / 2) : options.hold_s;
  return static_cast<uint32_t>(hold_s * 1000);
}

// What the device does in a round, for people.
const char* Activity(Client::State state) {
  if (state == Client::State::kDownload) return "drawn; takes the model";
  if (state == Client::State::kTrain) return "trains";
  return "sends its update";
}

// A log that cannot be written does not stop a device.
void PrintLine(const std::string& device, const std::string& line) {
  (void)std::fputs(fmt::format("{}: {}\n", device, Printable(line)).c_str(), stderr);
}

// Why this device takes no part in a task.
std::string WhyRefused(const ClientOptions& options, const TrainTask& task) {
  if (!task.is_private() && !options.allow_no_privacy) {
    return "the job trains without privacy; --allow-no-privacy takes part all the same";
  }
  return fmt::format("the job's private noise multiplier is {}, and --min-private-noise {}",
                     task.private_noise_multiplier(), options.min_private_noise);
}

// Why a final reply ends the device's part in the job.
std::string WhyFinal(const ClientOptions& options, const Reply& reply) {
  if (reply.kind == Reply::Kind::kTrain) return WhyRefused(options, reply.task);
  if (reply.code != ErrorCode::kModelMismatch) return Reason(reply.code);
  return fmt::format("this device has model {}, and {}", options.model, Reason(reply.code));
}

}  // namespace

Device::Device(const ClientOptions& options, const ModelInfo& model, const DeviceKey& key,
               Share share)
    : options_(options),
      key_(key),
      share_(std::move(share)),
      samples_(*share_.data, share_.view(), options.held_out),
      held_out_(MakeHeldOut(samples_.held_out_source())),
      memory_(model, kMaxBatchSize, MaxChunkBytes(kMaxFrame), true, true),
      entropy_(options.seed ? std::optional<SeededEntropy>(key.secret) : std::nullopt),
      client_(MakeConfig(model), memory_.buffers()),
      connection_(ParseServerAddress(options.server), key_, kMaxFrame),
      back_off_ms_(kFirstBackOffMs),
      last_contact_ms_(NowMs()) {
  if (entropy_) entropy_->Attach(&client_.task());
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
  config.max_frame = kMaxFrame;
  config.hold_ms = HoldMs(options_);
  return config;
}

Ending Device::Run() {
  for (;;) {
    if (LacksServer()) {
      return {Outcome::kNoServer,
              fmt::format("no server at {} for {} s", options_.server, options_.give_up_s)};
    }
    if (std::optional<Ending> ending = Step()) return *ending;
  }
}

bool Device::LacksServer() const {
  return options_.give_up_s > 0 &&
         static_cast<double>(NowMs() - last_contact_ms_) > options_.give_up_s * 1000;
}

// One step of the client, and the pause or the message that it asks for.
std::optional<Ending> Device::Step() {
  Client::Progress progress = Client::Progress::kAgain;
  if (const Status status = client_.Step(&progress); status != Status::kOk) {
    GiveRoundUp(status);
    return std::nullopt;
  }
  if (progress == Client::Progress::kDone) {
    connection_.Close();
    Say("the job is done");
    return Ending{};
  }
  SayWhatChanged(progress);
  if (client_.state() == Client::State::kUploadBegin) SayIfTrainingFailed();
  if (progress == Client::Progress::kWait) SleepMs(client_.wait_ms());
  if (client_.state() == Client::State::kTrain) {
    SayIfNothingIsHeldOut();
    RememberRound();
  }
  return progress == Client::Progress::kSend ? Talk() : std::nullopt;
}

// After a failure of this device itself.
void Device::GiveRoundUp(Status status) {
  if (status == Status::kInvalidArgument || status == Status::kEntropyFailed) {
    throw std::runtime_error(fmt::format("the device cannot take part: {}", Reason(status)));
  }
  Say(fmt::format("gave round {} up: {}", client_.task().round + 1, Reason(status)));
  BackOff();
}

// Exchanges the client's request for a reply.
std::optional<Ending> Device::Talk() {
  Reply reply;
  const Status status = Exchange(&reply);
  if (status != Status::kOk) {
    LoseLink(status);
    BackOff();
    return std::nullopt;
  }
  OnContact();
  return TakeReply(reply);
}

Status Device::Exchange(Reply* reply) {
  if (!connection_.is_open() && !connection_.Open()) return Status::kLinkLost;
  return connection_.Exchange(client_.request(), reply);
}

// After a reply of the device's own server.
void Device::OnContact() {
  back_off_ms_ = kFirstBackOffMs;
  last_contact_ms_ = NowMs();
  if (complaints_.Reset()) PrintLine(key_.device_id, "linked to " + options_.server);
}

void Device::LoseLink(Status status) {
  Complain(fmt::format("link to {}: {}", options_.server, WhyLost(status)));
  connection_.Close();
  client_.OnLinkLost();
}

std::string Device::WhyLost(Status status) const {
  if (!connection_.is_open()) return fmt::format("cannot connect: {}", connection_.error());
  if (connection_.is_authenticated()) return Reason(status);
  const bool is_refusal = status == Status::kPeerRefused || status == Status::kMismatch;
  if (!is_refusal) {
    return fmt::format("{}, before the server proved that it knows the key of {}", Reason(status),
                       key_.device_id);
  }
  return fmt::format("it does not accept the key of {}, or is not the server of this device",
                     key_.device_id);
}

std::optional<Ending> Device::TakeReply(const Reply& reply) {
  const Status status = client_.OnReply(reply);
  if (status == Status::kOk) return std::nullopt;
  if (client_.is_refused()) return Ending{Outcome::kRefused, WhyFinal(options_, reply)};
  const bool is_error = reply.kind == Reply::Kind::kError;
  Say("round given up: " + (is_error ? Reason(reply.code) : Reason(status)));
  BackOff();
  return std::nullopt;
}

// Pauses before the next try. The pause doubles with each try and has a random part, so that a
// fleet does not reconnect all at once.
void Device::BackOff() {
  uint8_t random[4] = {};
  if (Entropy(random) != Status::kOk) throw std::runtime_error("no entropy");
  const uint32_t jitter = LoadU32Le(random) % back_off_ms_;
  SleepMs(back_off_ms_ / 2 + jitter);
  back_off_ms_ = std::min(2 * back_off_ms_, kLastBackOffMs);
}

// Writes down the last round that this device trained for, and the receipt that came with it.
void Device::RememberRound() {
  const TrainTask& task = client_.task();
  const std::string mark = MarkText(task, client_.receipt());
  if (mark == marked_) return;
  ReplaceTextFile(MarkPath(options_), mark);
  marked_ = mark;
}

// Prints a line when the device's activity changes.
void Device::SayWhatChanged(Client::Progress progress) {
  std::string line = "waits to be drawn";
  if (progress != Client::Progress::kWait) {
    const Client::State state = client_.state();
    if (state == Client::State::kHello || state == Client::State::kDone) return;
    const TrainTask& task = client_.task();
    line =
        fmt::format("round {} attempt {}: {}", task.round + 1, task.attempt + 1, Activity(state));
  }
  if (line == said_) return;
  Say(said_ = line);
}

// The server cannot tell: such a device counts as 1/2 in the fleet's accuracy.
void Device::SayIfNothingIsHeldOut() {
  if (told_held_out_ || client_.task().accuracy_q20 == 0 || held_out_.samples.count != 0) return;
  told_held_out_ = true;
  const std::string why =
      options_.held_out == 0
          ? "--held-out is 0; name a share of them, for example --held-out 0.2"
          : fmt::format("--held-out {} of {} is none; name a larger share, or give it more samples",
                        options_.held_out, samples_.source().count);
  PrintLine(
      key_.device_id,
      "the job evaluates on held-out samples, and this device has none, so it counts as 1/2: " +
          why);
}

// A wrong sample, for example: the round takes zeros instead. Or numbers beyond the range of fixed
// point. Only this device's owner is told.
void Device::SayIfTrainingFailed() {
  const LocalRound& round = client_.local_round();
  const Status failure = round.failure();
  if (failure == Status::kOk && round.saturated_steps() == 0) {
    training_complaints_.Reset();
  } else if (training_complaints_.IsDue(NowMs())) {
    PrintLine(key_.device_id,
              failure != Status::kOk
                  ? fmt::format("training failed: {}; an update of zeros is sent instead",
                                Reason(failure))
                  : fmt::format("fixed point saturated in {} steps of the training: {}",
                                round.saturated_steps(),
                                "lower the learning rate or scale the features"));
  }
}

void Device::Say(const std::string& line) const {
  if (options_.verbose) PrintLine(key_.device_id, line);
}

void Device::Complain(const std::string& line) {
  const bool is_due = complaints_.IsDue(NowMs());
  if (options_.verbose) {
    Say(line);
  } else if (is_due) {
    PrintLine(key_.device_id, line + "; trying again");
  }
}

}  // namespace sotto::posix
