#include "sim/simulation.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <memory>
#include <stdexcept>

#include "aggregate/tensors.h"
#include "downloads/model_codes.h"
#include "sotto/key_labels.h"
#include "sotto/posix/run_key.h"
#include "sotto/research/estimator.h"
#include "spec/configuration.h"

namespace sotto::server {
namespace {

// The log of a simulation: nothing is kept. A simulation goes on from its RunState.
class RunLog : public JobLog {
 public:
  explicit RunLog(const SimulationConfig& config) : config_(config) {}

  void BeginJob(const JobRecord& record) override {
    configuration_ = ConfigurationText(record);
    if (!config_.resume) return;
    RequireSameInputs(*config_.resume, config_.inputs);
    RequireSameRun(*config_.resume, configuration_, config_.fleet_text);
    RequireRoundsOf(*config_.resume, config_.job);
  }
  void CommitAttempt(const AttemptRecord&) override {}
  void SealAttempt(const SealRecord&) override {}  // the state of the run has it
  void CommitRelease(const ReleaseRecord&) override {}

  const std::string& configuration() const { return configuration_; }

 private:
  const SimulationConfig& config_;
  std::string configuration_;
};

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The key of the run, which all ranks have from the first one.
Key RunKeyOf(const SimulationConfig& config, Ranks& ranks) {
  if (config.resume) return config.resume->run_key;
  Key key = posix::RunKey(config.seed);
  if (config.seed || ranks.count() == 1) return key;
  const std::string mine(reinterpret_cast<const char*>(key.bytes), kKeySize);
  std::vector<std::string> all = ranks.Gather(ranks.is_first() ? mine : "");
  std::copy(all.front().begin(), all.front().end(), key.bytes);
  SecureWipe(all.front().data(), all.front().size());
  return key;
}

// All ranks leave the attempt that is open: it is as if it had never been opened.
struct Abandoned {};

// What all ranks report of an attempt. Throws on all of them if one of them has failed.
Fleet::Report ReportOfAll(Ranks& ranks, const std::function<Fleet::Report()>& run) {
  Fleet::Report mine;
  ranks.Together([&] { mine = run(); });
  Fleet::Report all;
  for (const std::vector<uint64_t>& of : ranks.GatherNumbers(
           {mine.trained, mine.failed, mine.saturated, static_cast<uint64_t>(mine.failure),
            static_cast<uint64_t>(mine.is_stopped)})) {
    all.trained += static_cast<uint32_t>(of[0]);
    all.failed += static_cast<uint32_t>(of[1]);
    all.saturated += static_cast<uint32_t>(of[2]);
    if (all.failure == Status::kOk) all.failure = static_cast<Status>(of[3]);
    all.is_stopped = all.is_stopped || of[4] != 0;
  }
  return all;
}

// Adds the other ranks' parts of an attempt to this one's.
void MergeParts(Ranks& ranks, PartialSum* part) {
  if (ranks.count() == 1) return;
  ranks.Sum({part->sums.data(), part->sums.size()});
  AttemptCounts counts;
  for (const std::vector<uint64_t>& numbers : ranks.GatherNumbers(part->counts.ToNumbers())) {
    counts.Merge(AttemptCounts::FromNumbers(numbers));
  }
  part->counts = std::move(counts);
}

// One call of Simulate().
class Run {
 public:
  Run(const SimulationConfig& config, const TrainTest& data)
      : config_(config),
        ranks_(config.ranks != nullptr ? *config.ranks : alone_),
        model_(*config.job.model),
        test_(*data.test),
        run_key_(RunKeyOf(config, ranks_)),
        fleet_(config.fleet, model_, *data.train, run_key_),
        log_(config),
        job_(config.job, fleet_.registry(), log_, posix::DeriveKey(run_key_, key_label::kServer),
             StateOf(config)) {
    RequireEvaluable(model_, test_);
    if (model_.personal > 0 && ranks_.count() > 1) {
      throw std::invalid_argument(
          fmt::format("model {} has personal layers, which stay with the process that trains them, "
                      "and devices change their rank: simulate it in one process",
                      model_.name));
    }
  }

  SimulationResult ToItsEnd(const std::function<void(const RoundReport&)>& on_round) {
    Begin();
    if (config_.on_begin) config_.on_begin();
    try {
      RunRounds(on_round);
    } catch (const Abandoned&) {
      result_.stopped = true;
    } catch (const RanksLost&) {
      result_.stopped = true;
    }
    End();
    return std::move(result_);
  }

