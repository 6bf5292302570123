// A training job on the server: opens rounds, closes them and releases models. Part of
// sotto::server/round.
//
// Attempts take the updates (attempt.h), a release makes the next model of their sum (release.h);
// the job decides which comes next, what the budget allows and what is written down.
//
//   idle --OpenRound()--> open --CloseRound()--> idle    released
//                                           \--> open    given up: too few devices, next attempt
//   idle --OpenRound()--> finished                       all rounds released, or budget spent
//
// CloseRound() is CloseUploads() and FinishRound(): several processes that each hold a part of the
// attempt merge their sums in between.
//
// Answer(), IsComplete() and phase() may be called from any thread at any time; everything else
// from the thread that opens and closes rounds, or from others while it does neither.
#ifndef SOTTO_ROUND_JOB_H_
#define SOTTO_ROUND_JOB_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "round/attempt.h"
#include "round/budget.h"
#include "round/devices.h"
#include "round/job_config.h"
#include "round/job_log.h"
#include "round/release.h"
#include "sotto/messages.h"

namespace sotto::server {

// What became of a round when it was closed.
struct RoundOutcome {
  bool released = false;
  uint32_t round = 0;
  uint32_t attempt = 0;
  uint32_t cohort = 0;        // devices drawn
  uint32_t checked_in = 0;    // of all devices, drawn or not, those that asked for work
  uint32_t reported = 0;      // complete, valid updates
  uint32_t topped_up = 0;     // zero updates added so that the noise is constant
  uint64_t update_bytes = 0;  // encoded bytes of all reports
  bool diverged = false;      // the model would not have been finite: it stays as it was
  double clip_l2 = 0.0;       // the round's bound on an update's norm, model units
  double noise_sigma = 0.0;   // of one encoding, model units; 0 without noise
  // Of a release under adaptive clipping: the noisy share of the cohort that was not clipped, in
  // [0, 1], a drop-out counting half; and the bound that follows.
  std::optional<double> unclipped_fraction;
  double next_clip_l2 = 0.0;
  privacy::Statement spent;  // of the job so far, if it is accounted and the round was released
};

class Job {
 public:
  enum class Phase { kIdle, kOpen, kClosing, kFinished };

  // The registry and the log must outlive the job.
  //   server_key  fresh entropy at each start of the server: job id, cohorts and the noise of
  //               zero updates derive from it, so a restart never repeats one
  //   resume      what the store holds of the job; absent: a new job, from a model of zeros
  // Throws std::invalid_argument for a bad configuration, and for a budget that cannot pay for the
  // next round, saying what would; a new job is then not begun. Throws std::runtime_error from the
  // store: a job is resumed with the configuration it began with.
  Job(const JobConfig& config, const DeviceRegistry& devices, JobLog& log, const Key& server_key,
      const std::optional<JobState>& resume = std::nullopt);

  // Draws a cohort, commits the attempt and lets its devices train. False, and the phase is
  // kFinished, if all rounds are released or the budget cannot pay for another one.
  // Throws std::runtime_error from the store.
  bool OpenRound();

  // The deadline: no update is accepted from here on. If enough devices checked in: makes the
  // release, commits it and publishes it, however many of the drawn devices reported. Otherwise the
  // attempt is given up: nothing of it is released or charged (see GiveAttemptUp), and another
  // cohort is drawn, or the job is finished if that would be one too many. Devices are answered
  // while this runs.
  // Throws what the store throws: nothing is released, and this job does nothing more. Its devices
  // are told to wait, not that the job is done: a later start resumes it.
  RoundOutcome CloseRound() { return FinishRound(CloseUploads()); }

  // The two halves of CloseRound().
  //   CloseUploads  this process's part of the attempt
  //   total         of all processes, merged; each device counts in one part alone
  PartialSum CloseUploads();
  RoundOutcome FinishRound(PartialSum total);

  // The answer to a device's request. `device` is the registry's index of an authenticated device.
  // The reply's bytes stay valid until the next OpenRound().
  Reply Answer(uint32_t device, const Request& request);

  // True if every device of the open round's cohort has reported, or was refused what it sent, and
  // enough devices checked in: no reason to wait any longer.
  bool IsComplete() const;

  Phase phase() const;
  uint32_t round() const { return round_; }  // the next to be released, from 0
  uint32_t attempt() const { return attempt_; }
  float clip_l2() const { return clip_l2_; }  // of that round; changes only in CloseRound()
  const std::vector<uint32_t>& cohort() const { return cohort_; }

  // The released model; changes only in CloseRound().
  Span<const float> parameters() const { return {parameters_.data(), parameters_.size()}; }
  const JobConfig& config() const { return config_; }

  // What this job and those before it have spent so far; without claims if it is not accounted.
  privacy::Statement Spent() {
    return config_.codec->accounted ? budget_.SpentAfter(round_, attempts_) : privacy::Statement();
  }

  // Says why the job finished, for people.
  const std::string& finish_reason() const { return finish_reason_; }

  // The job finished with rounds left that its budget could have paid for: too few devices checked
  // in, in every attempt, or training diverged. Its devices are told to wait, not that the
  // job is done: they are wanted when it is resumed.
  bool gave_up() const { return gave_up_; }

 private:
  void Resume(const JobState& state);
  void RequireBudget();
  void Finish(const std::string& reason);
  void GiveUp(const std::string& reason);
  void PublishModel();
  void StartAttempt();
  void DrawCohort();
  void GiveAttemptUp();
  TrainTask MakeTask() const;
  RoundOutcome OutcomeOf(const AttemptCounts& counts) const;
  ReleaseResult MakeRelease(PartialSum total, RoundOutcome* outcome);
  void Commit(const ReleaseResult& release, const RoundOutcome& outcome);
  void Publish(ReleaseResult release);
  // The open attempt, or one that was just closed; null between rounds.
  std::shared_ptr<Attempt> CurrentAttempt() const;

  const JobConfig config_;
  const DeviceRegistry& devices_;
  JobLog& log_;
  Budget budget_;
  const Key server_key_;
  const std::unique_ptr<const Estimator> estimator_;
  const std::unique_ptr<Optimiser> optimiser_;
  uint8_t job_id_[kJobIdSize] = {};
  uint8_t model_digest_[kSha256Size] = {};

  mutable std::mutex mutex_;  // of the next four
  Phase phase_ = Phase::kIdle;
  std::string finish_reason_;
  bool gave_up_ = false;
  std::shared_ptr<Attempt> current_;

  uint32_t round_ = 0;
  uint32_t attempt_ = 0;
  uint32_t given_up_ = 0;  // attempts at the round at hand
  uint32_t attempts_ = 0;  // committed, of the whole job
  bool diverged_ = false;  // in the last release
  std::vector<uint32_t> cohort_;
  std::vector<float> parameters_;
  float clip_l2_ = 0.0F;
  std::vector<uint8_t> model_bytes_;  // parameters_ as they travel: little-endian float32
};

}  // namespace sotto::server

#endif  // SOTTO_ROUND_JOB_H_
