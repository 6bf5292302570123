#include "round/job.h"

#include <algorithm>
#include <stdexcept>

#include "aggregate/server_step.h"
#include "round/cohort.h"
#include "sotto/bytes.h"
#include "sotto/key_labels.h"
#include "sotto/posix/check.h"
#include "sotto/posix/run_key.h"

namespace sotto::server {

Job::Job(const JobConfig& config, const DeviceRegistry& devices, JobLog& store,
         const Key& server_key, const std::optional<JobState>& resume, const UpdateChannel* channel)
    : config_(config),
      devices_(devices),
      store_(store),
      channel_(channel),
      budget_(config_, resume ? resume->surcharge : 0),
      server_key_(server_key),
      parameters_(config.model == nullptr ? 0 : config.model->parameters),
      clip_l2_(config.training.clip_l2) {
  config_.Validate();
  if (config_.plan.devices != devices_.size()) {
    throw std::invalid_argument("the plan's number of devices is not that of the registry");
  }
  if (config_.is_baseline() != (channel_ != nullptr)) {
    throw std::invalid_argument("a baseline needs its channel, which only a simulation has");
  }
  posix::Check(ModelDigest(*config_.model, model_digest_), "the model's digest");
  const Key id = posix::DeriveKey(server_key_, key_label::kJob);
  std::copy_n(resume ? resume->job_id : id.bytes, kJobIdSize, job_id_);
  if (!resume) RequireBudget();  // before there is a job in the store
  store_.BeginJob({job_id_, model_digest_, config_});
  if (resume) Resume(*resume);
}

void Job::Resume(const JobState& state) {
  if (!state.parameters.empty()) {
    if (state.parameters.size() != parameters_.size()) {
      throw std::runtime_error("the stored model has another number of parameters than the job's");
    }
    parameters_ = state.parameters;
  }
  if (state.clip_l2 != 0) clip_l2_ = static_cast<float>(state.clip_l2);
  round_ = state.next_round;
  attempt_ = state.next_attempt;
  attempts_ = state.attempts;
  RequireBudget();
}

Job::Phase Job::phase() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return phase_;
}

void Job::RequireBudget() {
  if (round_ == config_.plan.rounds) return;
  if (const std::string refusal = budget_.Refusal(round_); !refusal.empty()) {
    throw std::invalid_argument(refusal);
  }
}

void Job::Finish(const std::string& reason) {
  phase_ = Phase::kFinished;
  finish_reason_ = reason;
}

void Job::GiveUp(const std::string& reason) {
  gave_up_ = true;
  Finish(reason);
}

bool Job::OpenRound() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (phase_ != Phase::kIdle) throw std::logic_error("a round can only be opened between rounds");
  if (diverged_) {
    GiveUp("round " + std::to_string(round_) +
           " would have made the model infinite, and left it as it was: training diverged; lower "
           "the learning rate or the noise");
    return false;
  }
  if (round_ == config_.plan.rounds) {
    Finish("all " + std::to_string(round_) + " rounds of the plan are released");
    return false;
  }
  PublishModel();
  StartAttempt();
  return phase_ == Phase::kOpen;
}

void Job::PublishModel() {
  model_bytes_.resize(4 * parameters_.size());
  for (size_t j = 0; j < parameters_.size(); ++j) {
    StoreU32Le(FloatBits(parameters_[j]), model_bytes_.data() + 4 * j);
  }
}

// Opens the next attempt at the round, or finishes the job if there can be none.
void Job::StartAttempt() {
  for (;; GiveAttemptUp()) {
    if (given_up_ == config_.max_attempts) {
      GiveUp("round " + std::to_string(round_ + 1) + " was given up after " +
             std::to_string(given_up_) + " attempts");
      return;
    }
    if (const std::string refusal = budget_.Refusal(round_); !refusal.empty()) {
      Finish(refusal);
      return;
    }
    RandomStream random(posix::DeriveKey(server_key_, key_label::kCohort, round_, attempt_), 0);
    cohort_ = DrawCohort(config_.plan.sampling, devices_.size(),
                         static_cast<uint32_t>(config_.plan.cohort), random);
    store_.CommitAttempt({round_, attempt_, cohort_});
    ++attempts_;
    if (cohort_.size() <= static_cast<size_t>(config_.plan.planned_reports)) break;
  }
  members_.assign(cohort_.size(), {});
  task_ = config_.TaskFor(round_, clip_l2_);
  std::copy_n(job_id_, kJobIdSize, task_.job_id);
  task_.attempt = attempt_;
  sum_ = std::make_unique<UpdateSum>(config_, channel_, task_);
  is_heard_of_.assign(devices_.size(), false);
  heard_of_ = 0;
  reported_ = 0;
  rejected_ = 0;
  update_bytes_ = 0;
  phase_ = Phase::kOpen;
}

