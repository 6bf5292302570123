#include "reporter.h"

#include <algorithm>
#include <utility>

#include "sotto/model/model_text.h"
#include "sotto/posix/hex.h"
#include "sotto/posix/port.h"

namespace sotto::posix {
namespace {

bool IsSameJob(const TrainTask& a, const TrainTask& b) {
  return std::equal(std::begin(a.job_id), std::end(a.job_id), std::begin(b.job_id));
}

bool IsSameAttempt(const TrainTask& a, const TrainTask& b) {
  return IsSameJob(a, b) && a.round == b.round && a.attempt == b.attempt;
}

// Of an older server nothing is known but that it has no work.
const char* WhatFor(WaitState state) {
  switch (state) {
    case WaitState::kNoJob:
      return "for the next job";
    case WaitState::kPaused:
      return "for the end of a pause";
    case WaitState::kDevices:
      return "for more devices of the fleet";
    case WaitState::kUnknown:
    case WaitState::kRounds:
      break;
  }
  return "to be drawn";
}

}  // namespace

void LinkReporter::Data(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) log_.Write(event::kData, {{"text", line}});
}

void LinkReporter::Started(const ModelInfo* model, uint32_t samples) {
  const std::string name = model == nullptr ? "the job's" : DescribeModel(*model);
  log_.Write(event::kStarted, {{"server", server_}, {"model", name}, {"samples", samples}});
}

void LinkReporter::LooksUp(const std::string& host) {
  log_.Write(event::kLooksUp, {{"host", host}});
}

void LinkReporter::Connected(const std::string& server) {
  log_.End(event::kRetrying);
  log_.Write(event::kConnected, {{"server", server}});
}

void LinkReporter::Retrying(const Failure& failure, uint32_t pause_ms) {
  log_.Write(event::kRetrying, {{"server", server_},
                                {"reason", failure.reason},
                                {"code", failure.code},
                                {"retry_in_ms", Milliseconds{pause_ms}}});
}

void LinkReporter::OtherMachine(uint32_t pause_ms) {
  log_.Write(event::kOtherMachine, {{"server", server_},
                                    {"reason", Reason(ErrorCode::kOtherMachine)},
                                    {"retry_in_ms", Milliseconds{pause_ms}}});
}

void LinkReporter::WriteEnding(const Ending& ending, const EventFields& more) {
  EventFields fields;
  if (!ending.reason.empty()) fields.emplace_back("reason", ending.reason);
  if (!ending.code.empty()) fields.emplace_back("code", ending.code);
  fields.insert(fields.end(), more.begin(), more.end());
  log_.Write(RowOf(ending.outcome).event, fields);
}

Reporter::Reporter(EventLog& log, std::string server) : LinkReporter(log, std::move(server)) {
  totals_.began_ms = NowMs();
}

// The time since the phase before ended.
Seconds Reporter::SecondsOfPhase() {
  const uint64_t now_ms = NowMs();
  const uint64_t began_ms = std::exchange(phase_began_ms_, now_ms);
  return {static_cast<double>(now_ms - began_ms) / 1000};
}

