#include "round/job.h"

#include <algorithm>
#include <stdexcept>

#include "aggregate/methods.h"
#include "base/counted.h"
#include "sotto/key_labels.h"
#include "sotto/posix/check.h"
#include "sotto/posix/run_key.h"

namespace sotto::server {
namespace {

const JobConfig& Validated(const JobConfig& config) {
  config.Validate();
  return config;
}

JobPhases PhasesOf(const JobConfig& config, const std::optional<JobState>& resume) {
  JobPhases phases = resume ? resume->phases : JobPhases();
  const bool is_extended = resume && resume->planned != 0 && config.plan.rounds > resume->planned;
  if (is_extended) phases.ExtendFrom(resume->planned);
  return phases;
}

}  // namespace

Job::Job(const JobConfig& config, const DeviceRegistry& devices, JobLog& log, const Key& server_key,
         const std::optional<JobState>& resume)
    : config_(Validated(config)),
      devices_(Unowned(devices)),
      log_(log),
      budget_(config_, PhasesOf(config_, resume)),
      server_key_(server_key),
      estimator_(MakeEstimator(config_.aggregation)),
      optimiser_(MakeOptimiser(config_.aggregation)),
      needs_(config_.TaskFor(0, config_.training.clip_l2), config_),
      clip_l2_(config_.training.clip_l2) {
  if (config_.plan.sampling == privacy::Sampling::kPasses) {
    privacy::Plan plan = budget_.phases().Limited(config_.plan);
    if (!config_.codec->noise) plan.delta = 0.5;  // a job without privacy has none
    turns_.emplace(plan, config_.turns_before, config_.life_limit);
  }
  const bool has_measured = resume && !config_.error_edges.empty() && resume->planned != 0 &&
                            int64_t{resume->next_round} >= int64_t{resume->planned} &&
                            config_.plan.rounds > resume->planned;
  if (has_measured) {
    throw std::invalid_argument(
        "the job's last round has measured its threshold, and no round follows it; begin another "
        "job (sotto job start), with --initial-model for its model");
  }
  if (!resume && config_.plan.devices != devices_->eligible()) {
    throw std::invalid_argument("the plan and the registry have different numbers of devices");
  }
  if (!resume) RequireOwners();
  posix::Check(ModelDigest(*config_.model, model_digest_), "the model's digest");
  const Key id = posix::DeriveKey(server_key_, key_label::kJob);
  std::copy_n(resume ? resume->job_id : id.bytes, kJobIdSize, job_id_);
  BeginWithInitialModel(resume);
  if (resume) {
    round_ = resume->next_round;
    attempts_ = resume->attempts;
  }
  const bool is_extended = resume && resume->planned != 0 && config_.plan.rounds > resume->planned;
  if (!resume || is_extended) RequireBudget();  // before the job, or its extension, is in the store
  const std::optional<Key>& key = codes_->weights_key();
  log_.BeginJob({job_id_, model_digest_, config_, parameters(), key ? key->bytes : ByteSpan()});
  if (resume) Resume(*resume);
  codes_->Prepare(parameters_);
  codes_->Publish();
}

Job::Phase Job::phase() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return phase_;
}

void Job::RequireBudget() {
  if (round_ == config_.plan.rounds || !Hindrance().empty()) return;
  budget_.SetFleet(devices_->eligible(), round_, attempts_);
  if (const std::string refusal = budget_.Refusal(round_); !refusal.empty()) {
    throw std::invalid_argument(refusal);
  }
}

std::shared_ptr<Attempt> Job::CurrentAttempt() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return current_;
}

void Job::Finish(Halt kind, const std::string& reason) {
  ShowRelease();
  log_.HaltJob({kind, reason});
  const std::lock_guard<std::mutex> lock(mutex_);
  end_ = kind;
  phase_ = Phase::kFinished;
  wait_state_ = WaitState::kNoJob;
  finish_reason_ = reason;
  current_.reset();
}

void Job::End(Halt kind, const std::string& reason) {
  if (phase() == Phase::kClosing) throw std::logic_error("a round is being closed");
  if (phase() != Phase::kFinished) Finish(kind, reason);
}

