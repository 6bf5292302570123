#include "sim/run_state.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/json_text.h"
#include "sotto/key_labels.h"
#include "sotto/posix/hex.h"
#include "sotto/posix/kept_file.h"
#include "sotto/posix/run_key.h"
#include "spec/configuration.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr posix::KeptFormat kStateFormat = {
    "sotto-simulation",
    kRunStateVersion,
    "state",
    "it is no state of a simulation; `sotto simulate --state-out FILE` writes one",
    "use the program that wrote it, or begin anew without --resume",
    size_t{1} << 30,
    true,
    "{\n \"sotto_simulation\""};

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
  for (const char c : text) {
    if (c != '0' && c != '1') throw std::invalid_argument("a bit that is neither 0 nor 1");
    bits.push_back(c == '1');
  }
  return bits;
}

// A loss that is not finite is null: JSON has no other word for it.
Json EvaluationToState(const Evaluation& evaluation) {
  Json classes = Json::array();
  for (const ClassCount& each : evaluation.classes) classes.push_back({each.correct, each.total});
  return {{"samples", evaluation.samples}, {"loss", evaluation.loss}, {"classes", classes}};
}

// JSON's own conversions take a fraction, a negative number or one that is too large for a count.
template <class Number>
void ReadNumber(const Json& json, Number& value) {
  bool fits = json.is_number();
  if constexpr (std::is_same_v<Number, bool>) {
    fits = json.is_boolean();
  } else if constexpr (std::is_integral_v<Number>) {
    fits = json.is_number_unsigned() &&
           json.get<uint64_t>() <= uint64_t{std::numeric_limits<Number>::max()};
  }
  if (!fits) throw std::invalid_argument(fmt::format("{} is no such number", JsonText(json)));
  json.get_to(value);
}