 private:
  // The job's state with the key of its first model, which stands in its configuration.
  static std::optional<JobState> StateOf(const SimulationConfig& config) {
    if (!config.resume) return std::nullopt;
    JobState state = config.resume->job;
    if (state.codes == nullptr) {
      state.codes = std::make_shared<ModelCodes>(
          std::shared_ptr<const ModelInfo>(config.job.owned_model, config.job.model),
          WeightsKeyFromConfiguration(config.resume->file, config.resume->configuration));
    }
    return state;
  }

  void RunRounds(const std::function<void(const RoundReport&)>& on_round) {
    while (!MustStop()) {
      if (ranks_.count() > 1) whole_rounds_ = {job_.State(), job_.Average()};
      if (!job_.OpenRound()) break;
      RoundReport report = OneRound();
      if (!report.outcome.released) break;
      if (IsDue(report.outcome.round + 1)) {
        report.evaluation = EvaluateNow();
        report.average_evaluation = EvaluateAverage();
      }
      result_.rounds.push_back(report);
      on_round(report);
      SaveIfDue();
    }
    whole_rounds_.reset();
  }

  void Begin() {
    result_.devices_without_samples = CountEmpty(fleet_.partition());
    if (!config_.resume) {
      if (Evaluates()) result_.initial = EvaluateNow();
      return;
    }
    result_.initial = config_.resume->initial;
    result_.rounds = config_.resume->rounds;
    for (RoundReport& report : result_.rounds) {
      report.outcome.spent = job_.SpentAfter(report.outcome.round + 1, report.attempts);
    }
  }

  bool MustStop() {
    const bool must_stop = config_.stop && job_.round() < config_.job.plan.rounds && config_.stop();
    result_.stopped = ranks_.Any(must_stop);
    return result_.stopped;
  }

  // All attempts at the next round.
  RoundReport OneRound() {
    RoundReport report;
    do {
      const Fleet::Report trainings = ReportOfAll(ranks_, [this] {
        return fleet_.RunPart(job_, config_.threads, ranks_,
                              ranks_.count() > 1 ? config_.stop : nullptr);
      });
      if (trainings.is_stopped) throw Abandoned();
      Fleet::RequireSomeTraining(trainings, job_);
      report.failed_trainings += trainings.failed;
      report.saturated_trainings += trainings.saturated;
      PartialSum sum = job_.CloseUploads();
      MergeParts(ranks_, &sum);
      KeepUpdate(sum);
      report.outcome = job_.FinishRound(std::move(sum));
    } while (!report.outcome.released && job_.phase() == Job::Phase::kOpen);
    report.attempts = job_.attempts();
    return report;
  }

  // The mean update of the round under way, if it is to be kept.
  void KeepUpdate(const PartialSum& sum) {
    const uint32_t round = job_.round();
    if (config_.update_rounds.count(round) == 0) return;
    // Of an attempt that is given up nothing is kept.
    if (!result_.updates.empty() && result_.updates.back().round == round) {
      result_.updates.pop_back();
    }
    const JobConfig& job = config_.job;
    const auto codec = job.codec->make(job.TaskFor(round, job_.clip_l2()));
    const std::vector<TrainedTensor> tensors = TrainedTensors(model_);
    const std::vector<int64_t>& sums = sum.sums;
    result_.updates.push_back({round, MeanUpdate({{sums.data(), sums.size()},
                                                  codec->SumUnit(),
                                                  static_cast<double>(job.plan.cohort),
                                                  0.0,
                                                  {tensors.data(), tensors.size()}})});
  }

  bool Evaluates() const { return config_.evaluate_every > 0; }

  bool IsDue(uint32_t rounds) const {
    return Evaluates() && (rounds % config_.evaluate_every == 0 ||
                           rounds == static_cast<uint32_t>(config_.job.plan.rounds));
  }

  Evaluation EvaluateNow() const {
    return EvaluateTogether(model_, job_.parameters(), test_, config_.threads, ranks_);
  }

  std::optional<Evaluation> EvaluateAverage() const {
    const std::vector<float> average = job_.Average();
    if (average.empty()) return std::nullopt;
    return EvaluateTogether(model_, {average.data(), average.size()}, test_, config_.threads,
                            ranks_);
  }