bool Job::OpenRound() {
  if (phase() != Phase::kIdle) throw std::logic_error("a round can only be opened between rounds");
  ShowRelease();
  if (diverged_) {
    Finish(Halt::kDiverged,
           "round " + std::to_string(round_) +
               " would have made the model infinite, and left it as it was: training diverged; "
               "lower the learning rate or the noise");
    return false;
  }
  if (round_ == config_.plan.rounds) {
    Finish(Halt::kAllRounds,
           round_ == 1 ? "the plan's one round is released"
                       : "all " + std::to_string(round_) + " rounds of the plan are released");
    return false;
  }
  StartAttempt();
  return phase() == Phase::kOpen;
}

void Job::SetFleet(SharedDevices devices, std::vector<privacy::SpentRounds> spent_before) {
  std::shared_ptr<Attempt> attempt;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    next_devices_ = devices;
    next_spent_before_ = std::move(spent_before);
    attempt = current_;
  }
  if (attempt != nullptr) attempt->SetDevices(std::move(devices));
}

void Job::SetPaused(bool paused) {
  const std::lock_guard<std::mutex> lock(mutex_);
  paused_ = paused;
}

// Takes the newest fleet for the next attempt.
void Job::TakeFleet() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (next_devices_ != nullptr) {
    for (uint32_t index = devices_->size(); index < next_devices_->size(); ++index) {
      joined_.push_back(next_devices_->NumberOf(index));
    }
    devices_ = std::move(next_devices_);
    next_devices_.reset();
    budget_.SetSpentBefore(std::move(next_spent_before_));
  }
}

// Opens the next attempt at the round, or finishes the job if there can be none, or waits.
void Job::StartAttempt() {
  for (;; GiveAttemptUp()) {
    TakeFleet();
    if (turns_) turns_->SetSettled(log_.Settle());
    waiting_for_ = Hindrance();
    waits_for_turns_ = false;
    if (waiting_for_.empty() && turns_) {
      candidates_ = HeardOf(DevicesWithRoom(Unsettled::kNone));
      waiting_for_ = HindranceOfTurns(candidates_, DevicesWithRoom(Unsettled::kAll));
      waits_for_turns_ = !waiting_for_.empty();
    }
    if (!waiting_for_.empty()) {
      log_.HaltJob({Halt::kWaiting, waiting_for_});
      const std::lock_guard<std::mutex> lock(mutex_);
      phase_ = Phase::kIdle;
      wait_state_ = paused_ ? WaitState::kPaused : WaitState::kDevices;
      current_.reset();
      return;
    }
    budget_.SetFleet(devices_->eligible(), round_, attempts_);
    if (given_up_ == config_.process.max_attempts) {
      const std::string lacks = DescribeLacks(lacking_before_);
      Finish(Halt::kGaveUp, "round " + std::to_string(round_ + 1) + " was given up after " +
                                Counted(given_up_, "attempt") +
                                (lacks.empty() ? "" : "; at last " + lacks));
      return;
    }
    if (turns_ && LargestCohort(candidates_) < static_cast<uint32_t>(config_.plan.cohort)) {
      Finish(Halt::kNoTurns,
             "the turns of its devices are used: " +
                 Counted(LargestCohort(DevicesWithRoom(Unsettled::kAll)), "device") +
                 OfDifferentOwners() + " of the " + std::to_string(config_.plan.cohort) +
                 " that a round needs have one left; a device takes part in at most " +
                 Counted(config_.plan.participations, "round") + " of a job" +
                 (config_.life_limit ? ", and the store's life epsilon limits all jobs together"
                                     : "") +
                 "; to go on, add devices, or begin another job");
      return;
    }
    if (const std::string refusal = budget_.Refusal(round_); !refusal.empty()) {
      Finish(Halt::kBudget, refusal);
      return;
    }
    DrawCohort();
    const bool is_capped = config_.codec->noise;  // no noise: no sum of which it must be constant
    if (!is_capped || cohort_.size() <= static_cast<size_t>(config_.plan.planned_reports)) break;
  }
  const auto salts = config_.GivesSalts() ? std::optional<Key>(server_key_) : std::nullopt;
  auto attempt = std::make_shared<Attempt>(config_, devices_, MakeTask(), cohort_, *codes_, salts);
  for (uint32_t device = 0; device < heard_before_.size(); ++device) {
    if (!devices_->IsEligible(device)) heard_before_[device] = false;
  }
  attempt->CheckInToo(heard_before_);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (next_devices_ != nullptr) attempt->SetDevices(next_devices_);  // since the draw
  current_ = std::move(attempt);
  phase_ = Phase::kOpen;
  wait_state_ = WaitState::kRounds;
}

