// Tells what a device does: events for the log, totals for the results. Part of ports/posix/client.
//
// Device and PeerDevice call theirs when something has happened. It decides what is worth an event:
// a round that goes on after a lost link is no new one, and "waiting" is said once until something
// changes. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ending.h"
#include "failure.h"
#include "sotto/client.h"
#include "sotto/local_round.h"
#include "sotto/log/event_log.h"
#include "sotto/model_info.h"
#include "sotto/peer_node.h"

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

// The events that all devices have: of their start, their link and their end.
class LinkReporter {
 public:
  // The log outlives the reporter.
  //   server  the addresses of the server or the directory, for people
  LinkReporter(EventLog& log, std::string server) : log_(log), server_(std::move(server)) {}

  // How the device's data were read, a line each, for its owner.
  void Data(const std::vector<std::string>& lines);
  //   model  null: it has none yet
  void Started(const ModelInfo* model, uint32_t samples);

  // Before a look-up of the server's name, which may take many seconds.
  void LooksUp(const std::string& host);
  // The server has proved itself on a new link.
  //   server  HOST:PORT of that one
  void Connected(const std::string& server);
  // The device pauses before its next try.
  void Retrying(const Failure& failure, uint32_t pause_ms);
  // The server's last words: another machine uses the device's key. The device pauses.
  void OtherMachine(uint32_t pause_ms);

 protected:
  // An end, with its reason and more fields.
  void WriteEnding(const Ending& ending, const EventFields& more);

  EventLog& log_;

 private:
  const std::string server_;
};

class Reporter : public LinkReporter {
 public:
  Reporter(EventLog& log, std::string server);

  void Connected(const std::string& server);
  // The device has asked for work, and there is none yet. Told of every answer, or that there is
  // none yet.
  void Waiting(WaitState state);
  void StillWaiting();
  // It takes no part in the job, and stays.
  void StaysOut(const Failure& failure);
  // It goes on with the job's model.
  //   unsuited  why none of its samples are for that model, which is said once for each job; empty:
  //             they are
  void TookModel(const ModelInfo& model, uint32_t samples, const std::string& unsuited);

  // A task came: of a new round, or of the one that a lost link has cut.
  void Drawn(const TrainTask& task);
  void Downloaded(uint32_t bytes);
  //   why_late  why the device's owner had the training given up; empty: the owner had not
  void Trained(const LocalRound& round, uint32_t samples, const std::string& why_late);
  // The server holds this many bytes of the update.
  void Acknowledged(uint64_t held);
  void Sent(const LocalRound& round);
  void RoundGivenUp(const Failure& failure);
  // Of a round that begins: why its recorded samples could not be read; empty: they were.
  void Unread(const std::string& reason);
  void NothingHeldOut(const std::string& reason);

  // A released model was kept.
  //   bytes  that were downloaded for it
  void KeptRelease(const Release& release, uint32_t bytes);
  // No released model is available now; reported once for each reason.
  void NoRelease(const Reply& reply, Status status);
  void KeptModelDamaged(const std::string& reason);

  void Ended(const Ending& ending);

  const Totals& totals() const { return totals_; }

 private:
  EventFields WithRound(const EventFields& more) const;
  void WriteFailure(const Failure& failure);
  void OnJob(const TrainTask& task);
  Seconds SecondsOfPhase();

  Totals totals_;
  uint64_t bytes_of_round_ = 0;
  uint64_t phase_began_ms_ = 0;    // the download, the training or the upload
  std::string waiting_;            // what it was said to wait for
  std::string stays_out_;          // why it was said to take no part
  std::string no_release_;         // why it was said to have no released model
  EventFields unsuited_;           // of the event; empty: its samples suit the model
  bool is_said_unsuited_ = false;  // of the next job
  bool is_reported_held_out_ = false;
};

// Of one process.
struct PeerTotals {
  uint64_t published = 0;
  uint64_t accepted = 0;
  uint64_t fallbacks = 0;
  uint64_t bytes_published = 0;
  uint64_t began_ms = 0;  // NowMs()
};

// Of a node without a server.
class PeerReporter : public LinkReporter {
 public:
  PeerReporter(EventLog& log, std::string directory);

  void Started(const ModelInfo& model, uint32_t samples, const std::string& statement);
  void Listening(uint16_t port);

  void Joined(const PeerNode& node, const PeerTrainer& trainer);
  void NeighbourLost(const PeerPlace& place, const Failure& failure);

  // A publication's bytes are fixed. `head` was granted; the publication builds on `base`.
  void Published(const PeerTrainer& trainer, uint32_t head, uint32_t base);
  // Its bytes were adopted.
  void Adopted(uint32_t step, bool is_accepted);
  void Serving(uint32_t version, double seconds);

  void Ended(const Ending& ending, const PeerTrainer& trainer);

  const PeerTotals& totals() const { return totals_; }

 private:
  PeerTotals totals_;
};

}  // namespace sotto::posix
