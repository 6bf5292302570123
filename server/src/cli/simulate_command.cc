#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/build.h"
#include "base/counted.h"
#include "base/gave_up.h"
#include "cli/commands.h"
#include "cli/rows.h"
#include "data/catalog.h"
#include "plans/statement.h"
#include "ranks/ranks.h"
#include "sim/noise_decay.h"
#include "sim/peer_request.h"
#include "sim/simulation_request.h"
#include "sotto/posix/files.h"
#include "sotto/posix/signals.h"
#include "sotto/posix/terminal.h"
#include "spec/configuration.h"
#include "spec/job_spec.h"
#include "spec/make_job.h"
#include "spec/small_delta.h"
#include "views/before_start.h"
#include "views/output_file.h"
#include "views/progress.h"
#include "views/repeated_runs.h"
#include "views/report.h"
#include "views/simulation_csv.h"
#include "views/training_warnings.h"

namespace sotto::server {
namespace {

void Warn(const std::string& warning) {
  if (!warning.empty()) fmt::print(stderr, "warning: {}\n", warning);
}

// A run that goes on says it only if its figure is a limit, which more rounds do not move.
std::vector<std::string> BeforeStart(const SimulationConfig& config) {
  JobConfig job = config.job;
  job.seeded = config.seed.has_value();
  const bool is_limit = job.plan.sampling == privacy::Sampling::kPasses;
  if (!job.codec->accounted || (config.resume && !is_limit)) return {};
  const privacy::Plan plan = config.resume ? config.resume->job.phases.Limited(job.plan) : job.plan;
  privacy::Statement planned = privacy::Account(plan, plan.rounds);
  privacy::AddPairs(plan, plan.rounds, plan.rounds, {}, &planned);
  return DescribeBeforeStart(job, planned);
}

void Announce(const SimulationRequest& request, const SimulationConfig& config) {
  for (const std::string& line : BeforeStart(config)) fmt::print(stderr, "{}\n", line);
  Warn(DeltaNote(request, config.job));
  Warn(NoiseWarning(config.job));
  if (config.job.codec->certified) return;
  if (!config.job.codec->servable) {
    fmt::print(stderr, "--mechanism {} is {} to compare with; it protects no real data\n",
               config.job.codec->name,
               config.job.codec->own != nullptr ? "an own codec, UNPROVED," : "a baseline");
    return;
  }
  fmt::print(stderr, "NO PRIVACY: {} protects nothing; for experiments only\n",
             config.job.codec->by_name ? "--mechanism none" : "--epsilon inf");
}

Output ModelOutput(const SimulationRequest& o) { return {"--model-out", o.model_out}; }
Output AverageOutput(const SimulationRequest& o) { return {"--average-out", o.average_out}; }
Output SpectrumOutput(const SimulationRequest& o) { return {"--spectrum", o.spectrum}; }
Output CsvOutput(const SimulationRequest& o) { return {"--rounds-csv", o.rounds_csv}; }
Output StateOutput(const SimulationRequest& o) {
  const bool goes_back = o.state_out.empty();
  return {goes_back ? "--resume" : "--state-out", goes_back ? o.resume : o.state_out,
          Readers::kOwner};
}

void Write(const Output& output, const std::string& text) {
  OutputFile file(output);
  file.stream() << text;
  file.Finish();
}

// Says on standard error which files hold the results of a simulation that was stopped.
void TellWritten(const std::vector<Output>& outputs) {
  std::vector<std::string> names;
  for (const Output& output : outputs) {
    if (!output.path.empty() && output.path != "-") names.push_back(output.path);
  }
  if (!names.empty()) fmt::print(stderr, "written so far: {}\n", fmt::join(names, ", "));
}

// A statement that is printed names its epsilon at other deltas, too.
void AddPairs(const SimulationConfig& config, SimulationResult* result) {
  const JobState& state = result->state.job;
  privacy::AddPairs(state.phases.Split(config.job.plan, state.next_round, state.attempts),
                    &result->spent);
}

nlohmann::ordered_json WholeResult(const SimulationRequest& request, const SimulationConfig& config,
                                   const SimulationResult& result, const TrainTest& data) {
  nlohmann::ordered_json json = ResultToJson(config, result, data.train->name(), data.test->info());
  json["job"] = SpecificationToJson(request, config.job);
  json["inputs"] = InputsToJson(config.inputs);
  json["build"] = BuildText();
  return json;
}

// One simulation and its files.
class SingleRun {
 public:
  SingleRun(const SimulationRequest& request, Ranks& ranks)
      : request_(WithFleet(request)), ranks_(ranks) {
    std::optional<RunState> resume;
    if (!request.resume.empty()) {
      resume = ReadRunState(request.resume);
      KeepBegun(request.resume, resume->configuration, &request_);
    }
    config_ = MakeSimulation(WithNoiseDecay(request_));
    config_.resume = std::move(resume);
    config_.ranks = &ranks_;
    if (ranks_.is_first()) {  // which alone writes
      RequireOutputs(Outputs(), "", TextsOf(InputsOf(request)));
      RequireStateOutput();
    }
    if (!request.average_out.empty() && config_.job.aggregation.average == "none") {
      throw std::invalid_argument("--average-out needs --average uniform or geometric:RATIO");
    }
    RequireLaterRounds();
    KnowInputs();
    data_ = OpenDataOf(request_);
    fmt::print(stderr, "{}", NotesText({data_.train, data_.test}));
  }

