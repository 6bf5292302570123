#include "service/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "accounting/figures.h"
#include "base/build.h"
#include "base/counted.h"
#include "export/parameters.h"
#include "plans/claim_kinds.h"
#include "round/needs.h"
#include "round/round_figures.h"
#include "service/page.h"
#include "sotto/version.h"
#include "spec/job_spec.h"
#include "store/history.h"
#include "store/ledger.h"
#include "views/claims_output.h"
#include "views/figures.h"
#include "views/ledger_output.h"
#include "views/output_file.h"
#include "views/round_output.h"
#include "views/turns_output.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

// Of devices that lack something that the job needs. Empty if there are none.
std::string DescribeWaiting(const RoundOutcome& outcome) {
  const std::string lacks = DescribeLacks(outcome.lacking);
  return lacks.empty() ? "" : "; told to wait: " + lacks;
}

std::string DescribeCounts(const RoundOutcome& outcome) {
  return fmt::format("{} of {} reported{}{}", outcome.reported, outcome.cohort,
                     DescribeMore(kServeLog, {&outcome}), DescribeWaiting(outcome));
}

std::string DescribeRelease(const JobConfig& config, const RoundOutcome& outcome, bool seeded) {
  std::string text = fmt::format("round {}/{} released: {}", outcome.round + 1, config.plan.rounds,
                                 DescribeCounts(outcome));
  if (outcome.unclipped_fraction) {
    text += fmt::format("; clip {:.4g}, next {:.4g}: a noisy {:.2f} of the cohort not clipped",
                        outcome.clip_l2, outcome.next_clip_l2, *outcome.unclipped_fraction);
  }
  if (outcome.device_accuracy) text += "; " + DescribeDeviceAccuracy(*outcome.device_accuracy);
  if (!config.codec->certified) return text + "; NO PRIVACY";
  const privacy::Claim headline = outcome.spent.Headline();
  return text +
         fmt::format("; epsilon {} at delta {}, {} adjacency, unit {}, {}, {}, accountant {}{}",
                     DescribeClaims(outcome.spent.claims), privacy::DeltaText(headline.delta),
                     privacy::Name(headline.adjacency), privacy::Name(headline.unit),
                     privacy::Name(headline.trust_mode), Counted(headline.colluders, "colluder"),
                     headline.accountant, seeded ? "; seeded: not private" : "");
}

// The claims that count attempts, released or not: "epsilon 12.3 against the server ...".
std::string DescribeAttemptClaims(const privacy::Statement& spent) {
  std::string text;
  for (const privacy::Claim& claim : spent.claims) {
    const privacy::ClaimKind* kind = privacy::FindKind(claim.adversary, claim.view);
    if (kind == nullptr || !kind->counts_updates) continue;
    text += fmt::format("{}epsilon {} at delta {} {}", text.empty() ? "" : ", ",
                        privacy::EpsilonText(claim.epsilon), privacy::DeltaText(claim.delta),
                        kind->against);
  }
  return text;
}

std::string DescribeGivenUp(const JobConfig& config, const RoundOutcome& outcome) {
  const std::string charged = DescribeAttemptClaims(outcome.spent);
  const std::string few = outcome.checked_in < config.min_devices
                              ? fmt::format("{} of {} checked in, too few", outcome.checked_in,
                                            Counted(outcome.devices, "device"))
                              : fmt::format("{} of {} reported, and the quorum is {}",
                                            outcome.reported, outcome.cohort, config.quorum);
  return fmt::format(
      "round {} attempt {}: {}{}; nothing released, {}", outcome.round + 1, outcome.attempt + 1,
      few, DescribeWaiting(outcome),
      charged.empty() ? "nothing charged"
                      : "but the server has seen the attempt's updates and is charged: " + charged);
}

Json LacksToJson(const LackCounts& counts) {
  Json json = {{"devices", counts.devices}, {"drawn", counts.drawn}};
  for (size_t i = 0; i < counts.by_need.size(); ++i) {
    const LackCount& lack = counts.by_need[i];
    if (lack.devices == 0) continue;
    json[Needs()[i].name] = {{"devices", lack.devices},
                             {"drawn", lack.drawn},
                             {"needed", lack.needed},
                             {"least", lack.least}};
  }
  return json;
}

Json AttemptToJson(const RoundOutcome& outcome) {
  Json json = {{"round", outcome.round + 1},
               {"attempt", outcome.attempt + 1},
               {"released", outcome.released}};
  AddFigures(FiguresForOperator(kAttempts), {&outcome}, json);
  json["lacking"] = LacksToJson(outcome.lacking);
  return json;
}

