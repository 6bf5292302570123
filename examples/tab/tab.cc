// The simulator for a browser's tab: `simulate` takes the options of `sotto simulate`, has its
// devices, rounds and messages, and `look` says what a file of samples holds. What happens goes to
// standard output, each a line of JSON with the field "event"; page.js draws it.
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "cli/rows.h"
#include "data/catalog.h"
#include "plans/statement.h"
#include "sim/noise_decay.h"
#include "sim/simulation_request.h"
#include "sotto/data/source.h"
#include "sotto/options/command.h"
#include "sotto/version.h"
#include "traffic/planned_download.h"
#include "views/report.h"

namespace {

using namespace sotto::server;
namespace privacy = sotto::privacy;
using Json = nlohmann::ordered_json;

void Tell(const char* event, Json json) {
  json["event"] = event;
  fmt::print("{}\n", json.dump());
  std::fflush(stdout);
}

// The rounds of a simulation, as they are released.
class Rounds {
 public:
  explicit Rounds(const SimulationConfig& config) : config_(config) {}

  void TellOf(const RoundReport& report) {
    const RoundOutcome& outcome = report.outcome;
    Json json = {{"round", outcome.round + 1}, {"rounds", config_.job.plan.rounds}};
    const auto accuracy = report.evaluation ? report.evaluation->accuracy() : std::nullopt;
    json["accuracy"] = accuracy ? Json(*accuracy) : Json(nullptr);
    json["privacy"] = PrivacyOf(outcome);
    AddBytes(outcome, &json);
    Tell("round", std::move(json));
  }

 private:
  // What travels with an epsilon, named as in the results; null without an account.
  Json PrivacyOf(const RoundOutcome& outcome) const {
    if (!config_.job.codec->accounted) return nullptr;
    const privacy::Claim headline = outcome.spent.Headline();
    const privacy::Plan& plan = config_.job.plan;
    return {{"epsilon", headline.epsilon},
            {"delta", headline.delta},
            {"adjacency", privacy::Name(headline.adjacency)},
            {"unit", privacy::Name(headline.unit)},
            {"trust_mode", privacy::Name(headline.trust_mode)},
            {"sampling", privacy::Name(plan.sampling)},
            {"cohort", plan.cohort},
            {"devices", plan.devices},
            {"seed", config_.seed ? Json(*config_.seed) : Json(nullptr)}};
  }

  // Of all participations of a round, as planned for an update of its mean length.
  void AddBytes(const RoundOutcome& outcome, Json* json) {
    if (!config_.job.codec->servable || outcome.reported == 0) return;
    const uint64_t upload = outcome.update_bytes / outcome.reported;
    auto planned = planned_.find(upload);
    if (planned == planned_.end()) {
      const PlannedParticipation one =
          PlanParticipation(config_.job, static_cast<double>(upload), {});
      planned = planned_.emplace(upload, one).first;
    }
    const PlannedParticipation& one = planned->second;
    (*json)["bytes_up"] = one.parts.Total().up * outcome.reported;
    (*json)["bytes_down"] = one.parts.Total().down * outcome.reported;
    (*json)["bytes_float32"] = one.as_float32.Bytes() * outcome.reported;
  }

  const SimulationConfig& config_;
  std::map<uint64_t, PlannedParticipation> planned_;  // by the bytes of an update
};

void RunSimulate(const SimulationRequest& named) {
  const SimulationRequest request = WithFleet(named);
  const SimulationConfig config = MakeSimulation(WithNoiseDecay(request));
  const sotto::TrainTest data = OpenDataOf(request);
  Tell("begin",
       {{"rounds", config.job.plan.rounds}, {"notes", NotesText({data.train, data.test})}});
  Rounds rounds(config);
  const SimulationResult result =
      Simulate(config, data, [&rounds](const RoundReport& report) { rounds.TellOf(report); });
  Json json = ResultToJson(config, result, data.train->name(), data.test->info());
  json.erase("rounds");
  json["text"] = DescribeResult(config, result, data.train->name(), data.test->info());
  Tell("end", std::move(json));
}

struct LookRequest {
  std::string data;
};

void RunLook(const LookRequest& request) {
  const sotto::TrainTest data = OpenTrainTest(request.data, "", nullptr);
  const sotto::SampleInfo& info = data.train->info();
  Tell("data", {{"samples", data.train->size()},
                {"inputs", info.shape.size()},
                {"classes", info.classes},
                {"groups", data.train->group_count()},
                {"notes", NotesText({data.train, data.test})}});
}

sotto::posix::Command Program() {
  using Row = sotto::posix::Field<LookRequest>;
  sotto::posix::CommandFor<SimulationRequest> simulate("simulate", "train a fleet in this tab");
  TakeJob(SimulationFields(), Group::kFleet, {}, JobFields(), &simulate);
  sotto::posix::CommandFor<LookRequest> look("look", "say what a file of samples holds");
  look.Takes({Row("data", &LookRequest::data, "FILE[:KEY=VALUE,...]").Required()});
  return sotto::posix::CommandOf("sotto", "a fleet in a tab",
                                 {simulate.Runs(RunSimulate), look.Runs(RunLook)});
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return sotto::posix::RunProgram(Program(), sotto::kVersion, argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "sotto: {}\n", error.what());
    return 1;
  }
}
