#include "sim/simulation.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <stdexcept>

#include "aggregate/tensors.h"
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

// One call of Simulate().
class Run {
 public:
  Run(const SimulationConfig& config, const TrainTest& data)
      : config_(config),
        model_(*config.job.model),
        test_(*data.test),
        run_key_(config.resume ? config.resume->run_key : posix::RunKey(config.seed)),
        fleet_(config.fleet, model_, *data.train, run_key_),
        log_(config),
        job_(config.job, fleet_.registry(), log_, posix::DeriveKey(run_key_, key_label::kServer),
             StateOf(config)) {
    RequireEvaluable(model_, test_);
  }

  SimulationResult ToItsEnd(const std::function<void(const RoundReport&)>& on_round) {
    Begin();
    if (config_.on_begin) config_.on_begin();
    while (!MustStop() && job_.OpenRound()) {
      RoundReport report = OneRound();
      if (!report.outcome.released) break;
      if (IsDue(report.outcome.round + 1)) {
        report.evaluation = EvaluateNow();
        report.average_evaluation = EvaluateAverage();
      }
      result_.rounds.push_back(report);
      on_round(report);
    }
    End();
    return std::move(result_);
  }

 private:
  static std::optional<JobState> StateOf(const SimulationConfig& config) {
    return config.resume ? std::optional<JobState>(config.resume->job) : std::nullopt;
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
    result_.stopped = config_.stop && job_.round() < config_.job.plan.rounds && config_.stop();
    return result_.stopped;
  }

  // All attempts at the next round.
  RoundReport OneRound() {
    RoundReport report;
    do {
      const Fleet::Report trainings = fleet_.RunRound(job_, config_.threads, config_.share);
      report.failed_trainings += trainings.failed;
      report.saturated_trainings += trainings.saturated;
      PartialSum sum = job_.CloseUploads();
      if (config_.merge) config_.merge(sum);
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
    return Evaluate(model_, job_.parameters(), test_, config_.threads);
  }

  std::optional<Evaluation> EvaluateAverage() const {
    const std::vector<float> average = job_.Average();
    if (average.empty()) return std::nullopt;
    return Evaluate(model_, {average.data(), average.size()}, test_, config_.threads);
  }

  void End() {
    const std::vector<RoundReport>& rounds = result_.rounds;
    if (rounds.empty()) {
      result_.last = result_.initial;
    } else if (Evaluates()) {
      result_.last = rounds.back().evaluation ? *rounds.back().evaluation : EvaluateNow();
      const std::optional<Evaluation>& average = rounds.back().average_evaluation;
      result_.average_evaluation = average ? average : EvaluateAverage();
    }
    result_.average = job_.Average();
    result_.parameters.assign(job_.parameters().begin(), job_.parameters().end());
    result_.finish_reason = result_.stopped ? fmt::format("stopped: {} of {} rounds are released",
                                                          job_.round(), config_.job.plan.rounds)
                                            : job_.finish_reason();
    result_.gave_up = job_.gave_up();
    result_.spent = job_.Spent();
    result_.state = {"",       log_.configuration(), config_.fleet_text, config_.inputs, Builds(),
                     run_key_, job_.State(),         result_.initial,    result_.rounds};
  }

  std::vector<std::string> Builds() const {
    std::vector<std::string> builds;
    if (config_.resume) builds = config_.resume->builds;
    const bool is_new = std::find(builds.begin(), builds.end(), config_.build) == builds.end();
    if (is_new && !config_.build.empty()) builds.push_back(config_.build);
    return builds;
  }

  const SimulationConfig& config_;
  const ModelInfo& model_;
  const Dataset& test_;
  const Key run_key_;
  const Fleet fleet_;
  RunLog log_;
  Job job_;
  SimulationResult result_;
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
  if (config.share.count > 1 && (!config.seed || !config.merge)) {
    throw std::invalid_argument(
        "a simulation over several processes needs one seed for all of them and a merge of sums");
  }
  SimulationResult result = Run(config, data).ToItsEnd(on_round);
  result.wall_seconds = SecondsSince(start);
  return result;
}

}  // namespace sotto::server
