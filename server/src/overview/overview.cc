#include "overview/overview.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <stdexcept>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "accounting/types.h"
#include "base/built_in.h"
#include "base/json_text.h"
#include "codec/codecs.h"
#include "plans/claim_kinds.h"
#include "round/receipts.h"
#include "sotto/version.h"
#include "store/history.h"
#include "views/claims_output.h"
#include "views/figures.h"
#include "views/round_output.h"
#include "views/turns_output.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

std::string ValueText(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  return JsonText(value);
}

// The pairs of a flat object, in words, but what is null and what says nothing to people. Reports
// at named times let a round close early, too, which nobody asked for.
Json Settings(const Json& fields) {
  const bool is_timed = fields.value("timed_reports", false);
  Json pairs = Json::array();
  for (const auto& [name, value] : fields.items()) {
    if (is_timed && name == "close_early") continue;
    const bool is_for_machines = name.find("digest") != std::string::npos ||
                                 name.find("sha256") != std::string::npos || name == "dimension" ||
                                 name.rfind("certificate", 0) == 0;
    if (value.is_null() || value.is_structured() || is_for_machines) continue;
    pairs.push_back({InWords(name), ValueText(value)});
  }
  return pairs;
}

// The kind of a claim of results; null: it is of no kind.
const privacy::ClaimKind* KindOf(const Json& claim) {
  return privacy::FindKind(privacy::AdversaryByName(claim.at("adversary").get<std::string>()),
                           privacy::ViewByName(claim.at("view").get<std::string>()));
}

// The epsilons of a row of results: from its claims or, if it has none, from the row's fields.
Json EpsilonsOf(const Json& row) {
  Json epsilons = Json::object();
  for (const Json& claim : row.value("claims", Json::array())) {
    const privacy::ClaimKind* kind = KindOf(claim);
    if (kind == nullptr) continue;
    const Json& epsilon = claim.at("epsilon");
    // Results of earlier programs have null for an infinite epsilon, which a claim alone has.
    epsilons[kind->json_field] = epsilon.is_null() ? Json("Infinity") : epsilon;
  }
  if (!epsilons.empty()) return epsilons;
  for (const privacy::ClaimKind& kind : privacy::ClaimKinds()) {
    if (row.contains(kind.json_field) && !row[kind.json_field].is_null()) {
      epsilons[kind.json_field] = row[kind.json_field];
    }
  }
  return epsilons;
}

Json EpsilonsOf(const std::vector<privacy::Claim>& claims) {
  Json epsilons = Json::object();
  AddEpsilons(claims, epsilons);
  return epsilons;
}

// With the rounds and the budget that the job has now.
Json AsRaised(Json configuration, const JobLedger& job) {
  if (configuration.contains("rounds")) configuration["rounds"] = job.rounds;
  if (configuration.contains("epsilon_budget") && std::isfinite(job.epsilon_budget)) {
    configuration["epsilon_budget"] = job.epsilon_budget;
  }
  return configuration;
}

Json BudgetOf(const JobLedger& job) { return FigureToJson(job.epsilon_budget); }

// What the results say of the plan that the audience of a figure may depend on.
privacy::Plan PlanOfResults(const Json& results) {
  privacy::Plan plan;
  for (const Json& options : {results, results.value("job", Json::object())}) {
    if (!options.contains("sampling")) continue;
    plan.sampling = privacy::SamplingByName(options["sampling"].get<std::string>());
  }
  return plan;
}

// The figures that a reader may see, with their fields in the rounds of results. Results without
// the number of a job are a simulation's.
std::vector<FigureField> FieldsOfResults(const Json& results, Audience audience) {
  std::vector<FigureField> fields;
  for (const RoundFigure* figure : FiguresFor(audience, PlanOfResults(results), kOverview)) {
    fields.push_back({figure, figure->name()});
  }
  if (results.contains("job_number")) return fields;
  for (const FigureField& simulated : SimulatedFigures(kReport)) {
    for (FigureField& each : fields) {
      if (each.figure == simulated.figure) each.field = simulated.field;
    }
  }
  return fields;
}

Json RoundOfResults(const Json& row, const std::vector<FigureField>& fields) {
  Json round = {{"round", row.at("round")}};
  round["attempts"] = row.value("attempts", Json(nullptr));
  round["epsilon"] = EpsilonsOf(row);
  for (const auto& [figure, field] : fields) {
    round[figure->name()] = row.value(field, Json(nullptr));
  }
  return round;
}

