#include "experiment/runner.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

#include "base/build.h"
#include "base/parallel.h"
#include "base/thread_cpu.h"
#include "plans/calibration.h"
#include "sim/peer_data.h"
#include "sim/simulation_request.h"

namespace sotto::server {
namespace {

// Opens each data set once. The key is all of a request that decides the samples: they take the
// model's shape.
class OpenedSamples : public SharedSamples {
 public:
  TrainTest Open(const SimulationRequest& request) override {
    const std::string key =
        fmt::format("{}|{}|{}|{}|{}|{}", request.data, request.test.value_or(""),
                    request.classes.value_or(""), request.model_file, request.job.model->name,
                    uint64_t{request.fleet.devices} * request.fleet.samples_per_device);
    return Open(key, request, OpenDataOf);
  }
  TrainTest Open(const PeersRequest& request) override {
    return Open(PeerDataKey(request), request, OpenPeerData);
  }

 private:
  struct Opened {
    posix::SharedModel model;  // outlives the samples that were made for it
    TrainTest data;
  };

  template <class Request>
  TrainTest Open(const std::string& key, const Request& request,
                 TrainTest (*open)(const Request&)) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = opened_.find(key);
    if (found != opened_.end()) return found->second.data;
    return opened_.emplace(key, Opened{request.opened_model, open(request)}).first->second.data;
  }

  std::mutex mutex_;
  std::map<std::string, Opened> opened_;
};

// How often to look whether the others have finished.
constexpr std::chrono::milliseconds kLook(200);

Outcome Refused(const std::exception& error) {
  Outcome outcome;
  outcome.note = error.what();
  outcome.is_refused = true;
  return outcome;
}

// All runs of an experiment, and what they share.
class Runner {
 public:
  Runner(const RunKind& kind, const std::vector<Cell>& cells, const RunnerOptions& options,
         RunLogFile& log)
      : kind_(kind), options_(options), log_(log) {
    for (const Cell& cell : cells) results_.push_back({cell, {}});
    for (uint64_t seed = 1; seed <= options.seeds; ++seed) {
      for (size_t i = 0; i < cells.size(); ++i) runs_.push_back({i, seed});
    }
    outcomes_.resize(runs_.size());
  }

  std::vector<CellResult> Do() {
    for (size_t i = 0; i < runs_.size(); ++i) TakeFromLog(i);
    kept_.done = done_;
    kept_.total = runs_.size();
    if (options_.on_begin) options_.on_begin(kept_);
    for (bool has_told = false; !MustStop() && DoRest() == Progress::kNone; has_told = true) {
      if (!has_told && options_.on_wait) options_.on_wait(runs_.size() - done_);
      std::this_thread::sleep_for(kLook);
    }
    for (size_t i = 0; i < runs_.size(); ++i) {
      if (outcomes_[i]) results_[runs_[i].cell].runs.push_back({runs_[i].seed, *outcomes_[i]});
    }
    return std::move(results_);
  }

 private:
  enum class Progress { kNone, kDone };

  // Does all that nobody else is at, again and again while there is such a run. kDone: none is
  // left, or it must stop.
  Progress DoRest() {
    for (;;) {
      std::vector<size_t> left;
      for (size_t i = 0; i < runs_.size(); ++i) {
        if (!outcomes_[i]) left.push_back(i);
      }
      std::stable_partition(left.begin(), left.end(),
                            [&](size_t i) { return i % options_.ranks == options_.rank; });
      if (left.empty() || MustStop()) return Progress::kDone;
      const size_t before = done_;
      ParallelFor(options_.jobs, left.size(), [&](size_t i, int) {
        if (!MustStop()) Claim(left[i]);
      });
      if (done_ == before) return Progress::kNone;
    }
  }

  // Does a run, or takes it from the process that has done it, unless another one is at it.
  void Claim(size_t index) {
    const std::optional<posix::Claim> claim =
        log_.TryClaim(RunKey(kind_.name, SettingsOf(runs_[index])));
    if (!claim) return;
    log_.Refresh();
    const std::optional<LoggedRun> found = Logged(index);
    if (!found) return DoOne(index);
    Finish(index, found->outcome);
  }

