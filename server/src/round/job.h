// A training job on the server: opens rounds, closes them and releases models. Part of
// sotto::server/round.
//
// An attempt takes the updates (attempt.h). A release turns their sum into the next model
// (release.h). The job decides which attempt or round comes next, checks the budget and writes the
// log.
//
//   idle --OpenRound()--> open --CloseRound()--> idle    released
//                                           \--> open    given up: too few devices, next attempt
//   idle --OpenRound()--> finished                       all rounds released, or budget spent
//   idle --OpenRound()--> idle                           too few devices are eligible, or paused;
//                                                        CloseRound() may end like this, too
//
// CloseRound() is CloseUploads() followed by FinishRound(). Processes that share an attempt merge
// their parts between these two calls.
//
// Answer(), IsComplete(), Lacking() and phase() are safe from any thread at any time. All other
// methods belong to the thread that opens and closes rounds. Other threads may call them only while
// no round is being opened or closed.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "downloads/model_codes.h"
#include "round/attempt.h"
#include "round/budget.h"
#include "round/cohort.h"
#include "round/devices.h"
#include "round/job_config.h"
#include "round/job_log.h"
#include "round/release.h"
#include "round/round_outcome.h"
#include "round/turn_book.h"
#include "sotto/messages.h"

namespace sotto::server {

class Job {
 public:
  enum class Phase { kIdle, kOpen, kClosing, kFinished };

  // The registry and the log must outlive the job. A new job's plan has as many devices as are
  // eligible; a resumed one keeps its plan.
  //   server_key  fresh entropy at each start of the server. The job id, the initial weights, the
  //               cohorts and the noise of zero updates derive from it, so a restart never repeats
  //               them.
  //   resume      the job's state in its log; absent: a new job, which starts from the
  //               configuration's initial_parameters or else from initial_weights.h
  // Throws std::invalid_argument for a bad configuration, and for a budget that cannot pay for the
  // next round; the message says what would help. A new job is then not begun. Throws
  // std::runtime_error from the log, for example if a resumed job has another configuration than it
  // began with.
  Job(const JobConfig& config, const DeviceRegistry& devices, JobLog& log, const Key& server_key,
      const std::optional<JobState>& resume = std::nullopt);

  // Draws a cohort, commits the attempt and lets its devices train. Returns false in phase
  // kFinished if all rounds are released, if the budget cannot pay for another one, or if the job
  // gave up; and in phase kIdle if it waits (waiting_for()). Throws std::runtime_error from the
  // log.
  bool OpenRound();

  // Devices have joined, left or got other secrets. A device that left or has another secret is
  // treated so at once (Attempt::SetDevices()); the next attempt is drawn of the new fleet. Call it
  // from any thread.
  //   devices       made by DeviceRegistry::Changed() from the job's registry
  //   spent_before  what earlier jobs have spent on the devices, those that joined included
  void SetFleet(SharedDevices devices, std::vector<privacy::SpentRounds> spent_before);

  // While it is paused a job opens no attempt. The one that is open goes on. From any thread.
  void SetPaused(bool paused);

  // Of kPasses, while the job waits for connected devices that have a turn left: waiting_for() as
  // it is now. Empty: there are enough, OpenRound() can open an attempt. Absent: it does not wait
  // for that.
  std::optional<std::string> WaitingNow() const;

  // The turns of the job's devices; null unless the job is of kPasses.
  const TurnBook* turns() const { return turns_ ? &*turns_ : nullptr; }

  // Why OpenRound() opened nothing though the job is not finished, for people; empty: it did.
  const std::string& waiting_for() const { return waiting_for_; }

  // Ends the job for a reason of its operator, a kind that IsEnd(). An open attempt is given up:
  // its sum is not read (GiveAttemptUp() in job.cc, lemma 5). Turns that were sealed stay charged.
  // Not between CloseUploads() and FinishRound().
  void End(Halt kind, const std::string& reason);

  // Shows the model that CloseRound() has released: devices may fetch it from now on. OpenRound()
  // and End() do so, too. From any thread, while no round is being opened or closed.
  void ShowRelease() { codes_->Publish(); }