  bool EvaluatesDevices() const {
    const bool is_asked = model_.personal > 0 || config_.fine_tune_steps > 0;
    return is_asked && config_.fleet.held_out > 0 && model_.classes > 0 && !result_.stopped;
  }

  // With the training of the last released round.
  std::optional<DeviceAccuracies> EvaluateDevices(const JobState& job) const {
    const uint32_t round = job.next_round == 0 ? 0 : job.next_round - 1;
    const TrainTask task = config_.job.TaskFor(round, config_.job.ClipFor(round));
    return fleet_.EvaluateDevices({job.parameters.data(), job.parameters.size()}, task.training,
                                  config_.fine_tune_steps, config_.threads);
  }

  // The job after its last whole round: an attempt may be open, which nobody finishes.
  void End() {
    const std::vector<RoundReport>& rounds = result_.rounds;
    JobState job = whole_rounds_ ? std::move(whole_rounds_->job) : job_.State();
    const auto evaluated = std::find_if(rounds.rbegin(), rounds.rend(),
                                        [](const RoundReport& r) { return r.evaluation; });
    const bool is_evaluated = rounds.empty() || evaluated == rounds.rbegin();
    // Ranks that are asked to stop have no time for it.
    if (!is_evaluated && Evaluates() && !(result_.stopped && ranks_.count() > 1)) {
      result_.last = EvaluateNow();
      result_.average_evaluation = EvaluateAverage();
    } else if (evaluated != rounds.rend()) {
      result_.last = evaluated->evaluation;
      result_.average_evaluation = evaluated->average_evaluation;
    } else {
      result_.last = result_.initial;
    }
    if (EvaluatesDevices()) result_.by_device = EvaluateDevices(job);
    result_.average = whole_rounds_ ? std::move(whole_rounds_->average) : job_.Average();
    result_.parameters = job.parameters;
    result_.finish_reason = result_.stopped ? fmt::format("stopped: {} of {} rounds are released",
                                                          job.next_round, config_.job.plan.rounds)
                                            : job_.finish_reason();
    result_.gave_up = job_.gave_up();
    result_.spent = job_.SpentAfter(job.next_round, job.attempts);
    result_.state = StateWith(std::move(job));
  }

  RunState StateWith(JobState job) const {
    return {"",       log_.configuration(), config_.fleet_text, config_.inputs, Builds(),
            run_key_, std::move(job),       result_.initial,    result_.rounds};
  }

  void SaveIfDue() {
    if (!config_.save || std::chrono::steady_clock::now() < next_save_) return;
    const auto start = std::chrono::steady_clock::now();
    config_.save(StateWith(job_.State()));
    const auto took = std::chrono::steady_clock::now() - start;
    next_save_ = start + std::max<std::chrono::nanoseconds>(std::chrono::seconds(1), 20 * took);
  }

  std::vector<std::string> Builds() const {
    std::vector<std::string> builds;
    if (config_.resume) builds = config_.resume->builds;
    const bool is_new = std::find(builds.begin(), builds.end(), config_.build) == builds.end();
    if (is_new && !config_.build.empty()) builds.push_back(config_.build);
    return builds;
  }

  // What is left of a job when the attempt that is open is forgotten.
  struct WholeRounds {
    JobState job;
    std::vector<float> average;
  };

  const SimulationConfig& config_;
  OneRank alone_;
  Ranks& ranks_;
  const ModelInfo& model_;
  const Dataset& test_;
  const Key run_key_;
  Fleet fleet_;
  RunLog log_;
  Job job_;
  SimulationResult result_;
  std::optional<WholeRounds> whole_rounds_;  // of several ranks, while rounds run
  std::chrono::steady_clock::time_point next_save_;
};

}  // namespace

double SimulationResult::BytesUpPerDeviceRound() const {
  double bytes = 0;
  double reports = 0;
  for (const RoundReport& round : rounds) {
    bytes += static_cast<double>(round.outcome.update_bytes);
    reports += round.outcome.reported;
  }
  return reports == 0 ? 0 : bytes / reports;
}

SimulationResult Simulate(const SimulationConfig& config, const TrainTest& data,
                          const std::function<void(const RoundReport&)>& on_round) {
  const auto start = std::chrono::steady_clock::now();
  SimulationResult result = Run(config, data).ToItsEnd(on_round);
  result.wall_seconds = SecondsSince(start);
  return result;
}

}  // namespace sotto::server
