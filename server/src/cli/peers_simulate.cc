#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/build.h"
#include "base/counted.h"
#include "base/gave_up.h"
#include "cli/commands.h"
#include "data/catalog.h"
#include "sim/peer_data.h"
#include "sim/peer_request.h"
#include "sotto/model/model_text.h"
#include "sotto/peer/peer_options.h"
#include "sotto/posix/signals.h"
#include "sotto/posix/terminal.h"
#include "spec/inputs.h"
#include "views/output_file.h"
#include "views/peers_report.h"
#include "views/progress.h"
#include "views/repeated_runs.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

std::vector<Output> Outputs(const PeersRequest& r) {
  return {JsonOutput(r.json), {"--model-out", r.model_out}, {"--job-out", r.job_out}};
}

// The training and its rival, of one seed.
PeersOutcome RunOne(const PeersRequest& request, const TrainTest& data, const std::string& label) {
  PeersOutcome outcome;
  outcome.plan = MakePeers(request, data);
  outcome.data_name = data.train->name();
  outcome.test = data.test->info();
  outcome.plan.config.stop = [] { return posix::StopSignal() != 0; };
  std::optional<Progress> progress;
  const auto on_turn = [&](uint32_t turn, uint32_t turns) {
    if (!progress) progress.emplace(turns, posix::StandardErrorIsTerminal());
    const uint32_t every = std::max(1u, turns / 10);
    if (turn % every == 0) progress->Show(turn, label);
  };
  outcome.result = SimulatePeers(outcome.plan.config, data, on_turn);
  outcome.alone = SimulatePeers(NeverSharing(outcome.plan.config), data, [](uint32_t, uint32_t) {});
  const std::string warning = PeersWarning(outcome);
  if (!warning.empty()) {
    fmt::print(stderr, "warning: {}{}\n",
               request.seeds ? fmt::format("seed {}: ", *request.seed) : "", warning);
  }
  return outcome;
}

bool IsHeader(const std::string& path) {
  return path.size() > 2 && path.compare(path.size() - 2, 2, ".h") == 0;
}

// The job for a directory and its nodes, which find the model by its digest; or for firmware.
void WriteJob(const PeersRequest& request, const PeersConfig& config) {
  const std::string& path = request.job_out;
  if (path.empty()) return;
  OutputFile file({"--job-out", path});
  file.stream() << (IsHeader(path) ? "// For" : "# for") << " the model "
                << posix::DescribeModel(*config.model) << "\n"
                << (IsHeader(path) ? posix::PeerJobHeader(config.job)
                                   : posix::PeerJobText(config.job));
  file.Finish();
}

Json WholeResult(const PeersOutcome& outcome, const InputDigests& inputs) {
  Json json = PeersToJson(outcome);
  json["inputs"] = InputsToJson(inputs);
  json["build"] = BuildText();
  return json;
}

void RunSingle(const PeersRequest& request, const TrainTest& data, const InputDigests& inputs) {
  const PeersOutcome outcome = RunOne(request, data, "turns of all nodes");
  PrintResults(request.json, DescribePeers(outcome), WholeResult(outcome, inputs));
  const std::vector<float>& shared = outcome.result.shared;
  WriteModel({"--model-out", request.model_out}, {shared.data(), shared.size()});
  WriteJob(request, outcome.plan.config);
  if (outcome.result.stopped) {
    throw Stopped(posix::StopSignal(), fmt::format("stopped after {} turns", outcome.result.turns));
  }
}

void RunRepeated(const PeersRequest& request, const TrainTest& data, const InputDigests& inputs) {
  for (const auto& [option, path] :
       {std::pair("model-out", request.model_out), std::pair("job-out", request.job_out)}) {
    if (path.empty()) continue;
    throw std::invalid_argument(fmt::format(
        "--{} is for one simulation; give --seed instead of --seeds, or leave it out", option));
  }
  const std::vector<uint64_t> seeds = ParseSeeds(*request.seeds);
  FinishedRuns runs;
  for (const uint64_t seed : seeds) {
    PeersRequest one = request;
    one.seed = seed;
    const PeersOutcome outcome = RunOne(one, data, fmt::format("turns, seed {}", seed));
    if (outcome.result.stopped) break;
    runs.push_back(WholeResult(outcome, inputs));
  }
  PrintResults(request.json, DescribeRuns(runs), RunsToJson(seeds, runs));
  if (runs.size() < seeds.size()) {
    throw Stopped(posix::StopSignal(), fmt::format("stopped: {} of {} are done", runs.size(),
                                                   Counted(seeds.size(), "simulation")));
  }
}

void RunPeers(const PeersRequest& asked) {
  PeersRequest request = asked;
  const std::string stand_in = ChooseData(TheRanks(), &request);
  if (!stand_in.empty()) fmt::print(stderr, "warning: {}\n", stand_in);
  CheckPeers(request);
  RequireOutputs(Outputs(request), "", TextsOf(PeersInputsOf(request)));
  InputDigests inputs;
  if (!request.json.empty()) inputs = InputReader().Read(PeersInputsOf(request));
  const TrainTest data = OpenPeerData(request);
  fmt::print(stderr, "{}", NotesText({data.train, data.test}));
  posix::CatchStopSignals();
  if (request.seeds) {
    RunRepeated(request, data, inputs);
  } else {
    RunSingle(request, data, inputs);
  }
}

}  // namespace

posix::Command PeersSimulateCommand() {
  return posix::CommandFor<PeersRequest>(
             "simulate", "train simulated nodes in this process, each with its own samples")
      .Takes(PeersFields())
      .Footer(
          "Any of these options may stand in a TOML file, without dashes: --config FILE\n" +
          posix::DescribeExits(
              {{0, "done"}, {posix::kExitFailure, "it failed"}, {posix::kExitUsage, "bad usage"}}))
      .Runs(RunPeers);
}

}  // namespace sotto::server
