#include "cli/simulate_command.h"

#include <cstdio>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/gave_up.h"
#include "cli/json_output.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "data/catalog.h"
#include "data/classes.h"
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
  TrainTest data = OpenForFleet(request.data, request.test.value_or(""), config.job.model,
                                uint64_t{request.fleet.devices} * request.fleet.samples_per_device);
  if (request.classes) data = OnlyClasses(data, *request.classes);
  const Output model_output = {"--model-out", request.model_out};
  RequireOutputs({JsonOutput(request.json), model_output});
  Announce(config);
  posix::CatchStopSignals();
  const Progress progress(static_cast<size_t>(config.job.plan.rounds),
                          posix::StandardErrorIsTerminal());
  const SimulationResult result = Simulate(config, data, [&](const RoundReport& report) {
    progress.Show(report.outcome.round + 1, DescribeRound(config, report));
  });

  fmt::print(IsStandardOutput(request.json) ? stderr : stdout, "{}",
             DescribeResult(config, result, data.train->name()));
  nlohmann::ordered_json json = ResultToJson(config, result, data.train->name());
  json["job"] = SpecificationToJson(request, config.job);
  WriteJson(request.json, json);
  if (!request.model_out.empty()) {
    OutputFile file(model_output);
    WriteParameters({result.parameters.data(), result.parameters.size()}, file.stream());
    file.Finish();
  }
  if (result.stopped) throw Stopped(posix::StopSignal(), result.finish_reason);
  if (result.gave_up) throw GaveUp(result.finish_reason);
}

}  // namespace sotto::server