Output ModelOutput(const ServeRequest& o) { return {"--model-out", o.model_out}; }
Output AverageOutput(const ServeRequest& o) { return {"--average-out", o.average_out}; }
Output PortOutput(const ServeRequest& o) { return {"--port-file", o.port_file}; }

Output MetricsOutput(const ServeRequest& o) { return {"--metrics", o.metrics, Readers::kOwner}; }

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
          {"resumed_sessions", figures.resumed},
          {"replaced_sessions", figures.replaced},
          {"delayed_requests", figures.delayed}};
}

// Every released round of the job, also from earlier server processes.
nlohmann::ordered_json RoundsToJson(const JobLedger& ledger, const OperatorReport& report) {
  nlohmann::ordered_json rounds = nlohmann::ordered_json::array();
  for (const LedgerEntry& release : ledger.releases) rounds.push_back(report.RoundToJson(release));
  return rounds;
}

// The whole statement and all rounds.
//   ledger  of the job
//   seeded  some noise on which the claims rest follows from a seed that somebody may know
//   claims  of the job, as it ended
nlohmann::ordered_json ResultsToJson(const ServeRequest& o, const InputDigests& inputs,
                                     const JobLedger& ledger, const ServeEnd& end, bool seeded,
                                     Job& job, const std::vector<privacy::Claim>& claims) {
  const JobConfig& config = job.config();
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
                                 {"ended", end.ended == nullptr ? Json(nullptr) : Json(end.ended)},
                                 {"finish_reason", end.why},
                                 {"job", SpecificationToJson(o, config)},
                                 {"inputs", InputsToJson(inputs)},
                                 {"build", BuildText()},
                                 {"claims", ClaimsToJson(claims)},
                                 {"private", config.codec->certified && !seeded},
                                 {"seeded", seeded},
                                 {"seed", o.seed ? nlohmann::ordered_json(*o.seed) : nullptr},
                                 {"epsilon_budget", FigureToJson(config.epsilon_budget)},
                                 {"parameters_sha256", ParametersDigest(job.parameters())}};
  if (config.codec->accounted) AddFigure(FigureOf(claims, seeded), json);
  return json;
}

// One that fails does not keep the others from being written. Throws what all of them said.
void WriteAll(const std::vector<std::function<void()>>& writers) {
  std::vector<std::string> failures;
  for (const auto& write : writers) {
    try {
      write();
    } catch (const std::exception& error) {
      failures.emplace_back(error.what());
    }
  }
  if (!failures.empty()) throw std::runtime_error(fmt::format("{}", fmt::join(failures, "; ")));
}

}  // namespace

std::string DescribeOutcome(const JobConfig& config, const RoundOutcome& outcome, bool seeded) {
  return outcome.released ? DescribeRelease(config, outcome, seeded)
                          : DescribeGivenUp(config, outcome);
}

std::vector<std::string> WarningsOf(const RoundOutcome& outcome, const DeviceRegistry& devices) {
  std::vector<std::string> warnings;
  if (!outcome.beyond_bound.empty()) {
    std::vector<std::string> names;
    for (const uint32_t device : outcome.beyond_bound) names.push_back(devices[device].id);
    warnings.push_back(
        fmt::format("WARNING: round {}: no update of norm C has the bytes that came from {}: "
                    "refused and topped up. The device runs other code than Sotto's, or somebody "
                    "else has its key; if it goes on, `sotto keys revoke` shuts it out",
                    outcome.round + 1, fmt::join(names, ", ")));
  }
  if (outcome.lacking.devices > 0 && outcome.checked_in == 0) {
    warnings.push_back(fmt::format(
        "WARNING: round {} attempt {}: NO device that asked for work has what the job needs: {}. "
        "All of them wait. A job keeps its configuration: begin another job, sotto job start, or "
        "give the devices what they lack",
        outcome.round + 1, outcome.attempt + 1, DescribeLacks(outcome.lacking)));
  }
  if (outcome.released && 2 * outcome.reported < outcome.cohort) {
    warnings.push_back(fmt::format(
        "WARNING: round {}: {}, less than half; the model has learned little or nothing and the "
        "round is charged in full. Check that the devices are up and reach this server, that "
        "--round-timeout is longer than download, training and upload take, and with -v which "
        "updates were refused. Few reports are no reason to stop a job",
        outcome.round + 1, DescribeCounts(outcome)));
  }
  if (outcome.late_ms > 0) {
    warnings.push_back(fmt::format(
        "ALARM: round {} attempt {}: its result came {} ms after its time. The time of a late "
        "release tells how long the release took, and epsilon does not cover that; raise "
        "--release-allowance by twice as much",
        outcome.round + 1, outcome.attempt + 1, outcome.late_ms));
  }
  return warnings;
}

