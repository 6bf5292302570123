#include "sim/run_state.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/json_text.h"
#include "sotto/posix/hex.h"
#include "spec/configuration.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kVersionField[] = "sotto_simulation";

[[noreturn]] void Refuse(const std::string& file, const std::string& why) {
  throw std::invalid_argument(fmt::format("--resume {}: {}", file, why));
}

void CopyExactly(const std::vector<uint8_t>& bytes, Span<uint8_t> out) {
  if (bytes.size() != out.size()) throw std::invalid_argument("bytes of another number");
  std::copy(bytes.begin(), bytes.end(), out.begin());
}

std::string HexOf(const std::vector<uint8_t>& bytes) {
  return posix::Hex({bytes.data(), bytes.size()});
}

std::string HexOf(const std::vector<float>& values) {
  return HexOf(BytesOf({values.data(), values.size()}));
}

std::vector<float> FloatsFromHex(const std::string& text) {
  const std::vector<uint8_t> bytes = FromHex(text);
  return FloatsOf({bytes.data(), bytes.size()});
}

std::string BitsOf(const std::vector<bool>& bits) {
  std::string text;
  for (const bool bit : bits) text += bit ? '1' : '0';
  return text;
}

std::vector<bool> BitsFrom(const std::string& text) {
  std::vector<bool> bits;
  for (const char c : text) bits.push_back(c == '1');
  return bits;
}

// A loss that is not finite is null: JSON has no other word for it.
Json EvaluationToState(const Evaluation& evaluation) {
  Json classes = Json::array();
  for (const ClassCount& each : evaluation.classes) classes.push_back({each.correct, each.total});
  return {{"samples", evaluation.samples}, {"loss", evaluation.loss}, {"classes", classes}};
}

Evaluation EvaluationFromState(const Json& json) {
  Evaluation evaluation;
  evaluation.samples = json.at("samples");
  evaluation.loss = json.at("loss").is_null() ? std::numeric_limits<double>::quiet_NaN()
                                              : json.at("loss").get<double>();
  for (const Json& each : json.at("classes")) {
    evaluation.classes.push_back({each.at(0), each.at(1)});
  }
  return evaluation;
}

// The members of a report that the state keeps, each with its name.
template <class Report, class Visit>
void VisitMembers(Report& report, Visit visit) {
  auto& outcome = report.outcome;
  visit("round", outcome.round);
  visit("attempt", outcome.attempt);
  visit("cohort", outcome.cohort);
  visit("checked_in", outcome.checked_in);
  visit("reported", outcome.reported);
  visit("rejected", outcome.rejected);
  visit("topped_up", outcome.topped_up);
  visit("update_bytes", outcome.update_bytes);
  visit("diverged", outcome.diverged);
  visit("clip_l2", outcome.clip_l2);
  visit("noise_sigma", outcome.noise_sigma);
  visit("next_clip_l2", outcome.next_clip_l2);
  visit("attempts", report.attempts);
  visit("failed_trainings", report.failed_trainings);
  visit("saturated_trainings", report.saturated_trainings);
}

Json AccuracyToState(const std::optional<privacy::AccuracyEstimate>& estimate) {
  if (!estimate) return nullptr;
  return {estimate->accuracy, estimate->noise_deviation, estimate->bar};
}

std::optional<privacy::AccuracyEstimate> AccuracyFromState(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return privacy::AccuracyEstimate{json.at(0), json.at(1), json.at(2)};
}

Json ReportToState(const RoundReport& report) {
  Json json;
  VisitMembers(report, [&](const char* name, const auto& value) { json[name] = value; });
  const std::optional<double>& unclipped = report.outcome.unclipped_fraction;
  json["unclipped_fraction"] = unclipped ? Json(*unclipped) : Json(nullptr);
  json["device_accuracy"] = AccuracyToState(report.outcome.device_accuracy);
  json["evaluation"] = report.evaluation ? EvaluationToState(*report.evaluation) : Json(nullptr);
  // Only jobs that average their models have this field.
  if (report.average_evaluation) {
    json["average_evaluation"] = EvaluationToState(*report.average_evaluation);
  }
  return json;
}