Evaluation EvaluationFromState(const Json& json) {
  Evaluation evaluation;
  ReadNumber(json.at("samples"), evaluation.samples);
  evaluation.loss = std::numeric_limits<double>::quiet_NaN();
  if (!json.at("loss").is_null()) ReadNumber(json.at("loss"), evaluation.loss);
  for (const Json& each : json.at("classes")) {
    ClassCount count;
    ReadNumber(each.at(0), count.correct);
    ReadNumber(each.at(1), count.total);
    evaluation.classes.push_back(count);
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
  privacy::AccuracyEstimate estimate;
  ReadNumber(json.at(0), estimate.accuracy);
  ReadNumber(json.at(1), estimate.noise_deviation);
  ReadNumber(json.at(2), estimate.bar);
  return estimate;
}

Json ErrorsToState(const ErrorHistogram& errors) {
  return {{"edges", errors.edges},
          {"counts", errors.counts},
          {"noise_deviation", errors.noise_deviation}};
}

ErrorHistogram ErrorsFromState(const Json& json) {
  ErrorHistogram errors;
  for (const Json& edge : json.at("edges")) ReadNumber(edge, errors.edges.emplace_back());
  for (const Json& count : json.at("counts")) ReadNumber(count, errors.counts.emplace_back());
  ReadNumber(json.at("noise_deviation"), errors.noise_deviation);
  return errors;
}

Json ReportToState(const RoundReport& report) {
  Json json;
  VisitMembers(report, [&](const char* name, const auto& value) { json[name] = value; });
  const std::optional<double>& unclipped = report.outcome.unclipped_fraction;
  json["unclipped_fraction"] = unclipped ? Json(*unclipped) : Json(nullptr);
  json["device_accuracy"] = AccuracyToState(report.outcome.device_accuracy);
  json["evaluation"] = report.evaluation ? EvaluationToState(*report.evaluation) : Json(nullptr);
  // Only the last round of a job that measures errors has this field.
  if (report.outcome.errors) json["errors"] = ErrorsToState(*report.outcome.errors);
  // Only jobs that average their models have this field.
  if (report.average_evaluation) {
    json["average_evaluation"] = EvaluationToState(*report.average_evaluation);
  }
  return json;
}

RoundReport ReportFromState(const Json& json) {
  RoundReport report;
  VisitMembers(report, [&](const char* name, auto& value) { ReadNumber(json.at(name), value); });
  report.outcome.released = true;
  const Json& unclipped = json.at("unclipped_fraction");
  if (!unclipped.is_null()) ReadNumber(unclipped, report.outcome.unclipped_fraction.emplace());
  report.outcome.device_accuracy = AccuracyFromState(json.at("device_accuracy"));
  const Json& evaluation = json.at("evaluation");
  if (!evaluation.is_null()) report.evaluation = EvaluationFromState(evaluation);
  if (json.contains("errors")) report.outcome.errors = ErrorsFromState(json["errors"]);
  if (json.contains("average_evaluation")) {
    report.average_evaluation = EvaluationFromState(json["average_evaluation"]);
  }
  return report;
}

Json SealsToState(const std::vector<SealRecord>& seals) {
  Json json = Json::array();
  for (const SealRecord& seal : seals) {
    json.push_back({{"round", seal.round}, {"attempt", seal.attempt}, {"devices", seal.devices}});
  }
  return json;
}

std::vector<SealRecord> SealsFromState(const Json& json) {
  std::vector<SealRecord> seals;
  for (const Json& seal : json) {
    SealRecord record;
    ReadNumber(seal.at("round"), record.round);
    ReadNumber(seal.at("attempt"), record.attempt);
    for (const Json& device : seal.at("devices")) {
      ReadNumber(device, record.devices.emplace_back());
    }
    seals.push_back(std::move(record));
  }
  return seals;
}

Json JobToState(const JobState& job) {
  Json json = {{"id", posix::Hex(job.job_id)},
               {"next_round", job.next_round},
               {"next_attempt", job.next_attempt},
               {"attempts", job.attempts},
               {"clip_l2", job.clip_l2},
               {"heard", BitsOf(job.heard)},
               {"optimiser_state", HexOf(job.optimiser_state)},
               {"parameters", HexOf(job.parameters)}};
  // Only jobs of passes have this field.
  if (!job.seals.empty()) json["seals"] = SealsToState(job.seals);
  return json;
}

JobState JobFromState(const Json& json) {
  JobState job;
  CopyExactly(FromHex(json.at("id").get<std::string>()), job.job_id);
  ReadNumber(json.at("next_round"), job.next_round);
  ReadNumber(json.at("next_attempt"), job.next_attempt);
  ReadNumber(json.at("attempts"), job.attempts);
  ReadNumber(json.at("clip_l2"), job.clip_l2);
  job.heard = BitsFrom(json.at("heard"));
  job.optimiser_state = FromHex(json.at("optimiser_state").get<std::string>());
  job.parameters = FloatsFromHex(json.at("parameters"));
  if (json.contains("seals")) job.seals = SealsFromState(json["seals"]);
  if (job.next_round > 0 && job.parameters.empty()) {
    throw std::invalid_argument("rounds without a model");
  }
  return job;
}

RunState StateFrom(const Json& json) {
  RunState state;
  state.configuration = JsonText(json.at("configuration"));
  state.fleet = JsonText(json.at("fleet"));
  state.inputs = InputsFromJson(json.at("inputs"));
  json.at("builds").get_to(state.builds);
  CopyExactly(FromHex(json.at("run_key").get<std::string>()), state.run_key.bytes);
  state.job = JobFromState(json.at("job"));
  if (!json.at("initial").is_null()) state.initial = EvaluationFromState(json.at("initial"));
  for (const Json& round : json.at("rounds")) state.rounds.push_back(ReportFromState(round));
  return state;
}

void RequireThat(bool holds, const std::string& otherwise) {
  if (!holds) throw std::invalid_argument(otherwise);
}

// A whole number of the configuration.
uint64_t NumberIn(const Json& configuration, const char* name) {
  const auto found = configuration.find(name);
  RequireThat(found != configuration.end() && found->is_number_unsigned(),
              fmt::format("its configuration has no number {}", name));
  return found->get<uint64_t>();
}

// One round after the other was released, each by the last of its attempts: so the attempts that
// are charged are those that were made.
void RequireRounds(const RunState& state) {
  RequireThat(state.rounds.size() == state.job.next_round,
              fmt::format("it goes on with round {} after {} rounds",
                          uint64_t{state.job.next_round} + 1, state.rounds.size()));
  uint64_t attempts = 0;
  for (size_t i = 0; i < state.rounds.size(); ++i) {
    const RoundOutcome& outcome = state.rounds[i].outcome;
    RequireThat(outcome.round == i, fmt::format("round {} calls itself {}", i + 1, outcome.round));
    attempts += uint64_t{outcome.attempt} + 1;
    RequireThat(state.rounds[i].attempts == attempts,
                fmt::format("{} attempts after round {}, and its rounds took {}",
                            state.rounds[i].attempts, i + 1, attempts));
    const double next =
        i + 1 < state.rounds.size() ? state.rounds[i + 1].outcome.clip_l2 : state.job.clip_l2;
    RequireThat(outcome.next_clip_l2 == next,
                fmt::format("round {} set the bound {} for the next one, which has {}", i + 1,
                            outcome.next_clip_l2, next));
  }
  attempts += state.job.next_attempt;
  RequireThat(
      state.job.attempts == attempts,
      fmt::format("{} attempts in all, and its rounds took {}", state.job.attempts, attempts));
}

// One test set: each evaluation counts the same samples, of the same classes.
void RequireEvaluations(const RunState& state) {
  std::optional<Evaluation> known = state.initial;
  const auto require = [&](const Evaluation& evaluation) {
    if (!known) known = evaluation;
    const Evaluation& first = *known;
    uint64_t total = 0;
    bool fits = evaluation.samples == first.samples && !(evaluation.loss < 0) &&
                evaluation.classes.size() == first.classes.size();
    for (size_t i = 0; fits && i < evaluation.classes.size(); ++i) {
      const ClassCount& count = evaluation.classes[i];
      fits = count.correct <= count.total && count.total == first.classes[i].total;
      total += count.total;
    }
    RequireThat(fits && (evaluation.classes.empty() || total == evaluation.samples),
                "its evaluations are not of one test set");
  };
  if (state.initial) require(*state.initial);
  for (const RoundReport& report : state.rounds) {
    if (report.evaluation) require(*report.evaluation);
    if (report.average_evaluation) require(*report.average_evaluation);
  }
}

// Each released round of passes was sealed, with its whole cohort, once. Under private noise so was
// each attempt that was given up.
void RequireSeals(const RunState& state, bool has_private_noise) {
  const std::vector<SealRecord>& seals = state.job.seals;
  const size_t sealed = has_private_noise ? state.job.attempts : state.rounds.size();
  RequireThat(seals.size() == sealed,
              fmt::format("turns of {} attempts, and {} were sealed", seals.size(), sealed));
  for (const RoundReport& report : state.rounds) {
    const RoundOutcome& outcome = report.outcome;
    const auto fits = [&](const SealRecord& seal) {
      return seal.round == outcome.round && seal.attempt == outcome.attempt &&
             seal.devices.size() == outcome.cohort &&
             std::is_sorted(seal.devices.begin(), seal.devices.end());
    };
    RequireThat(
        std::count_if(seals.begin(), seals.end(), fits) == 1,
        fmt::format("the turns of round {} are not its cohort", uint64_t{outcome.round} + 1));
  }
}

// What no simulation of this configuration writes. A digest does not stop somebody who edits a
// state; but rounds that are released again, or beyond the plan, are not what its epsilon counts.
void RequireConsistent(const RunState& state) {
  const Json configuration = ParseJson(state.configuration);
  const uint64_t rounds = NumberIn(configuration, "rounds");
  const uint64_t devices = NumberIn(configuration, "devices");
  RequireThat(
      state.job.next_round <= rounds,
      fmt::format("{} rounds are released, and the job has {}", state.job.next_round, rounds));
  RequireThat(
      state.job.heard.size() <= devices,
      fmt::format("{} devices were heard, and the fleet has {}", state.job.heard.size(), devices));
  const Key server_key = posix::DeriveKey(state.run_key, key_label::kServer);
  const Key id = posix::DeriveKey(server_key, key_label::kJob);
  RequireThat(std::equal(std::begin(state.job.job_id), std::end(state.job.job_id), id.bytes),
              "its job is not the one of its key");
  const std::vector<float>& parameters = state.job.parameters;
  RequireThat(std::all_of(parameters.begin(), parameters.end(),
                          [](float value) { return std::isfinite(value); }),
              "a parameter of its model is not finite");
  RequireRounds(state);
  RequireEvaluations(state);
  const bool is_passes = configuration.value("sampling", "") == "passes";
  const bool has_private_noise = configuration.value("trust_mode", "") == "private-noise";
  if (is_passes || !state.job.seals.empty()) RequireSeals(state, has_private_noise);
  for (const RoundReport& report : state.rounds) {
    const RoundOutcome& outcome = report.outcome;
    const bool fits = outcome.cohort <= devices && outcome.checked_in <= devices &&
                      uint64_t{outcome.reported} + outcome.rejected <= outcome.cohort &&
                      outcome.reported <= outcome.checked_in &&
                      (outcome.update_bytes == 0) == (outcome.reported == 0);
    RequireThat(fits, fmt::format("the devices of round {} are more than were drawn, or their "
                                  "reports are of another number",
                                  uint64_t{outcome.round} + 1));
  }
}

// The text below the lines of the format.
std::string BodyOf(const RunState& state) {
  Json rounds = Json::array();
  for (const RoundReport& report : state.rounds) rounds.push_back(ReportToState(report));
  const Json json = {{"configuration", ParseJson(state.configuration)},
                     {"fleet", ParseJson(state.fleet)},
                     {"inputs", InputsToJson(state.inputs)},
                     {"builds", state.builds},
                     {"run_key", posix::Hex(state.run_key.bytes)},
                     {"job", JobToState(state.job)},
                     {"initial", state.initial ? EvaluationToState(*state.initial) : Json(nullptr)},
                     {"rounds", rounds}};
  return JsonText(json, 1) + "\n";
}

RunState StateIn(std::string_view body) {
  try {
    RunState state = StateFrom(ParseJson(body));
    RequireConsistent(state);
    return state;
  } catch (const std::exception& error) {
    posix::RefuseKept(kStateFormat, error.what());
  }
}

}  // namespace