  void Do() {
    config_.on_begin = [this] { Announce(request_, config_); };
    posix::CatchStopSignals();
    config_.stop = [] { return posix::StopSignal() != 0; };
    const std::string state = StateOutput(request_).path;
    if (!state.empty() && ranks_.is_first()) {
      config_.save = [state](const RunState& now) { WriteRunState(state, now); };
    }
    const size_t before = config_.resume ? config_.resume->rounds.size() : 0;
    const Progress progress(static_cast<size_t>(config_.job.plan.rounds),
                            posix::StandardErrorIsTerminal(), before);
    SimulationResult result = Simulate(config_, data_, [&](const RoundReport& report) {
      progress.Show(report.outcome.round + 1, DescribeRound(config_, report));
    });
    // The state comes first: from it a later run makes the other files, should one of them fail.
    if (!state.empty() && ranks_.is_first()) WriteRunState(state, result.state);
    AddPairs(config_, &result);
    if (ranks_.is_first()) Tell(result);
    if (result.stopped) {
      throw Stopped(posix::StopSignal(), result.finish_reason + Advice());
    }
    if (result.gave_up) throw GaveUp(result.finish_reason);
  }

 private:
  void Tell(const SimulationResult& result) const {
    fmt::print(TextStream(request_.json), "{}",
               DescribeResult(config_, result, data_.train->name(), data_.test->info()));
    WriteFiles(result);
    Warn(WorseWarning(config_.job, result.initial, result.last));
    if (result.stopped) TellWritten(Outputs());
  }

  std::vector<Output> Outputs() const {
    return {JsonOutput(request_.json), ModelOutput(request_),    AverageOutput(request_),
            CsvOutput(request_),       SpectrumOutput(request_), StateOutput(request_)};
  }

  // Results and a state say what they rest on. A state that rests on something else is refused
  // before the data are opened.
  void KnowInputs() {
    if (StateOutput(request_).path.empty() && request_.json.empty()) return;
    config_.inputs = InputReader().Read(InputsOf(request_));
    config_.build = BuildText();
    if (!config_.resume) return;
    RequireSameInputs(*config_.resume, config_.inputs);
    Warn(OtherBuildWarning(*config_.resume, config_.build));
  }

  // The state is written at the end, beside the file that it replaces.
  void RequireStateOutput() const {
    const Output output = StateOutput(request_);
    if (output.path.empty()) return;
    try {
      posix::RequireReplaceable(output.path);
    } catch (const std::exception& error) {
      throw std::invalid_argument(fmt::format("{} {}", output.option, error.what()));
    }
  }

  // The updates of rounds that an earlier simulation made are gone.
  void RequireLaterRounds() const {
    if (!config_.resume || config_.update_rounds.empty()) return;
    const uint32_t next = config_.resume->job.next_round;
    if (*config_.update_rounds.begin() >= next) return;
    throw std::invalid_argument(fmt::format(
        "--spectrum-rounds {}: --resume goes on with round {}; name rounds from there on",
        request_.spectrum_rounds, next + 1));
  }

  std::string Advice() const {
    const std::string state = StateOutput(request_).path;
    return state.empty() ? "; --state-out FILE would let a later run go on"
                         : fmt::format("; go on with --resume {} and the same options", state);
  }

  void WriteFiles(const SimulationResult& result) const {
    WriteJson(request_.json, WholeResult(request_, config_, result, data_));
    WriteModel(ModelOutput(request_), {result.parameters.data(), result.parameters.size()});
    WriteModel(AverageOutput(request_), {result.average.data(), result.average.size()});
    if (!request_.spectrum.empty()) Write(SpectrumOutput(request_), SpectrumCsv(config_, result));
    if (!request_.rounds_csv.empty()) {
      Write(CsvOutput(request_), RoundsCsvHeader() + RoundsCsvRows(config_, result));
    }
  }

  SimulationRequest request_;
  Ranks& ranks_;
  SimulationConfig config_;
  TrainTest data_;
};

// The same simulation with one seed after the other.
class RepeatedRun {
 public:
  RepeatedRun(const SimulationRequest& request, Ranks& ranks)
      : request_(WithFleet(request)),
        ranks_(ranks),
        seeds_(ParseSeeds(*request.seeds)),
        data_(OpenDataOf(request_)),
        rounds_(static_cast<size_t>(RoundsOf(request_, request_.fleet.devices))),
        progress_(seeds_.size() * rounds_, posix::StandardErrorIsTerminal()) {
    for (const auto& [option, path] :
         {std::pair("model-out", request.model_out), std::pair("average-out", request.average_out),
          std::pair("spectrum", request.spectrum), std::pair("state-out", request.state_out),
          std::pair("resume", request.resume)}) {
      if (path.empty()) continue;
      throw std::invalid_argument(fmt::format(
          "--{} is for one simulation; give --seed instead of --seeds, or leave it out", option));
    }
    if (ranks_.is_first()) RequireOutputs(Outputs(), "", TextsOf(InputsOf(request)));
    if (!request.json.empty()) inputs_ = InputReader().Read(InputsOf(request_));
    fmt::print(stderr, "{}", NotesText({data_.train, data_.test}));
  }