RoundReport ReportFromState(const Json& json) {
  RoundReport report;
  VisitMembers(report, [&](const char* name, auto& value) { json.at(name).get_to(value); });
  report.outcome.released = true;
  const Json& unclipped = json.at("unclipped_fraction");
  if (!unclipped.is_null()) report.outcome.unclipped_fraction = unclipped.get<double>();
  report.outcome.device_accuracy = AccuracyFromState(json.at("device_accuracy"));
  const Json& evaluation = json.at("evaluation");
  if (!evaluation.is_null()) report.evaluation = EvaluationFromState(evaluation);
  if (json.contains("average_evaluation")) {
    report.average_evaluation = EvaluationFromState(json["average_evaluation"]);
  }
  return report;
}

Json JobToState(const JobState& job) {
  return {{"id", posix::Hex(job.job_id)},
          {"next_round", job.next_round},
          {"next_attempt", job.next_attempt},
          {"attempts", job.attempts},
          {"clip_l2", job.clip_l2},
          {"heard", BitsOf(job.heard)},
          {"optimiser_state", HexOf(job.optimiser_state)},
          {"parameters", HexOf(job.parameters)}};
}

JobState JobFromState(const Json& json) {
  JobState job;
  CopyExactly(FromHex(json.at("id").get<std::string>()), job.job_id);
  job.next_round = json.at("next_round");
  job.next_attempt = json.at("next_attempt");
  job.attempts = json.at("attempts");
  job.clip_l2 = json.at("clip_l2");
  job.heard = BitsFrom(json.at("heard"));
  job.optimiser_state = FromHex(json.at("optimiser_state").get<std::string>());
  job.parameters = FloatsFromHex(json.at("parameters"));
  if (job.next_round > 0 && job.parameters.empty()) {
    throw std::invalid_argument("rounds without a model");
  }
  return job;
}

RunState StateFrom(const Json& json) {
  RunState state;
  state.configuration = JsonText(json.at("configuration"));
  state.fleet = JsonText(json.at("fleet"));
  CopyExactly(FromHex(json.at("run_key").get<std::string>()), state.run_key.bytes);
  state.job = JobFromState(json.at("job"));
  state.initial = EvaluationFromState(json.at("initial"));
  for (const Json& round : json.at("rounds")) state.rounds.push_back(ReportFromState(round));
  return state;
}

}  // namespace

std::string ToText(const RunState& state) {
  Json rounds = Json::array();
  for (const RoundReport& report : state.rounds) rounds.push_back(ReportToState(report));
  const Json json = {{kVersionField, kRunStateVersion},
                     {"configuration", ParseJson(state.configuration)},
                     {"fleet", ParseJson(state.fleet)},
                     {"run_key", posix::Hex(state.run_key.bytes)},
                     {"job", JobToState(state.job)},
                     {"initial", EvaluationToState(state.initial)},
                     {"rounds", rounds}};
  return JsonText(json, 1) + "\n";
}

RunState RunStateFromText(const std::string& file, const std::string& text) {
  const Json json = TryParseJson(text);
  if (!json.is_object() || !json.contains(kVersionField)) {
    Refuse(file, "it is no state of a simulation; `sotto simulate --state-out FILE` writes one");
  }
  if (json[kVersionField] != kRunStateVersion) {
    Refuse(file, fmt::format("a state of version {}, and this program knows version {}; use the "
                             "program that wrote it, or begin anew without --resume",
                             JsonText(json[kVersionField]), kRunStateVersion));
  }
  try {
    RunState state = StateFrom(json);
    state.file = file;
    return state;
  } catch (const std::exception& error) {
    Refuse(file, fmt::format("it is damaged ({}); begin anew without --resume", error.what()));
  }
}

void RequireSameRun(const RunState& state, const std::string& configuration,
                    const std::string& fleet) {
  for (const auto& [held, asked] :
       {std::pair(state.fleet, fleet), std::pair(state.configuration, configuration)}) {
    const auto field = FirstChange(ParseJson(held), ParseJson(asked));
    if (!field) continue;
    Refuse(state.file,
           fmt::format("the simulation in it began with {} = {}, and now it is {}; give the "
                       "options that it began with, or begin anew without --resume",
                       field->name, field->was, field->is));
  }
}

}  // namespace sotto::server