std::string ToText(const RunState& state) {
  return posix::KeptText(kStateFormat, BodyOf(state)).text;
}

RunState RunStateFromText(const std::string& file, const std::string& text) {
  try {
    RunState state = StateIn(posix::KeptBody(kStateFormat, text));
    state.file = file;
    return state;
  } catch (const posix::FileError& error) {
    Refuse(file, error.what());
  }
}

void WriteRunState(const std::string& path, const RunState& state) {
  posix::WriteKeptFile(kStateFormat, path, BodyOf(state));
}

RunState ReadRunState(const std::string& path) {
  const std::optional<posix::SecretText> text = posix::ReadKeptText(kStateFormat, path);
  if (!text)
    Refuse(
        path,
        "it cannot be read: there is no such file; `sotto simulate --state-out FILE` writes one");
  return RunStateFromText(path, text->text);
}

bool HasItsErrors(const JobConfig& job, const RoundOutcome& outcome) {
  if (!outcome.errors) return !job.MeasuresErrors(outcome.round);
  return job.MeasuresErrors(outcome.round) && outcome.errors->edges == job.error_edges &&
         outcome.errors->counts.size() == job.error_edges.size() + 1;
}

void RequireRoundsOf(const RunState& state, const JobConfig& job) {
  const privacy::Plan& plan = job.plan;
  const bool has_noise = job.codec->noise;
  for (const RoundReport& report : state.rounds) {
    const RoundOutcome& outcome = report.outcome;
    const auto clip = static_cast<float>(outcome.clip_l2);
    const bool is_adaptive = job.clip_schedule.has_value();
    const bool has_bound = is_adaptive && outcome.round > 0
                               ? std::isfinite(clip) && clip > 0
                               : outcome.clip_l2 == static_cast<double>(job.ClipFor(outcome.round));
    const double noise =
        has_noise && has_bound ? static_cast<double>(job.NoiseSigmaFor(clip, outcome.round)) : 0;
    const int64_t topped_up = has_noise ? plan.planned_reports - int64_t{outcome.reported} : 0;
    const int64_t cohort = plan.sampling == privacy::Sampling::kPoisson ? int64_t{outcome.cohort}
                                                                        : int64_t{plan.cohort};
    const bool is_last = &report == &state.rounds.back();
    const bool fits = has_bound && outcome.noise_sigma == noise && outcome.cohort == cohort &&
                      outcome.topped_up == topped_up && outcome.checked_in >= job.min_devices &&
                      (is_last || !outcome.diverged) &&
                      outcome.unclipped_fraction.has_value() == is_adaptive &&
                      outcome.device_accuracy.has_value() == job.evaluates_on_devices &&
                      HasItsErrors(job, outcome);
    if (fits) continue;
    Refuse(
        state.file,
        fmt::format("it is damaged (cohort, bound, noise or counts of round {} are none that its "
                    "configuration gives); {}",
                    uint64_t{outcome.round} + 1, kStateFormat.remedy));
  }
}

void RequireSameInputs(const RunState& state, const InputDigests& inputs) {
  const std::optional<ChangedInput> changed = FirstChangedInput(state.inputs, inputs);
  if (!changed) return;
  Refuse(state.file, fmt::format("since its simulation began, {}; restore the file, or begin anew "
                                 "without --resume",
                                 changed->Describe()));
}

std::string OtherBuildWarning(const RunState& state, const std::string& build) {
  for (const std::string& other : state.builds) {
    if (other == build) continue;
    return fmt::format(
        "--resume {}: build {} ran rounds of it, and this is build {}; they are the "
        "results of one run only if both compute alike",
        state.file, other, build);
  }
  return "";
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