  // Closes the attempt at its deadline: no update is accepted from now on.
  //   - If at least min_devices devices checked in, the release is made, committed and published,
  //     however many of the drawn devices reported.
  //   - Otherwise the attempt is given up. Nothing of it is released or charged (see
  //     GiveAttemptUp() in job.cc). Another cohort is drawn, or the job finishes after max_attempts
  //     attempts.
  // Devices are answered while this runs.
  // Throws what the log throws. Nothing is then released, and this job does nothing more. Its
  // devices wait, and do not learn that the job is done, because a later start resumes it.
  RoundOutcome CloseRound() { return FinishRound(CloseUploads()); }

  // The two halves of CloseRound().
  //   CloseUploads  returns this process's part of the attempt
  //   total         the merged parts of all processes; each device counts in one part only
  PartialSum CloseUploads();
  RoundOutcome FinishRound(PartialSum total);

  // From Suspend() to Proceed() every device waits. A server chooses when it publishes
  // the result of a round: until then no device must see what CloseRound() has opened.
  void Suspend();
  void Proceed();

  // The answer to a device's request. A device that stays (kFeatureStays) is told to wait when the
  // job is over, any other that it is done. `device` is the registry's index of an authenticated
  // device. The job does not answer kGetRelease (net/server.h).
  // The reply's bytes stay valid until the next OpenRound(), a model's until the next but one.
  // Throws StaleLog if the device's receipt shows that the log is an older copy: the program must
  // then stop.
  Reply Answer(uint32_t device, const Request& request);

  // The device cannot be reached. Of passes in the order connected, no attempt asks it until its
  // next Hello; no other draw looks at who is there. Call it for what the network or the device's
  // owner does, such as a cable that is pulled or a program that ends while it waits. How long a
  // device trains must not decide whether it is asked (plans/turns.h). Any thread.
  //   since  a Hello after this time shows that it is back
  void OnGone(uint32_t device,
              std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now());

  // True if the configuration lets rounds close early, every device of the open round's cohort has
  // reported or had its update rejected, and enough devices have checked in. There is then no
  // reason to wait longer.
  bool IsComplete() const;

  // The devices heard so far in the open attempt that lack something that its task needs. None
  // between attempts. Safe from any thread.
  LackCounts Lacking() const;

  // What a device with these abilities lacks for the job, for people; empty: nothing.
  std::string WhatLacks(const Abilities& device) const;

  Phase phase() const;
  uint32_t round() const { return round_; }  // the next to be released, from 0
  uint32_t attempt() const { return attempt_; }
  float clip_l2() const { return clip_l2_; }  // in that round; changes only in CloseRound()
  const std::vector<uint32_t>& cohort() const { return cohort_; }

  // The released model; changes only in CloseRound().
  Span<const float> parameters() const { return {parameters_->data(), parameters_->size()}; }

  // What devices download: the models that were shown. It may outlive the job. Never null.
  const std::shared_ptr<ModelCodes>& codes() const { return codes_; }
  const uint8_t (&job_id() const)[kJobIdSize] { return job_id_; }
  const JobConfig& config() const { return config_; }

  // The average of the models, this one included, if the job asks for one and a round was released;
  // else empty.
  std::vector<float> Average() const { return optimiser_->Average(); }

  // What this job and the jobs before it have spent so far. The claims against the server count
  // every committed attempt, released or not. No claims if the codec is not accounted.
  privacy::Statement Spent() {
    return config_.codec->accounted ? budget_.SpentAfter(round_, attempts_) : privacy::Statement();
  }

  // The same after some of its rounds, when `attempts` were committed.
  privacy::Statement SpentAfter(uint32_t rounds, uint32_t attempts) {
    return config_.codec->accounted ? budget_.SpentAfter(rounds, attempts) : privacy::Statement();
  }
  uint32_t attempts() const { return attempts_; }  // committed, of the whole job

  // The state with which a later Job goes on. Call it between rounds.
  JobState State() const;

  // How the job ended, once its phase is kFinished; and why, for people.
  Halt end() const { return end_; }
  const std::string& finish_reason() const { return finish_reason_; }

  // What it has left.
  const Budget& budget() const { return budget_; }

