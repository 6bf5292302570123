// `sotto simulate` for a browser's tab: the same options, devices, rounds and messages. What happens goes to standard
// output, each a line of JSON, which examples/tab/page.js draws.
#include <cstdio>
#include <exception>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/rows.h"
#include "data/catalog.h"
#include "sim/noise_decay.h"
#include "sim/simulation_request.h"
#include "sotto/options/command.h"
#include "sotto/version.h"
#include "traffic/planned_download.h"
#include "views/before_start.h"
#include "views/report.h"
#include "views/training_warnings.h"

namespace {

using namespace sotto::server;
using Json = nlohmann::ordered_json;

void Tell(const char* event, Json json) {
  json["event"] = event;
  fmt::print("{}\n", json.dump());
  std::fflush(stdout);
}

Json AccuracyOf(const std::optional<Evaluation>& evaluation) {
  const auto accuracy = evaluation ? evaluation->accuracy() : std::nullopt;
  return accuracy ? Json(*accuracy) : Json(nullptr);
}

// What travelled in a round, from the devices and to them.
void AddBytes(const JobConfig& job, const RoundOutcome& outcome, Json* json) {
  if (!job.codec->servable || outcome.reported == 0) return;
  const double upload = static_cast<double>(outcome.update_bytes) / outcome.reported;
  const PlannedParticipation planned = PlanParticipation(job, upload, {});
  (*json)["bytes_up"] = planned.parts.Total().up * outcome.reported;
  (*json)["bytes_down"] = planned.parts.Total().down * outcome.reported;
  (*json)["bytes_float32"] = planned.as_float32.Bytes() * outcome.reported;
}

void TellRound(const SimulationConfig& config, const RoundReport& report) {
  const RoundOutcome& outcome = report.outcome;
  Json json = {{"round", outcome.round + 1}, {"rounds", config.job.plan.rounds}};
  json["accuracy"] = AccuracyOf(report.evaluation);
  json["reported"] = outcome.reported;
  if (config.job.codec->accounted) json["epsilon"] = outcome.spent.Headline().epsilon;
  AddBytes(config.job, outcome, &json);
  json["text"] = DescribeRound(config, report);
  Tell("round", std::move(json));
}

void RunSimulate(const SimulationRequest& named) {
  const SimulationRequest request = WithFleet(named);
  const SimulationConfig config = MakeSimulation(WithNoiseDecay(request));
  const sotto::TrainTest data = OpenDataOf(request);
  const std::string notes = NotesText({data.train, data.test});
  Tell("begin", {{"notes", notes}, {"rounds", config.job.plan.rounds}});
  SimulationResult result =
      Simulate(config, data, [&](const RoundReport& report) { TellRound(config, report); });
  Json json = ResultToJson(config, result, data.train->name(), data.test->info());
  json["text"] = DescribeResult(config, result, data.train->name(), data.test->info());
  Tell("end", std::move(json));
}

sotto::posix::Command Program() {
  sotto::posix::CommandFor<SimulationRequest> command(
      "sotto simulate", "train a fleet of simulated devices in this tab");
  TakeJob(SimulationFields(), Group::kFleet, {}, JobFields(), &command);
  return command.Runs(RunSimulate);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return sotto::posix::RunProgram(Program(), sotto::kVersion, argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "sotto simulate: {}\n", error.what());
    return 1;
  }
}