  // A run that another process has finished meanwhile; absent for one that was there before and is
  // made anew.
  std::optional<LoggedRun> Logged(size_t index) {
    const Settings settings = SettingsOf(runs_[index]);
    const std::optional<LoggedRun> found = log_.Find(RunKey(kind_.name, settings));
    if (!found) return std::nullopt;
    const bool is_old =
        FirstChangedInput(found->inputs, inputs_.Read(kind_.inputs(settings))).has_value();
    return is_old ? std::nullopt : found;
  }

  void Finish(size_t index, const Outcome& outcome) {
    const std::lock_guard<std::mutex> lock(mutex_);
    outcomes_[index] = outcome;
    ++done_;
    if (options_.on_run) options_.on_run(done_, runs_.size(), runs_[index], outcome);
  }

  Settings SettingsOf(const CellRun& run) const {
    return SettingsOfRun(results_[run.cell].cell, run.seed);
  }
  // A run of the log, if it read what a run would read now.
  void TakeFromLog(size_t index) {
    const Settings settings = SettingsOf(runs_[index]);
    const std::optional<LoggedRun> found = log_.Find(RunKey(kind_.name, settings));
    if (!found) return;
    const auto changed = FirstChangedInput(found->inputs, inputs_.Read(kind_.inputs(settings)));
    if (changed) {
      ++kept_.changed[changed->Describe()];
      return;
    }
    if (found->build != BuildText()) ++kept_.of_other_builds[found->build];
    outcomes_[index] = found->outcome;
    ++done_;
  }
  bool MustStop() const { return options_.stop && options_.stop(); }

  void DoOne(size_t index) {
    const CellRun& run = runs_[index];
    const Settings settings = SettingsOf(run);
    const uint64_t start = ThreadCpuNs();
    const InputDigests inputs = inputs_.Read(kind_.inputs(settings));  // before they are opened
    Outcome outcome = OutcomeOf(run, settings);
    if (MustStop()) return;  // it may have been cut short
    outcome.core_seconds = static_cast<double>(ThreadCpuNs() - start) * 1e-9;
    log_.Append(RunKey(kind_.name, settings), kind_.name, settings, {outcome, inputs, BuildText()});
    Finish(index, outcome);
  }

  Outcome OutcomeOf(const CellRun& run, const Settings& settings) {
    try {
      return kind_.run(settings, {samples_, options_.stop});
    } catch (const privacy::UnattainableEpsilon& error) {
      return Refused(error);
    } catch (const std::exception& error) {
      throw std::runtime_error(fmt::format("{} seed={}: {}", TextOf(results_[run.cell].cell.at),
                                           run.seed, error.what()));
    }
  }

  const RunKind& kind_;
  const RunnerOptions& options_;
  RunLogFile& log_;
  OpenedSamples samples_;
  InputReader inputs_;
  KeptRuns kept_;
  std::vector<CellResult> results_;
  std::vector<CellRun> runs_;
  std::vector<std::optional<Outcome>> outcomes_;
  std::mutex mutex_;
  size_t done_ = 0;
};

}  // namespace

Settings SettingsOfRun(const Cell& cell, uint64_t seed) {
  Settings settings = cell.settings;
  settings["seed"] = std::to_string(seed);
  return settings;
}

void CheckCells(const RunKind& kind, const std::vector<Cell>& cells) {
  for (const Cell& cell : cells) {
    try {
      kind.check(SettingsOfRun(cell, 1));
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(fmt::format("{}: {}", TextOf(cell.at), error.what()));
    }
  }
}

std::vector<std::string> RehearseCells(const RunKind& kind, const std::vector<Cell>& cells) {
  OpenedSamples samples;
  std::vector<std::string> refusals;
  for (const Cell& cell : cells) {
    refusals.emplace_back();
    try {
      kind.rehearse(SettingsOfRun(cell, 1), {samples, nullptr});
    } catch (const privacy::UnattainableEpsilon& error) {
      refusals.back() = error.what();
    } catch (const std::exception& error) {
      throw std::runtime_error(fmt::format("{} seed=1: {}", TextOf(cell.at), error.what()));
    }
  }
  return refusals;
}

std::vector<CellResult> RunCells(const RunKind& kind, const std::vector<Cell>& cells,
                                 const RunnerOptions& options, RunLogFile& log) {
  return Runner(kind, cells, options, log).Do();
}

}  // namespace sotto::server
