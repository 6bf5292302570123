#include "service/results.h"

#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "service/page.h"
#include "sotto/version.h"
#include "spec/job_spec.h"
#include "spec/parameters_file.h"
#include "store/history.h"
#include "store/ledger.h"
#include "views/claims_output.h"
#include "views/figures.h"
#include "views/json_output.h"
#include "views/ledger_output.h"
#include "views/output_file.h"

namespace sotto::server {
namespace {

Output ModelOutput(const ServeRequest& o) { return {"--model-out", o.model_out}; }
Output AverageOutput(const ServeRequest& o) { return {"--average-out", o.average_out}; }
Output PortOutput(const ServeRequest& o) { return {"--port-file", o.port_file}; }

Output MetricsOutput(const ServeRequest& o) { return {"--metrics", o.metrics, Readers::kOwner}; }

// The files that the command reads, and the token that it may write.
std::vector<std::string> InputsOf(const ServeRequest& o) {
  std::vector<std::string> inputs = {o.test, o.model_file, o.initial_model.value_or("")};
  if (!o.http.empty()) inputs.push_back(PageTokenFile(o));
  return inputs;
}

// For the operator alone: the figures depend on who connects.
nlohmann::ordered_json NetworkToJson(const NetworkFigures& figures) {
  nlohmann::ordered_json work;
  for (const auto& [name, longest_ms] : figures.work_ms_max) work[name] = longest_ms;
  return {{"loop_stall_ms_max", figures.loop_stall_ms_max},
          {"loop_cpu_ms_max", figures.loop_cpu_ms_max},
          {"work_ms_max", work},
          {"accepted", figures.accepted},
          {"refused", figures.refused},
          {"made_room", figures.made_room},
          {"no_client_hello", figures.no_client_hello},
          {"overdue", figures.overdue},
          {"failed_handshakes", figures.failed_handshakes},
          {"replaced_sessions", figures.replaced},
          {"delayed_requests", figures.delayed}};
}

// Every released round of the job, whoever served it.
nlohmann::ordered_json RoundsToJson(const JobLedger& ledger, const OperatorReport& report) {
  nlohmann::ordered_json rounds = nlohmann::ordered_json::array();
  for (const LedgerEntry& release : ledger.releases) rounds.push_back(report.RoundToJson(release));
  return rounds;
}

// The whole statement and all rounds.
//   ledger  of the job
//   seeded  whoever knows a seed knows noise on which the claims rest
nlohmann::ordered_json ResultsToJson(const ServeRequest& o, const JobLedger& ledger,
                                     const ServeEnd& end, bool seeded, Job& job) {
  const JobConfig& config = job.config();
  const privacy::Statement spent = job.Spent();
  nlohmann::ordered_json json = {{"sotto_version", kVersion},
                                 {"audience", Name(Audience::kOperator)},
                                 {"store", o.store},
                                 {"job_number", ledger.job.number},
                                 {"begun", ledger.job.begun},
                                 {"model", config.model->name},
                                 {"parameters", config.model->parameters},
                                 {"mechanism", config.codec->name},
                                 {"rounds_planned", config.plan.rounds},
                                 {"rounds_released", job.round()},
                                 {"attempts", job.attempts()},
                                 {"state", end.state},
                                 {"finish_reason", end.why},
                                 {"job", SpecificationToJson(o, config)},
                                 {"claims", ClaimsToJson(spent.claims)},
                                 {"private", config.codec->certified && !seeded},
                                 {"seeded", seeded},
                                 {"seed", o.seed ? nlohmann::ordered_json(*o.seed) : nullptr},
                                 {"epsilon_budget", Finite(config.epsilon_budget)},
                                 {"parameters_sha256", ParametersDigest(job.parameters())}};
  if (config.codec->accounted) AddFigure(FigureOf(spent.claims, seeded), json);
  return json;
}

}  // namespace

void RequireServeOutputs(const ServeRequest& o) {
  RequireOutputs({JsonOutput(o.json, Readers::kOwner), ModelOutput(o), AverageOutput(o),
                  PortOutput(o), MetricsOutput(o)},
                 o.store, InputsOf(o));
}

void WritePortFile(const ServeRequest& o, uint16_t port) {
  WriteOutput(PortOutput(o), std::to_string(port) + '\n');
}

void WriteResults(const ServeRequest& o, const ServeEnd& end, Store& store, Job& job,
                  const OperatorReport& report, const ServedEvaluations& evaluations,
                  const NetworkFigures& network) {
  const JobLedger ledger = std::move(ReadLedger(store).back());
  const History history = store.ReadHistory();
  const bool seeded = o.seed.has_value() || RestsOnSeededNoise(history, *LastJob(history));
  nlohmann::ordered_json results = ResultsToJson(o, ledger, end, seeded, job);
  results["rounds"] = RoundsToJson(ledger, report);
  results["evaluations"] = EvaluationsToJson(ledger);
  nlohmann::ordered_json operators = report.ToJson();
  evaluations.AddTo(job, &operators);
  operators["network"] = NetworkToJson(network);
  results["operator"] = operators;
  WriteModel(ModelOutput(o), job.parameters());
  const std::vector<float> average = job.Average();
  WriteModel(AverageOutput(o), {average.data(), average.size()});
  WriteJson(o.json, results, Readers::kOwner);
}

}  // namespace sotto::server