// The columns of the page's table of rounds.
Json ColumnsOf(Audience audience, const privacy::Plan& plan) {
  Json columns = Json::array();
  for (const RoundFigure* figure : FiguresFor(audience, plan, kPageTable)) {
    columns.push_back({{"field", figure->name()},
                       {"heading", figure->words()},
                       {"unit", figure->unit()},
                       {"help", figure->help()}});
  }
  return columns;
}

// Without the figures of classes.
Json EvaluationsOfResults(const Json& results) {
  Json evaluations = results.value("evaluations", Json::array());
  for (Json& each : evaluations) each.erase("classes");
  if (results.contains("evaluations")) return evaluations;
  for (const Json& row : results.at("rounds")) {
    Json evaluation = row.value("evaluation", Json(nullptr));
    if (!evaluation.is_object()) continue;
    evaluation.erase("classes");
    Json each = {{"round", row.at("round")}, {"data", results.value("data", Json(nullptr))}};
    each.update(evaluation);
    evaluations.push_back(each);
  }
  return evaluations;
}

// With the words of claim_kinds.h, and assumptions in sentences.
Json ClaimsOfResults(const Json& claims) {
  Json all = Json::array();
  for (Json claim : claims) {
    const privacy::ClaimKind* kind = KindOf(claim);
    Json sentences = Json::array();
    for (const Json& name : claim.at("assumptions")) {
      sentences.push_back(privacy::Text(privacy::AssumptionByName(name.get<std::string>())));
    }
    claim["assumptions"] = sentences;
    Json named = {{"field", kind == nullptr ? "" : kind->json_field},
                  {"against", kind == nullptr ? "" : kind->against}};
    named.update(claim);
    if (named.at("epsilon").is_null()) named["epsilon"] = "Infinity";
    all.push_back(named);
  }
  return all;
}

// The names of the devices that were never asked are a text, so that a page is no longer than it
// must be.
Json TurnsOfResults(Json turns) {
  if (turns.is_null()) return turns;
  const Json& names = turns["never_asked"];
  std::vector<std::string> first;
  for (const Json& name : names) first.push_back(name.get<std::string>());
  turns["never_asked"] = FirstNames(first);
  return turns;
}

// Of the last evaluation, as OverviewOfClasses() has it.
Json ClassesOfResults(const Json& results) {
  Json last = nullptr;
  for (const Json& row : results.value("evaluations", results.at("rounds"))) {
    const Json& evaluation = row.contains("evaluation") ? row["evaluation"] : row;
    if (!evaluation.is_object() || !evaluation.value("classes", Json(nullptr)).is_array()) continue;
    last = {{"round", row.at("round")}, {"rows", evaluation["classes"]}};
  }
  return last;
}

// The settings that results have beside their figures.
Json SettingsOfResults(const Json& results) {
  if (results.contains("job")) return Settings(results["job"]);
  Json some = Json::object();
  for (const char* field : {"data", "partition", "samples_per_device", "sampling", "devices",
                            "cohort", "planned_reports", "clip_l2", "noise_sigma",
                            "noise_multiplier", "smoothing", "coding", "padding", "seed"}) {
    if (results.contains(field)) some[field] = results[field];
  }
  return Settings(some);
}

Json JobOfResults(const Json& results, Audience audience, TestFigures test) {
  const bool is_seeded = results.contains("seed") && !results["seed"].is_null();
  Json job = {{"job", results.value("job_number", 1)},
              {"model", results.at("model").get<std::string>()},
              {"parameters", results.at("parameters")},
              {"mechanism", results.at("mechanism")},
              {"begun", nullptr}};
  job["rounds_planned"] = results.value("rounds_planned", Json(nullptr));
  job["rounds_released"] = results.at("rounds").size();
  job["attempts"] = nullptr;
  job["state"] = results.value("state", "finished");
  job["ended"] = results.value("ended", Json(nullptr));
  job["reason"] = results.value("finish_reason", "");
  job["private"] = !results.at("claims").empty() && results.at("mechanism") != "none";
  job["seeded"] = results.value("seeded", is_seeded);
  job["epsilon_budget"] = results.value("epsilon_budget", Json(nullptr));
  job["claims"] = ClaimsOfResults(results.at("claims"));
  job["settings"] = SettingsOfResults(results);
  if (audience == Audience::kOperator && results.contains("operator")) {
    job["turns"] = TurnsOfResults(results["operator"].value("turns", Json(nullptr)));
  }
  job["columns"] = ColumnsOf(audience, PlanOfResults(results));
  job["rounds"] = Json::array();
  const std::vector<FigureField> fields = FieldsOfResults(results, audience);
  for (const Json& row : results.at("rounds")) {
    job["rounds"].push_back(RoundOfResults(row, fields));
  }
  job["evaluations"] =
      test == TestFigures::kShown ? EvaluationsOfResults(results) : Json(Json::array());
  if (audience == Audience::kOperator && test == TestFigures::kShown) {
    job["classes"] = ClassesOfResults(results);
  }
  return job;
}

}  // namespace