// What is given up costs nothing, because it is given up for reasons that have nothing to do with
// the data nor with who was drawn. Given such a reason the next cohort is as random as the first
// one, so the released models are distributed as if the attempt had never been. The reasons:
//
// - Fewer than min_devices of ALL devices asked for work before the deadline. A device asks before
//   it can know whether it is drawn, so the count says nothing about the draw. (Devices that cheat
//   can wait until others of theirs know: what that changes is a cohort without these, B of N - c
//   devices instead of B of N, and then their noise is honest.)
// - The process ended. Nobody may end it because of who reports.
// - A Poisson draw was above the cap. That does depend on the draw: what is released is then a
//   Poisson draw on condition that it is within the cap, which differs from one without by
//   Pr[Bin(N, q) > cap] in total variation. The plan's delta pays for that in every release.
//
// That few of the DRAWN devices report is no reason, and such a round is released, of noise if need
// be. Suppose that one device alone is up. Drawn anew until it reports, each release would hold its
// update for certain, and sampling would amplify nothing; nor would it help to charge what was
// given up, since the epsilons of N/B sampled rounds may be less than that of a certain one.
//
// Whoever watches the network is granted anyway that every device takes part in every release. What
// releases nothing shows no number that depends on data, and adds nothing to that epsilon either.
void Job::GiveAttemptUp() {
  ++attempt_;
  ++given_up_;
}

bool Job::IsComplete() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  // To go on waiting for devices matters: a round that ends early is one that is released.
  return phase_ == Phase::kOpen && reported_ + rejected_ == cohort_.size() &&
         heard_of_ >= config_.min_devices;
}

RoundOutcome Job::CloseRound() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (phase_ != Phase::kOpen) throw std::logic_error("no round is open");
  phase_ = Phase::kClosing;
  decoded_.wait(lock, [this] { return decoding_ == 0; });

  RoundOutcome outcome;
  outcome.round = round_;
  outcome.attempt = attempt_;
  outcome.cohort = static_cast<uint32_t>(cohort_.size());
  outcome.heard_of = heard_of_;
  outcome.reported = reported_;
  outcome.update_bytes = update_bytes_;
  outcome.clip_l2 = static_cast<double>(clip_l2_);
  if (config_.has_noise()) {
    outcome.noise_sigma = static_cast<double>(config_.NoiseSigmaFor(clip_l2_));
  }
  if (outcome.heard_of < config_.min_devices) {
    GiveAttemptUp();
    StartAttempt();
    return outcome;
  }
  // Nobody else touches the sum in this phase, so devices are answered while the work is done.
  lock.unlock();
  std::vector<float> next = Release(&outcome);
  lock.lock();
  FinishRound(std::move(next), outcome);
  return outcome;
}

void Job::FinishRound(std::vector<float> next, const RoundOutcome& outcome) {
  parameters_ = std::move(next);
  clip_l2_ = static_cast<float>(outcome.next_clip_l2);
  diverged_ = outcome.diverged;
  ++round_;
  attempt_ = 0;
  given_up_ = 0;
  members_.clear();
  sum_.reset();
  phase_ = Phase::kIdle;
}

// The bits are read in the sum alone, after its noise is complete.
void Job::AdaptClip(RoundOutcome* outcome) const {
  outcome->next_clip_l2 = outcome->clip_l2;
  if (!config_.clip_schedule) return;
  double fraction = 0;
  const int64_t bit_sum = sum_->sums()[parameters_.size()];
  outcome->next_clip_l2 = static_cast<double>(config_.NextClip(clip_l2_, bit_sum, &fraction));
  outcome->unclipped_fraction = fraction;
}

std::vector<float> Job::Release(RoundOutcome* outcome) {
  if (config_.has_noise()) {
    outcome->topped_up = static_cast<uint32_t>(config_.plan.planned_reports) - outcome->reported;
    sum_->TopUp(outcome->topped_up, server_key_);
  }
  if (config_.is_accounted()) outcome->spent = budget_.SpentAfter(round_ + 1, attempts_);
  AdaptClip(outcome);
  std::vector<float> next = parameters_;
  // That the sum is too large for the model is read off the sum: the round is released, with the
  // model as it was, and charged.
  outcome->diverged =
      !ApplyServerStep(*config_.model, sum_->sums().first(parameters_.size()),
                       {config_.SumUnit(clip_l2_), static_cast<double>(config_.plan.cohort),
                        config_.server_learning_rate, config_.smoothing},
                       {next.data(), next.size()});
  store_.CommitRelease({round_,
                        attempt_,
                        outcome->reported,
                        {next.data(), next.size()},
                        config_.mechanism,
                        config_.seeded,
                        outcome->clip_l2,
                        outcome->next_clip_l2,
                        outcome->noise_sigma,
                        config_.plan,
                        attempts_,
                        outcome->spent,
                        {}});
  outcome->released = true;
  return next;
}

}  // namespace sotto::server
