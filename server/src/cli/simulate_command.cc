#include "cli/simulate_command.h"

#include <cstdio>
#include <fmt/format.h>
#include <optional>

#include <nlohmann/json.hpp>

#include "cli/gave_up.h"
#include "cli/json_output.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "data/catalog.h"
#include "sotto/posix/signals.h"
#include "sotto/posix/terminal.h"
#include "spec/job_spec.h"

namespace sotto::server {
namespace {

void Announce(const SimulationConfig& config) {
  if (config.job.codec->certified) return;
  if (!config.job.codec->servable) {
    fmt::print(stderr, "--mechanism {} is a baseline to compare with; it protects no real data\n",
               config.job.codec->name);
    return;
  }
  fmt::print(stderr, "NO PRIVACY: {} protects nothing; for experiments only\n",
             config.job.codec->by_name ? "--mechanism none" : "--epsilon inf");
}

}  // namespace

void RunSimulate(const SimulationRequest& request) {
  SimulationConfig config = MakeSimulation(request);
  config.stop = [] { return posix::StopSignal() != 0; };
  const TrainTest data = OpenDataset(request.data);
  std::optional<OutputFile> json_file;
  std::optional<OutputFile> model_file;
  const bool json_to_stdout = IsStandardOutput(request.json);
  if (!request.json.empty() && !json_to_stdout) json_file.emplace(request.json);
  if (!request.model_out.empty()) model_file.emplace(request.model_out);

  Announce(config);
  posix::CatchStopSignals();
  const Progress progress(static_cast<size_t>(config.job.plan.rounds),
                          posix::StandardErrorIsTerminal());
  const SimulationResult result = Simulate(config, data, [&](const RoundReport& report) {
    progress.Show(report.outcome.round + 1, DescribeRound(config, report));
  });

  fmt::print(json_to_stdout ? stderr : stdout, "{}",
             DescribeResult(config, result, data.train.name));
  nlohmann::ordered_json json = ResultToJson(config, result, data.train.name);
  json["job"] = SpecificationToJson(request, config.job);
  if (json_to_stdout) WriteJson(request.json, json);
  if (json_file) {
    json_file->stream() << json.dump(2) << '\n';
    json_file->Finish();
  }
  if (model_file) {
    WriteParameters({result.parameters.data(), result.parameters.size()}, model_file->stream());
    model_file->Finish();
  }
  if (result.stopped) throw Stopped(posix::StopSignal(), result.finish_reason);
  if (result.gave_up) throw GaveUp(result.finish_reason);
}

}  // namespace sotto::server