std::string InWords(std::string field) {
  std::replace(field.begin(), field.end(), '_', ' ');
  return field;
}

Json OverviewHead(const std::string& source, Audience audience) {
  return {{"format", 1},
          {"audience", Name(audience)},
          {"source", std::filesystem::path(source).filename().string()},
          {"sotto_version", kVersion},
          {"charts", HasCharts()},
          {"live", false},
          {"sequence", 0},
          {"now", std::time(nullptr)}};
}

Json OverviewOfClaims(const std::vector<privacy::Claim>& claims) {
  return ClaimsOfResults(ClaimsToJson(claims));
}

Json OverviewOfTurns(const JobTurns& turns) {
  if (turns.participations == 0) return nullptr;
  return TurnsOfResults(TurnsToJson(turns));
}

Json OverviewOfRound(const LedgerEntry& release, Audience audience, const RoundOutcome* seen) {
  const bool is_private = FindCodec(release.mechanism)->noise;
  Json round = {{"round", release.round + 1},
                {"attempts", release.attempts},
                {"epsilon", is_private ? EpsilonsOf(release.claims) : Json::object()}};
  const FigureList figures = FiguresFor(audience, release.plan, kOverview);
  AddNullFigures(figures, round);
  AddFigures(figures, {seen, &release, nullptr, !is_private}, round);
  return round;
}

Json OverviewOfEvaluation(uint32_t round, const std::string& data, const Evaluation& evaluation) {
  const auto or_null = [](const std::optional<double>& value) {
    return value ? FigureToJson(*value) : Json(nullptr);
  };
  return {{"round", round + 1},
          {"data", data},
          {"samples", evaluation.samples},
          {"loss", FigureToJson(evaluation.loss)},
          {"accuracy", or_null(evaluation.accuracy())},
          {"mean_squared_error", or_null(evaluation.mean_squared_error())}};
}

Json OverviewOfClasses(uint32_t round, const EvaluatedData& data, const Evaluation& evaluation) {
  SampleInfo info;
  info.class_names = data.class_names;
  const Json classes = EvaluationToJson(evaluation, info)["classes"];
  return classes.is_null() ? Json(nullptr) : Json({{"round", round + 1}, {"rows", classes}});
}

Json JobStanding::EndedToJson() const { return ended == nullptr ? Json(nullptr) : Json(ended); }

std::string JobStanding::Text() const {
  return StateText(ended == nullptr ? state : fmt::format("over ({})", ended), reason);
}

std::string StateText(const std::string& state, const std::string& reason) {
  if (reason.empty()) return state;
  return reason.rfind(state, 0) == 0 ? reason : state + ": " + reason;
}

// The reason in the store is the operator's: it may count devices.
JobStanding StandingOf(const JobLedger& job, JobPlace place, bool is_paused, Audience audience) {
  const bool is_operators = audience == Audience::kOperator;
  if (job.end) {
    const HaltKind& kind = KindOf(job.end->kind);
    return {kind.state, kind.name, is_operators ? job.end->reason : kind.words};
  }
  if (place != JobPlace::kServed) {
    std::string reason = "no server runs";
    const bool is_older = job.halt && job.halt->reason.find(kOlderCopy) != std::string::npos;
    if (is_operators) reason += is_older ? "; leave it so" : "; `sotto serve` goes on with it";
    if (is_operators && job.halt) reason += "; the last server said: " + job.halt->reason;
    return {"interrupted", nullptr, reason};
  }
  if (!job.halt) return {"running", nullptr, ""};
  return {is_paused ? "paused" : KindOf(job.halt->kind).state, nullptr,
          is_operators ? job.halt->reason : ""};
}