  // True if the job finished with rounds left that its budget could pay for: no attempt at the
  // round could be released, or training diverged. Its devices are told to wait, not that the job
  // is done, because a later start resumes it.
  bool gave_up() const { return IsRetried(end_); }

 private:
  void BeginWithInitialModel(const std::optional<JobState>& resume);
  void Resume(const JobState& state);
  void RequireBudget();
  void Finish(Halt kind, const std::string& reason);
  void StartAttempt();
  void TakeFleet();
  std::string Hindrance() const;
  std::string HindranceOfTurns(const std::vector<Candidate>& heard,
                               const std::vector<Candidate>& with_room) const;
  std::string OfDifferentOwners() const;
  void RequireOwners() const;
  // Which devices count that have not settled (JobLog::Settle()).
  enum class Unsettled { kNone, kAll };
  std::vector<Candidate> DevicesWithRoom(Unsettled unsettled) const;
  int64_t NumberIn(uint32_t device) const;
  std::vector<Candidate> HeardOf(std::vector<Candidate> candidates) const;
  std::vector<uint32_t> ChooseCohort() const;
  void Seal();
  std::vector<int64_t> Drawn() const;  // DeviceRegistry::NumberOf() of the cohort, ascending
  privacy::Plan PlanOfRound() const {
    return PlanForFleet(budget_.phases().Limited(config_.plan), budget_.devices());
  }
  void DrawCohort();
  void GiveAttemptUp();
  TrainTask MakeTask() const;
  RoundOutcome OutcomeOf(const AttemptCounts& counts) const;
  ReleaseResult MakeRelease(PartialSum total, RoundOutcome* outcome);
  void Commit(const ReleaseResult& release, const RoundOutcome& outcome);
  void Publish(ReleaseResult release);
  // The open attempt, or one that was just closed; null between rounds.
  std::shared_ptr<Attempt> CurrentAttempt() const;
  bool KeepsTime(uint32_t device) const;

  const JobConfig config_;
  SharedDevices devices_;  // of the last attempt that was opened
  JobLog& log_;
  Budget budget_;
  const Key server_key_;
  const std::unique_ptr<const Estimator> estimator_;
  const std::unique_ptr<Optimiser> optimiser_;
  uint8_t job_id_[kJobIdSize] = {};
  uint8_t model_digest_[kSha256Size] = {};

  const Demand needs_;             // of the first round and all others
  std::optional<TurnBook> turns_;  // of kPasses

  mutable std::mutex mutex_;                                       // guards the next twelve members
  std::vector<std::chrono::steady_clock::time_point> last_heard_;  // of kPasses, by registry index
  Phase phase_ = Phase::kIdle;
  WaitState wait_state_ = WaitState::kRounds;  // what a device waits for that has no work
  std::string finish_reason_;
  Halt end_ = Halt::kWaiting;  // an end once it is finished
  std::shared_ptr<Attempt> current_;
  bool suspended_ = false;
  SharedDevices next_devices_;  // the newest fleet; null: devices_
  std::vector<privacy::SpentRounds> next_spent_before_;
  bool paused_ = false;
  std::vector<bool> gone_;        // of kPasses, by registry index; see OnGone()
  std::vector<bool> keeps_time_;  // the same; by its last Hello, the device keeps to a report time

  std::string waiting_for_;
  bool waits_for_turns_ = false;
  std::vector<Candidate> candidates_;  // of kPasses, for the attempt that begins
  std::vector<int64_t> joined_;  // DeviceRegistry::NumberOf(), since the last committed attempt
  uint32_t round_ = 0;
  uint32_t attempt_ = 0;
  uint32_t given_up_ = 0;  // attempts at the current round
  uint32_t attempts_ = 0;  // committed, of the whole job
  bool diverged_ = false;  // in the last release
  std::vector<uint32_t> cohort_;
  std::vector<bool> heard_before_;  // devices that the last attempt heard; empty: none
  std::chrono::steady_clock::time_point closed_ = std::chrono::steady_clock::now();  // that attempt
  LackCounts lacking_before_;  // of the last attempt
  SharedParameters parameters_;
  std::shared_ptr<ModelCodes> codes_;
  float clip_l2_ = 0.0F;
};

}  // namespace sotto::server