// Rounds and attempts count from 1 for people, as in the server's log.
EventFields Reporter::WithRound(const EventFields& more) const {
  const TrainTask task = totals_.last_round.value_or(TrainTask());
  EventFields fields = {{"round", uint64_t{task.round} + 1},
                        {"attempt", uint64_t{task.attempt} + 1}};
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

void Reporter::Connected(const std::string& server) {
  waiting_.clear();
  LinkReporter::Connected(server);
}

void Reporter::Waiting(WaitState state) {
  const char* const what = WhatFor(state);
  if (std::exchange(waiting_, what) != what) log_.Write(event::kWaiting, {{"what", what}});
}

void Reporter::StillWaiting() {
  if (waiting_.empty()) Waiting(WaitState::kUnknown);
}

// Another reason is news; the same one is repeated seldom.
void Reporter::StaysOut(const Failure& failure) {
  waiting_.clear();
  if (std::exchange(stays_out_, failure.reason) != failure.reason) log_.End(event::kStaysOut);
  log_.Write(event::kStaysOut, {{"reason", failure.reason}, {"code", failure.code}});
}

void Reporter::TookModel(const ModelInfo& model, uint32_t samples, const std::string& unsuited) {
  const std::string name = DescribeModel(model);
  log_.Write(event::kTookModel,
             {{"model", name}, {"parameters", model.parameters}, {"samples", samples}});
  unsuited_.clear();
  is_said_unsuited_ = !unsuited.empty();
  if (!is_said_unsuited_) return;
  unsuited_ = {{"model", name}, {"reason", unsuited}};
  log_.Write(event::kUnsuited, unsuited_);
}

// Before the first task of a job. For the first job of a model TookModel() has said it.
void Reporter::OnJob(const TrainTask& task) {
  const bool is_same = totals_.last_round && IsSameJob(*totals_.last_round, task);
  if (is_same || unsuited_.empty()) return;
  if (!std::exchange(is_said_unsuited_, false)) log_.Write(event::kUnsuited, unsuited_);
}

void Reporter::Drawn(const TrainTask& task) {
  const bool is_resumed = totals_.last_round && IsSameAttempt(*totals_.last_round, task);
  if (is_resumed) {
    log_.Write(event::kResumed, WithRound({}));
    return;
  }
  stays_out_.clear();
  OnJob(task);
  totals_.last_round = task;
  ++totals_.rounds_drawn;
  bytes_of_round_ = 0;
  SecondsOfPhase();
  log_.Write(event::kDrawn, WithRound({}));
}

void Reporter::Downloaded(uint32_t bytes) {
  log_.Write(event::kDownloaded, WithRound({{"bytes", bytes}, {"seconds", SecondsOfPhase()}}));
}

// Reports failures of a training, for example a wrong sample, which makes the update zeros, or
// numbers beyond the range of fixed point. Only this device's owner learns of them.
void Reporter::Trained(const LocalRound& round, uint32_t samples, const std::string& why_late) {
  const bool is_late = round.failure() == Status::kTooLate;
  const bool has_trained = !is_late || round.steps() > 0;
  if (round.measures()) {
    log_.Write(event::kMeasured, WithRound({{"seconds", SecondsOfPhase()}}));
  } else if (has_trained) {
    ++totals_.rounds_trained;
    log_.Write(
        event::kTrained,
        WithRound({{"samples", samples}, {"steps", round.steps()}, {"seconds", SecondsOfPhase()}}));
  }
  if (round.failure() != Status::kOk) {
    Failure failure = FailureOf(round.failure());
    if (!has_trained && !round.measures()) {
      failure.reason =
          "it got the task too late to train, as a device that was started, or came back, in the "
          "midst of a round may; it takes part in the next round for which it is drawn";
    }
    if (is_late && !why_late.empty()) failure.reason = why_late;
    WriteFailure(failure);
  } else {
    log_.End(event::kTrainingFailed);
  }
  if (round.saturated_steps() > 0) {
    log_.Write(event::kSaturated, WithRound({{"steps", round.saturated_steps()}}));
  } else {
    log_.End(event::kSaturated);
  }
}

// The server may hold fewer than before: it has dropped an update whose training began anew.
void Reporter::Acknowledged(uint64_t held) {
  const uint64_t before = std::exchange(bytes_of_round_, held);
  totals_.bytes_sent += held > before ? held - before : 0;
}

void Reporter::WriteFailure(const Failure& failure) {
  log_.Write(event::kTrainingFailed,
             WithRound({{"reason", failure.reason}, {"code", failure.code}}));
}

void Reporter::Sent(const LocalRound& round) {
  // Trained() could not know it: the update was not encoded yet.
  if (round.failure() == Status::kBufferTooSmall) WriteFailure(FailureOf(round.failure()));
  ++totals_.rounds_sent;
  log_.Write(event::kSent, WithRound({{"bytes", bytes_of_round_}, {"seconds", SecondsOfPhase()}}));
}

void Reporter::RoundGivenUp(const Failure& failure) {
  ++totals_.rounds_given_up;
  waiting_.clear();
  log_.Write(event::kRoundGivenUp, WithRound({{"reason", failure.reason}, {"code", failure.code}}));
}

void Reporter::Unread(const std::string& reason) {
  if (reason.empty()) {
    log_.End(event::kUnread);
  } else {
    log_.Write(event::kUnread, {{"reason", reason}});
  }
}

void Reporter::NothingHeldOut(const std::string& reason) {
  if (std::exchange(is_reported_held_out_, true)) return;
  log_.Write(event::kNothingHeldOut, {{"reason", reason}});
}

void Reporter::KeptRelease(const Release& release, uint32_t bytes) {
  no_release_.clear();
  log_.Write(event::kReleasedModel,
             {{"job", Hex(release.job_id)},
              {"rounds", release.rounds},
              {"state", release.is_final ? "a job that is over" : "a job that goes on"},
              {"bytes", bytes},
              {"threshold", release.threshold != 0.0f ? fmt::format("{:.9g}", release.threshold)
                                                      : std::string("none")},
              {"claims", std::string(release.claims.begin(), release.claims.end())}});
}

// That nothing is released yet is no news: the device asks again.
void Reporter::NoRelease(const Reply& reply, Status status) {
  if (reply.kind == Reply::Kind::kError && reply.code == ErrorCode::kBusy) return;
  const Failure failure = WhyNoRelease(reply, status);
  if (std::exchange(no_release_, failure.reason) == failure.reason) return;
  log_.Write(event::kNoRelease, {{"reason", failure.reason}, {"code", failure.code}});
}

void Reporter::KeptModelDamaged(const std::string& reason) {
  log_.Write(event::kKeptModelDamaged, {{"reason", reason}});
}

void Reporter::Ended(const Ending& ending) {
  WriteEnding(ending, {{"rounds_drawn", totals_.rounds_drawn},
                       {"rounds_sent", totals_.rounds_sent},
                       {"bytes_sent", totals_.bytes_sent}});
}

PeerReporter::PeerReporter(EventLog& log, std::string directory)
    : LinkReporter(log, std::move(directory)) {
  totals_.began_ms = NowMs();
}

void PeerReporter::Started(const ModelInfo& model, uint32_t samples, const std::string& statement) {
  LinkReporter::Started(&model, samples);
  log_.Write(peer_event::kPrivacy, {{"statement", statement}});
}

void PeerReporter::Listening(uint16_t port) {
  log_.Write(peer_event::kListening, {{"port", uint64_t{port}}});
}

// Steps count from 1 for people.
void PeerReporter::Joined(const PeerNode& node, const PeerTrainer& trainer) {
  log_.Write(peer_event::kJoined, {{"node", uint64_t{node.number()}},
                                   {"nodes", uint64_t{node.nodes()}},
                                   {"step", uint64_t{trainer.step()} + 1},
                                   {"steps", uint64_t{trainer.steps()}},
                                   {"version", uint64_t{node.head().version}}});
}

void PeerReporter::NeighbourLost(const PeerPlace& place, const Failure& failure) {
  log_.Write(peer_event::kNeighbour,
             {{"node", uint64_t{place.node}},
              {"address", std::string(place.address.begin(), place.address.end())},
              {"reason", failure.reason},
              {"code", failure.code}});
}

void PeerReporter::Published(const PeerTrainer& trainer, uint32_t head, uint32_t base) {
  ++totals_.published;
  totals_.bytes_published += trainer.publication().size();
  if (head != base) {
    ++totals_.fallbacks;
    log_.Write(peer_event::kFellBack, {{"version", uint64_t{head}}, {"base", uint64_t{base}}});
  }
  log_.Write(peer_event::kPublished, {{"step", uint64_t{trainer.step()}},
                                      {"version", uint64_t{trainer.publication_version()}},
                                      {"bytes", uint64_t{trainer.publication().size()}}});
}

void PeerReporter::Adopted(uint32_t step, bool is_accepted) {
  if (is_accepted) {
    ++totals_.accepted;
  } else {
    log_.Write(peer_event::kNotAccepted, {{"step", uint64_t{step}}});
  }
}

void PeerReporter::Serving(uint32_t version, double seconds) {
  log_.Write(peer_event::kServing, {{"version", uint64_t{version}}, {"seconds", Seconds{seconds}}});
}

void PeerReporter::Ended(const Ending& ending, const PeerTrainer& trainer) {
  if (ending.outcome != Outcome::kDone) return WriteEnding(ending, {});
  log_.Write(peer_event::kStepsDone, {{"steps", uint64_t{trainer.steps()}},
                                      {"releases", uint64_t{trainer.ledger().releases}},
                                      {"accepted", totals_.accepted}});
}

}  // namespace sotto::posix