Json OverviewOfJob(const JobLedger& job, JobPlace place, Audience audience, TestFigures test,
                   bool is_paused) {
  const Json configuration = ParseJson(job.job.configuration);
  const std::string mechanism = configuration.value("mechanism", "gau-lrq");
  const bool is_private = FindCodec(mechanism)->certified;
  const JobStanding standing = StandingOf(job, place, is_paused, audience);
  Json json = {{"job", job.job.number},
               {"model", job.job.model},
               {"parameters", configuration.value("dimension", Json(nullptr))},
               {"mechanism", mechanism},
               {"begun", job.job.begun},
               {"rounds_planned", job.rounds},
               {"rounds_released", job.job.released},
               {"attempts", job.job.attempts},
               {"state", standing.state},
               {"ended", standing.EndedToJson()},
               {"reason", standing.reason},
               {"private", is_private},
               {"seeded", job.job.seeded},
               {"epsilon_budget", BudgetOf(job)},
               {"claims", Json::array()},
               {"settings", Settings(AsRaised(configuration, job))},
               {"columns", Json::array()},
               {"rounds", Json::array()},
               {"evaluations", Json::array()},
               {"attempt", nullptr}};
  if (audience == Audience::kOperator) {
    json["turns"] = OverviewOfTurns(job.turns);
    // A page draws the devices of the last job alone.
    if (place == JobPlace::kPast && json["turns"].is_object()) json["turns"].erase("devices");
  }
  if (is_private && !job.releases.empty()) {
    json["claims"] = OverviewOfClaims(job.releases.back().claims);
  }
  const privacy::Plan plan = job.releases.empty() ? privacy::Plan() : job.releases.back().plan;
  json["columns"] = ColumnsOf(audience, plan);
  for (const LedgerEntry& release : job.releases) {
    json["rounds"].push_back(OverviewOfRound(release, audience));
  }
  if (test == TestFigures::kLeftOut || job.evaluations.empty()) return json;
  const StoredEvaluation& last = job.evaluations.back();
  if (audience == Audience::kOperator) {
    json["classes"] = OverviewOfClasses(last.round, last.data, last.evaluation);
  }
  for (const StoredEvaluation& each : job.evaluations) {
    json["evaluations"].push_back(
        OverviewOfEvaluation(each.round, each.data.name, each.evaluation));
  }
  return json;
}

Json OverviewOfQueue(const std::vector<JobRequestEntry>& requests) {
  Json queue = Json::array();
  for (const JobRequestEntry& request : requests) {
    if (request.answer || request.ask.act != JobAct::kStart) continue;
    queue.push_back({{"request", request.number},
                     {"asked", request.asked},
                     {"settings", request.ask.settings}});
  }
  return queue;
}

Json OverviewOfDevices(const std::vector<DeviceRecord>& devices) {
  const auto eligible = std::count_if(devices.begin(), devices.end(),
                                      [](const DeviceRecord& each) { return each.is_eligible(); });
  return {{"registered", devices.size()},
          {"eligible", eligible},
          {"revoked", static_cast<int64_t>(devices.size()) - eligible}};
}

Json OverviewOfStore(Store& store, Audience audience, TestFigures test) {
  Json overview = OverviewHead(store.name(), audience);
  overview["jobs"] = Json::array();
  std::vector<JobLedger> jobs = ReadLedger(store);
  AddPairs(store, &jobs);
  const bool is_paused = store.IsPaused();
  const JobPlace last = store.Server() ? JobPlace::kServed : JobPlace::kLast;
  for (const JobLedger& job : jobs) {
    const JobPlace place = &job == &jobs.back() ? last : JobPlace::kPast;
    overview["jobs"].push_back(OverviewOfJob(job, place, audience, test, is_paused));
  }
  if (audience != Audience::kOperator) return overview;
  const History history = store.ReadHistory();
  overview["devices"] = OverviewOfDevices(history.devices);
  overview["queue"] = OverviewOfQueue(history.requests);
  return overview;
}

Json OverviewOfResults(const std::string& path, const Json& results, Audience audience,
                       TestFigures test) {
  Json overview = OverviewHead(path, audience);
  try {
    overview["jobs"] = Json::array({JobOfResults(results, audience, test)});
  } catch (const std::exception& error) {
    throw std::invalid_argument(fmt::format(
        "{}: expected results of `sotto simulate --json` or of `sotto serve --json` ({})", path,
        error.what()));
  }
  return overview;
}

}  // namespace sotto::server
