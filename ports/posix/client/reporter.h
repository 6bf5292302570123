// Tells what a device does: events for the log, totals for the results. Part of ports/posix/client.
//
// Device calls it when something has happened. It decides what is worth an event: a round that goes
// on after a lost link is no new one, and "waiting" is said once until something changes. One
// thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "ending.h"
#include "sotto/local_round.h"
#include "sotto/log/event_log.h"
#include "sotto/messages.h"

namespace sotto::posix {

// Of one process.
struct Totals {
  uint64_t rounds_drawn = 0;
  uint64_t rounds_trained = 0;
  uint64_t rounds_sent = 0;
  uint64_t rounds_given_up = 0;
  uint64_t bytes_sent = 0;              // of encoded updates that the server has acknowledged
  std::optional<TrainTask> last_round;  // the last one that the device was drawn for
  uint64_t began_ms = 0;                // NowMs()
};

// Why something failed: a sentence for people, and the name of the status or error code.
struct Failure {
  std::string reason;
  std::string code;
};
Failure FailureOf(Status status);
Failure FailureOf(ErrorCode code);

class Reporter {
 public:
  // The log outlives the reporter.
  //   server  HOST:PORT, for people
  Reporter(EventLog& log, std::string server);

  void Started(const ModelInfo& model, uint32_t samples);

  // The server has proved itself on a new link.
  void Connected();
  // The device has asked for work, and there is none yet.
  void Waiting();
  // The device pauses before its next try.
  void Retrying(const Failure& failure, uint32_t pause_ms);

  // A task came: of a new round, or of the one that a lost link has cut.
  void Drawn(const TrainTask& task);
  void Downloaded(uint32_t bytes);
  void Trained(const LocalRound& round, uint32_t samples);
  // The server holds so many bytes of the update.
  void Acknowledged(uint64_t held);
  void Sent();
  void RoundGivenUp(const Failure& failure);
  void NothingHeldOut(const std::string& reason);

  void Ended(const Ending& ending);

  const Totals& totals() const { return totals_; }

 private:
  EventFields WithRound(const EventFields& more) const;
  Seconds SecondsOfPhase();

  EventLog& log_;
  const std::string server_;
  Totals totals_;
  uint64_t bytes_of_round_ = 0;
  uint64_t phase_began_ms_ = 0;  // the download, the training or the upload
  bool is_reported_waiting_ = false;
  bool is_reported_held_out_ = false;
};

}  // namespace sotto::posix