  void Do() {
    posix::CatchStopSignals();
    for (size_t i = 0; i < seeds_.size() && !is_stopped_; ++i) Do(i);
    if (ranks_.is_first()) {
      PrintResults(request_.json, DescribeRuns(runs_), RunsToJson(seeds_, runs_));
      if (!request_.rounds_csv.empty()) Write(CsvOutput(request_), RoundsCsvHeader() + rows_);
    }
    if (runs_.size() < seeds_.size()) {
      TellWritten(Outputs());
      throw Stopped(posix::StopSignal(), fmt::format("stopped: {} of {} are done", runs_.size(),
                                                     Counted(seeds_.size(), "simulation")));
    }
    if (!gave_up_.empty()) throw GaveUp(gave_up_);
  }

 private:
  std::vector<Output> Outputs() const { return {JsonOutput(request_.json), CsvOutput(request_)}; }

  void Do(size_t index) {
    SimulationRequest request = request_;
    request.seed = seeds_[index];
    SimulationConfig config = MakeSimulation(WithNoiseDecay(request));
    config.inputs = inputs_;
    config.ranks = &ranks_;
    if (index == 0) Announce(request, config);
    config.stop = [] { return posix::StopSignal() != 0; };
    SimulationResult result = Simulate(config, data_, [&](const RoundReport& report) {
      progress_.Show(index * rounds_ + report.outcome.round + 1,
                     fmt::format("seed {}, {}", seeds_[index], DescribeRound(config, report)));
    });
    AddPairs(config, &result);
    rows_ += RoundsCsvRows(config, result);
    is_stopped_ = result.stopped;
    if (is_stopped_) return;
    const std::string worse = WorseWarning(config.job, result.initial, result.last);
    if (!worse.empty()) Warn(fmt::format("seed {}: {}", seeds_[index], worse));
    runs_.push_back(WholeResult(request, config, result, data_));
    if (result.gave_up) {
      gave_up_ =
          fmt::format("the simulation with seed {}: {}", seeds_[index], result.finish_reason);
    }
  }

  const SimulationRequest request_;
  Ranks& ranks_;
  const std::vector<uint64_t> seeds_;
  const TrainTest data_;
  const size_t rounds_;  // of each simulation
  const Progress progress_;
  InputDigests inputs_;  // for the results
  FinishedRuns runs_;
  bool is_stopped_ = false;
  std::string rows_;     // of the CSV, of a simulation that was stopped too
  std::string gave_up_;  // why the last one that gave up did
};

// Prepares on all ranks, of which one alone may lack a file, before they simulate together.
template <typename Simulation>
void Run(const SimulationRequest& request) {
  Ranks& ranks = TheRanks();
  std::unique_ptr<Simulation> simulation;
  ranks.Together([&] { simulation = std::make_unique<Simulation>(request, ranks); });
  simulation->Do();
}

void RunSimulate(const SimulationRequest& asked) {
  SimulationRequest request = asked;
  Warn(ChooseData(TheRanks(), &request));
  if (request.seeds) {
    Run<RepeatedRun>(request);
  } else {
    Run<SingleRun>(request);
  }
}

bool HasOption(const char* name) {
  const auto is_it = [name](const FieldText& row) {
    return row.is_option() && std::string_view(row.name) == name;
  };
  return std::any_of(SimulationFields().begin(), SimulationFields().end(), is_it) ||
         std::any_of(JobFields().begin(), JobFields().end(), is_it);
}

// What moved to `sotto peers simulate`.
std::vector<posix::Renamed> OptionsOfNodes() {
  constexpr char kToday[] = "sotto peers simulate";
  std::vector<posix::Renamed> moved = {{"--topology", kToday}};
  for (const Field<PeersRequest>& row : PeersFields()) {
    if (HasOption(row.name)) continue;
    moved.push_back({std::string("--") + row.name, kToday});
  }
  return moved;
}

}  // namespace

posix::Command SimulateCommand() {
  posix::CommandFor<SimulationRequest> command(
      "simulate", "train a fleet of simulated devices in this process, under a privacy budget");
  TakeJob(SimulationFields(), Group::kFleet, {}, JobFields(), &command);
  return command
      .Footer(JobFooter("all rounds are released or the budget is spent",
                        {{kExitGaveUp,
                          "the job gave up: too few devices checked in, or training "
                          "diverged"},
                         {kExitOlderCopy, "(serve) the store is an older copy"}}))
      .Renames(OptionsOfNodes())
      .Runs(RunSimulate);
}

}  // namespace sotto::server
