// A device of the fleet: its dialogue with the server, job after job. Part of ports/posix/client.
//
// sotto/client.h holds the dialogue. This class adds the connection, the pauses between tries, the
// mark file, the models of jobs (job_model.h) and the reports to a Reporter.
//
// The device stays when a job is over. A job that the owner's options refuse, and a model or a
// protocol that the server refuses, it tells its owner and asks again each minute: the next job may
// be its own. With --once these end its part, and so does Done; all of them over a link on which
// the server has proved that it knows the device's secret. Besides, --max-private-updates and a key
// that was rotated or revoked end it, and the owner, by --give-up or a stop signal. Nothing that
// another party can send or suppress ends it: the device tries again, with pauses that double, up
// to 15 to 45 s.
//
// Another model than its own. The device asks for the description of the job's model. If its owner
// allows that model, the device reads its samples for it and goes on with it, over the same link;
// else it says in each Hello how the two models differ. Whether its samples suit the model is told
// to its owner alone: a device whose samples do not takes part like any other, without samples, and
// its next message comes no sooner or later.
//
// A stop signal (sotto/posix/signals.h) is noticed between two batches of a training, and at once
// in a pause or in a wait for the server; the look-up of the server's name alone is not cut.
//
// With --keep-model the device fetches the newest released model: when it is told what it waits for
// and that is news, after a round in which it took part, each kAskReleaseMs, and with --once when
// the job is over. It needs no server that knows released models.
//
// It owns all of the device's memory. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connection.h"
#include "ending.h"
#include "job_model.h"
#include "kept_model.h"
#include "options.h"
#include "reporter.h"
#include "sotto/client.h"
#include "sotto/model/model_file.h"
#include "sotto/posix/key_file.h"
#include "sotto/posix/record_store.h"
#include "sotto/retry_pace.h"
#include "trainee.h"
#include "tries.h"

namespace sotto::posix {

class Device {
 public:
  // Reads the device's samples. Throws std::invalid_argument if --server is not HOST:PORT, and
  // where PrepareMark() does, and LoadShare(), or RequireData() if there is no model yet. Throws a
  // FileError if the ledger of updates is damaged or cannot be read.
  //   options   outlive the device
  //   model     null: the server's job gives the device one
  //   reporter  outlives the device; told of everything but the ending
  Device(const ClientOptions& options, const SharedModel& model, const DeviceKey& key,
         Reporter& reporter);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Takes part in rounds until the device's part ends, and closes the connection. Blocks. Call it
  // once. Failures that pass are tried again. Throws std::runtime_error if the machine fails: no
  // entropy, TLS cannot start, the disk is full; and if the client's configuration is invalid.
  // Throws a FileError if the mark file, the ledger or the record of personal layers can no longer
  // be read or written.
  Ending Run();

  // The model that the device trains; null: it has none yet.
  const ModelInfo* model() const { return trainee_->model(); }

  // [model.parameters] the newest model that was downloaded whole, as it came; empty: none was.
  Span<const float> downloaded_model() const;

  // What the ledger says that this device has spent; absent: it cannot be read.
  std::optional<PrivateSpending> private_spending();

 private:
  Client& client() { return trainee_->client(); }
  const Client& client() const { return trainee_->client(); }
  UpdateLedger Ledger();
  void RequireLedger();
  [[noreturn]] void ThrowStoreError() const;
  std::string WhyRefused(const TrainTask& task) const;
  bool IsUsedUp(const TrainTask& task) const;
  Ending RunUntilEnd();

  // These return how it ended, once it has.
  std::optional<Ending> Step();
  std::optional<Ending> Talk();
  std::optional<Ending> TakeReply(const Reply& reply);
  std::optional<Ending> RefuseTask(const TrainTask& task);
  std::optional<Ending> StayOut(const Failure& failure);
  std::optional<Ending> OnOtherModel(const std::string& name);
  std::optional<Ending> LookAtModel(const std::string& name);

  void GiveRoundUp(Status status);
  void FollowDownload();
  void FollowReply(Client::State before, const Reply& reply);
  void FetchIfDue(WaitState state);
  std::optional<Ending> FetchAtEnd();
  std::optional<Ending> FollowFetch(Status status, const Reply& reply);
  void Take(const SharedModel& model);
  std::unique_ptr<Trainee> TraineeFor(const SharedModel& model);
  bool Ask(const Request& request, Reply* reply);
  Request WithDifference(Request hello) const;
  void LimitTraining();
  bool Open();
  Status AwaitReply(const Request& request, Reply* reply);
  void ReportLink();
  void OnContact();
  void LoseLink(Status status);
  void RememberRound();
  void ReportIfNothingIsHeldOut();

  const ClientOptions& options_;
  DeviceKey key_;
  RecordStore records_;
  RecordStore personal_;  // apart, as each store remembers what failed last
  ModelKeeper keeper_;
  std::unique_ptr<Trainee> trainee_;
  Connection connection_;
  Reporter& reporter_;
  bool has_model_ = false;
  bool is_new_link_ = false;    // the reporter was not told of the link yet
  std::string marked_;          // what the mark file holds
  std::string differs_;         // of the job's model; empty: it has none, or nothing is known
  std::string differs_from_;    // what the server calls that model
  bool has_looked_up_ = false;  // the server's name
  bool has_taken_ = false;      // a job's model, and no job has been for it yet
  RetryPace model_pace_{RetryPace::kFirstMs};
  uint64_t training_since_ms_ = 0;
  std::string why_late_;  // see Reporter::Trained()
  // The last fetch of a released model, and whether another one is due whatever the clock says.
  uint64_t fetched_at_ms_ = 0;
  std::optional<WaitState> fetched_in_;
  bool is_over_ = false;  // with --once: the job is, and the last fetch is under way
  uint8_t claims_[kMaxClaimsSize] = {};
  Tries tries_;
};

}  // namespace sotto::posix