TrainTask Job::MakeTask() const {
  TrainTask task = config_.TaskFor(round_, clip_l2_);
  std::copy_n(job_id_, kJobIdSize, task.job_id);
  task.attempt = attempt_;
  return task;
}

// Why giving an attempt up costs no privacy. Let G be the event that an attempt is given up. Its
// sum is then not read, nothing of it is released, and the next cohort is drawn with fresh
// randomness. The lemmas are about draws that are secret. With kPasses none is, lemma 6 of
// plans/turns.h holds instead, and G may be that few report (JobConfig::quorum).
//
// Lemma 1. If G is independent of the devices' data and of the cohort that was drawn, then the
// released models are distributed as if the attempt had never been made. Proof: given G, the next
// cohort has the distribution of the first one, and no later computation uses data of the attempt.
//
// Lemma 2. Let no device cheat, and let G be the event that fewer than min_devices of ALL devices
// checked in before the deadline. Lemma 1 applies to G. Proof: a device checks in before it can
// know whether it is drawn, so the count is independent of the draw. A device that lacks something
// does not check in; what it can do is independent of the draw, too, and it is never told.
//
// Lemma 3. Let c devices cheat. Each of them knows whether it was drawn, and they can delay some of
// their check-ins until others of the c know this. So they decide about G with knowledge of j, the
// number of the c in the cohort. Given j and everything else that they know, the rest of the cohort
// is B - j of the N - c other devices, all such sets equally likely (Poisson: each of the N - c
// with probability q). Proof: the cohort's draw is independent of the other devices' check-ins. G
// depends on these check-ins and on which of the c are drawn. The conditional distribution of the
// rest given which of the c are drawn is the one stated, and conditioning on G does not change it.
//
// Lemma 4. So giving up lets c cheating devices choose j, for each release anew, with knowledge of
// the releases before. The plan charges the worst choice in every release (plans/composition.h,
// lemmas 4 to 9). Attempts that are given up then cost nothing more. An undrawn device that knows
// only that it is not in the cohort is the case c = 1, j = 0. It needs no G.
//
// Lemma 5. Lemma 1 applies to the event G that the process ended. The condition is that nobody ends
// the process because of which devices report.
//
// Lemma 6. Let G be the event that a Poisson draw was above the cap. G depends on the draw. The
// cohort of a release is then a Poisson draw, conditioned on a size within the cap. Given j, the
// distance in total variation of its honest part from an unconditional draw is
// Pr[Bin(N - c, q) > cap - j]. The plan's delta pays for that distance at j = c in every release.
//
// Lemma 7. The event "few of the DRAWN devices report" must not be G. Such a round is released,
// with noise alone if necessary. Proof: let only one device be up, and let cohorts be drawn until
// it reports. Each release then holds its update for certain, and sampling amplifies nothing.
// Charging the attempts that were given up does not help: the epsilon of N/B sampled rounds may be
// less than the epsilon of one round that holds the device for certain.
//
// Lemma 8. An attempt that is given up adds nothing to the epsilon against the network. Proof: that
// epsilon already assumes that every device takes part in every release, and the attempt reveals no
// number that depends on data.
//
// Lemma 9. Let the server move the deadline of an attempt, and all later times, by S, the time for
// which its process was not run: stopped, swapped out, or on a machine that was paused. If S is
// independent of the devices' data and of the draw, this costs no privacy. Proof: given S, the
// deadline is a time that was fixed before the attempt began, and lemmas 1 to 8 speak of any such
// time. S itself is public by the time of the release, and tells nothing.
//   S is measured as the loop's lateness (net/loop_monitor.h). Decoding depends on uploads, so no
//   computing of this process may count: while the loop waits, S is what exceeds the wait that it
//   asked for, by half a second or more; within a turn, what exceeds eight times the thread's own
//   computing, where at most six threads of the process compete. Nor may any wait of a turn for
//   something that uploads can make longer. The loop waits for no disk: store, metrics and
//   evaluations are read and written in the pool, and sockets do not block. It shares locks with
//   the pool; no thread of the pool waits, decodes or sums while it holds one of these. Only the
//   log can block a turn, when nobody reads it; how much is written there depends on uploads, so
//   while it is told an event the loop does not measure (LoopMonitor::Wait). The condition is a
//   scheduler that runs a thread which has waited within half a second while no more than six
//   threads compete, and memory for a whole cohort's updates, so that no upload makes the machine
//   swap.
//   S must not depend on the reports: "few have reported, wait longer" is a quorum, which under
//   uniform and Poisson sampling is not free, for the reason of lemma 7. So the deadline moves by
//   all of S whatever has been reported, also if all drawn devices have, and never by more.
void Job::GiveAttemptUp() {
  ++attempt_;
  ++given_up_;
}

