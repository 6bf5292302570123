#include "sim/simulation.h"

#include <chrono>
#include <fmt/format.h>
#include <memory>
#include <stdexcept>

#include "sim/evaluate.h"
#include "sotto/key_labels.h"
#include "sotto/posix/run_key.h"

namespace sotto::server {
namespace {

// The log of a simulation: nothing is kept, since a simulation is never resumed.
class NoStore : public JobLog {
 public:
  void BeginJob(const JobRecord&) override {}
  void CommitAttempt(const AttemptRecord&) override {}
  void CommitRelease(const ReleaseRecord&) override {}
};

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

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
  const ModelInfo& model = *config.job.model;
  const Key run_key = posix::RunKey(config.seed);
  FleetOptions fleet_options = config.fleet;
  fleet_options.seeded = config.seed.has_value();
  const Fleet fleet(fleet_options, model, *data.train, run_key);
  NoStore store;
  Job job(config.job, fleet.registry(), store, posix::DeriveKey(run_key, key_label::kServer));

  SimulationResult result;
  result.devices_without_samples = CountEmpty(fleet.partition());
  result.initial_accuracy = Accuracy(model, job.parameters(), *data.test, config.threads);
  const auto must_stop = [&] {
    result.stopped = config.stop && job.round() < config.job.plan.rounds && config.stop();
    return result.stopped;
  };
  while (!must_stop() && job.OpenRound()) {
    RoundReport report;
    do {
      const Fleet::Report trainings = fleet.RunRound(job, config.threads, config.share);
      report.failed_trainings += trainings.failed;
      report.saturated_trainings += trainings.saturated;
      PartialSum sum = job.CloseUploads();
      if (config.merge) config.merge(sum);
      report.outcome = job.FinishRound(std::move(sum));
    } while (!report.outcome.released && job.phase() == Job::Phase::kOpen);
    if (!report.outcome.released) break;
    report.accuracy = Accuracy(model, job.parameters(), *data.test, config.threads);
    result.rounds.push_back(report);
    on_round(report);
  }
  result.parameters.assign(job.parameters().begin(), job.parameters().end());
  result.finish_reason = result.stopped ? fmt::format("stopped: {} of {} rounds are released",
                                                      job.round(), config.job.plan.rounds)
                                        : job.finish_reason();
  result.gave_up = job.gave_up();
  result.spent = job.Spent();
  result.wall_seconds = SecondsSince(start);
  return result;
}

}  // namespace sotto::server