struct OperatorReport::Lists {
  std::map<uint32_t, Json> rounds;              // released, from 0
  std::map<std::string, int64_t> beyond_bound;  // refused updates by the device's name
  Json attempts = Json::array();
  Json warnings = Json::array();
};

OperatorReport::OperatorReport(std::function<SharedDevices()> devices)
    : devices_(std::move(devices)), lists_(std::make_unique<Lists>()) {}

OperatorReport::~OperatorReport() = default;

void OperatorReport::Add(const RoundOutcome& outcome) {
  if (outcome.released) {
    AddFigures(FiguresForOperator(kResults), {&outcome}, lists_->rounds[outcome.round]);
  }
  lists_->attempts.push_back(AttemptToJson(outcome));
  const SharedDevices devices = devices_();
  for (const uint32_t device : outcome.beyond_bound) ++lists_->beyond_bound[(*devices)[device].id];
  for (const std::string& warning : WarningsOf(outcome, *devices))
    lists_->warnings.push_back(warning);
}

Json OperatorReport::RoundToJson(const LedgerEntry& release) const {
  Json row = ReleaseToJson(release, Audience::kOperator);
  const auto seen = lists_->rounds.find(release.round);
  const FigureList figures = FiguresForOperator(kResults);
  AddNullFigures(figures, row);
  if (seen != lists_->rounds.end()) row.update(seen->second);
  AddFigures(figures, {nullptr, &release}, row);
  return row;
}

void OperatorReport::Warn(const std::string& line) { lists_->warnings.push_back(line); }

Json OperatorReport::ToJson() const {
  Json first = nullptr;
  if (!lists_->attempts.empty()) {
    first = {{"round", lists_->attempts[0]["round"]}, {"attempt", lists_->attempts[0]["attempt"]}};
  }
  return {{"note",
           "not for publication: tells who took part, which no epsilon of the public covers. Holds "
           "what this start of the server saw; the log of each earlier start has the rest"},
          {"first_attempt", first},
          {"attempts", lists_->attempts},
          {"beyond_bound", lists_->beyond_bound},
          {"warnings", lists_->warnings}};
}

std::vector<NamedInput> InputsOf(const ServeRequest& o) {
  std::vector<NamedInput> inputs = InputsNamedIn(ServeFields(), o);
  const JobRequest& job = o;
  for (NamedInput& input : InputsNamedIn(JobFields(), job)) inputs.push_back(std::move(input));
  return inputs;
}

void RequireServeOutputs(const ServeRequest& o) {
  std::vector<std::string> inputs = TextsOf(InputsOf(o));
  if (!o.http.empty()) inputs.push_back(PageTokenFile(o));  // which the command may write
  RequireOutputs({JsonOutput(o.json, Readers::kOwner), ModelOutput(o), AverageOutput(o),
                  PortOutput(o), MetricsOutput(o)},
                 o.store, inputs);
}

void WritePortFile(const ServeRequest& o, uint16_t port) {
  WriteOutput(PortOutput(o), std::to_string(port) + '\n');
}

void WriteResults(const ServeRequest& o, const InputDigests& inputs, const ServeEnd& end,
                  SharedLog& log, Job& job, const OperatorReport& report,
                  const ServedEvaluations& evaluations, const NetworkFigures& network) {
  JobLedger ledger;
  History history;
  log.With([&](Store& store) {
    ledger = std::move(ReadLedger(store).back());
    history = store.ReadHistory();
  });
  const bool seeded = o.seed.has_value() || RestsOnSeededNoise(history, *LastJob(history));
  std::vector<privacy::Claim> claims = job.Spent().claims;
  if (!claims.empty()) AddPairs(history, *LastJob(history), &claims);
  nlohmann::ordered_json results = ResultsToJson(o, inputs, ledger, end, seeded, job, claims);
  results["rounds"] = RoundsToJson(ledger, report);
  results["evaluations"] = EvaluationsToJson(ledger);
  nlohmann::ordered_json operators = report.ToJson();
  evaluations.AddTo(job, &operators);
  operators["network"] = NetworkToJson(network);
  if (ledger.turns.participations > 0) operators["turns"] = TurnsToJson(ledger.turns);
  results["operator"] = operators;
  const std::vector<float> average = job.Average();
  WriteAll({[&] { WriteModel(ModelOutput(o), job.parameters()); },
            [&] {
              WriteModel(AverageOutput(o), {average.data(), average.size()});
            },
            [&] { WriteJson(o.json, results, Readers::kOwner); }});
}

}  // namespace sotto::server