void Job::Suspend() {
  const std::lock_guard<std::mutex> lock(mutex_);
  suspended_ = true;
}

void Job::Proceed() {
  const std::lock_guard<std::mutex> lock(mutex_);
  suspended_ = false;
}

Reply Job::Answer(uint32_t device, const Request& request) {
  const bool is_hello = request.kind == Request::Kind::kHello;
  if (is_hello) {
    if (const auto refusal = RefuseHello(request, *config_.model, model_digest_)) return *refusal;
    log_.CheckReceipt(request.receipt, NumberIn(device));
  }
  if (request.kind == Request::Kind::kGetDescription) return AnswerDescription(request, config_);
  if (is_hello && TakesDifferences(request)) codes_->NoteHeld(request.held);
  if (request.kind == Request::Kind::kGetModel && request.code != 0) {
    if (const std::shared_ptr<Attempt> attempt = CurrentAttempt()) attempt->NoteAlive(device);
    return AnswerCode(request, *codes_);
  }
  std::shared_ptr<Attempt> attempt;
  WaitState state = WaitState::kRounds;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_hello && turns_ && !IsLacking(needs_, request.abilities)) {
      if (device >= last_heard_.size()) {
        last_heard_.resize(device + 1, std::chrono::steady_clock::time_point::min());
      }
      last_heard_[device] = std::chrono::steady_clock::now();
      if (device < gone_.size()) gone_[device] = false;
      keeps_time_.resize(last_heard_.size());
      keeps_time_[device] = (request.abilities.features & kFeatureReportTime) != 0;
    }
    if (suspended_) return AnswerBetweenAttempts(request, config_, state);
    attempt = current_;
    state = wait_state_;
    const bool stays = (request.abilities.features & kFeatureStays) != 0;
    if (is_hello && phase_ == Phase::kFinished && !IsRetried(end_) && !stays) {
      Reply done;
      done.kind = Reply::Kind::kDone;
      return done;
    }
  }
  if (attempt == nullptr) return AnswerBetweenAttempts(request, config_, state);
  Reply reply = attempt->Answer(device, request);
  if (reply.kind == Reply::Kind::kTrain) {
    reply.receipt = log_.ReceiptOf(reply.task.round, reply.task.attempt, NumberIn(device));
  }
  return reply;
}

bool Job::KeepsTime(uint32_t device) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return device < keeps_time_.size() && keeps_time_[device];
}

void Job::OnGone(uint32_t device, std::chrono::steady_clock::time_point since) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool has_come = device < last_heard_.size() && last_heard_[device] > since;
  if (!turns_ || has_come) return;
  if (device >= gone_.size()) gone_.resize(device + 1);
  gone_[device] = true;
}

LackCounts Job::Lacking() const {
  const std::shared_ptr<Attempt> attempt = CurrentAttempt();
  return attempt == nullptr ? LackCounts() : attempt->Lacking();
}

std::string Job::WhatLacks(const Abilities& device) const {
  return IsLacking(needs_, device) ? DescribeLack(needs_, device) : "";
}

bool Job::IsComplete() const {
  const std::shared_ptr<Attempt> attempt = CurrentAttempt();
  return attempt != nullptr && attempt->IsComplete();
}

PartialSum Job::CloseUploads() {
  std::shared_ptr<Attempt> attempt;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (phase_ != Phase::kOpen) throw std::logic_error("no round is open");
    phase_ = Phase::kClosing;
    attempt = current_;
  }
  const auto closes = std::chrono::steady_clock::now();
  PartialSum part = attempt->Close();
  for (const uint32_t device : attempt->Silent()) {
    if (KeepsTime(device)) OnGone(device, closes);
  }
  closed_ = std::chrono::steady_clock::now();
  return part;
}

RoundOutcome Job::FinishRound(PartialSum total) {
  if (phase() != Phase::kClosing) throw std::logic_error("no round's uploads are closed");
  heard_before_ = std::move(total.counts.is_heard);
  RoundOutcome outcome = OutcomeOf(total.counts);
  lacking_before_ = outcome.lacking;
  if (config_.codec->accounted && config_.process.observes_updates) {
    outcome.planned_epsilon = budget_.PlannedEpsilon();
  }
  if (outcome.checked_in < config_.min_devices || outcome.reported < config_.quorum) {
    outcome.spent = Spent();  // the server has seen this attempt's updates
    GiveAttemptUp();
    StartAttempt();
    return outcome;
  }
  Seal();
  ReleaseResult release = MakeRelease(std::move(total), &outcome);
  Commit(release, outcome);
  outcome.released = true;
  Publish(std::move(release));
  return outcome;
}

RoundOutcome Job::OutcomeOf(const AttemptCounts& counts) const {
  RoundOutcome outcome;
  outcome.round = round_;
  outcome.attempt = attempt_;
  outcome.devices = devices_->eligible();
  outcome.cohort = static_cast<uint32_t>(cohort_.size());
  outcome.checked_in = counts.checked_in;
  outcome.reported = counts.reported;
  outcome.rejected = counts.rejected;
  outcome.lacking = counts.lacking;
  outcome.update_bytes = counts.update_bytes;
  outcome.reporters = counts.reporters;
  outcome.beyond_bound = counts.beyond_bound;
  outcome.clip_l2 = static_cast<double>(clip_l2_);
  if (config_.codec->noise) {
    outcome.noise_sigma = static_cast<double>(config_.NoiseSigmaFor(clip_l2_, round_));
  }
  return outcome;
}

ReleaseResult Job::MakeRelease(PartialSum total, RoundOutcome* outcome) {
  ReleaseResult release =
      server::MakeRelease(config_, PlanOfRound(), CurrentAttempt()->task(), std::move(total),
                          server_key_, parameters(), *estimator_, *optimiser_);
  if (config_.codec->accounted) outcome->spent = budget_.SpentAfter(round_ + 1, attempts_);
  outcome->topped_up = release.topped_up;
  outcome->diverged = release.diverged;
  outcome->next_clip_l2 = release.next_clip_l2;
  outcome->unclipped_fraction = release.unclipped_fraction;
  outcome->device_accuracy = release.device_accuracy;
  outcome->figures = std::move(release.figures);
  outcome->errors = std::move(release.errors);
  if (outcome->errors) {
    const auto found = ThresholdOf(*outcome->errors, config_.threshold_quantile);
    if (found) outcome->threshold = static_cast<double>(found->threshold);
  }
  return release;
}

void Job::Commit(const ReleaseResult& release, const RoundOutcome& outcome) {
  ReleaseRecord record;
  record.round = round_;
  record.attempt = attempt_;
  record.reported = outcome.reported;
  record.parameters = {release.parameters.data(), release.parameters.size()};
  record.codec = config_.codec;
  record.seeded = config_.seeded;
  record.clip_l2 = outcome.clip_l2;
  record.next_clip_l2 = outcome.next_clip_l2;
  record.noise_sigma = outcome.noise_sigma;
  record.plan = PlanOfRound();
  record.attempts = attempts_;
  if (!turns_) record.devices = Drawn();
  record.spent = outcome.spent;
  const std::vector<uint8_t> optimiser_state = optimiser_->State();
  record.optimiser_state = {optimiser_state.data(), optimiser_state.size()};
  if (outcome.threshold) record.threshold = static_cast<float>(*outcome.threshold);
  log_.CommitRelease(record);
}

void Job::Publish(ReleaseResult release) {
  parameters_ = std::make_shared<const std::vector<float>>(std::move(release.parameters));
  codes_->Prepare(parameters_);
  clip_l2_ = static_cast<float>(release.next_clip_l2);
  diverged_ = release.diverged;
  ++round_;
  attempt_ = 0;
  given_up_ = 0;
  const std::lock_guard<std::mutex> lock(mutex_);
  current_.reset();
  phase_ = Phase::kIdle;
}

}  // namespace sotto::server
