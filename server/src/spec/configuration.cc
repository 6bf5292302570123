#include "spec/configuration.h"

#include <fmt/format.h>
#include <limits>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "sotto/posix/hex.h"
#include "spec/job_spec.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kWeightsKeyField[] = "weights_key";  // a row of the table
constexpr double kNoBudget = std::numeric_limits<double>::infinity();

bool IsStored(Resume resume) {
  return resume == Resume::kStored || resume == Resume::kKept || resume == Resume::kRaised;
}

[[noreturn]] void Refuse(const std::string& path, const ChangedField& field) {
  const bool is_raised = field.name == "rounds" || field.name == "epsilon_budget";
  const std::string advice = (is_raised ? "do not lower " : "restore ") + field.name;
  throw std::runtime_error(fmt::format(
      "{}: the job in this store began with {} = {}, and now it is {}; a job keeps the "
      "configuration it began with: {}, or begin another job after it (sotto job start)",
      path, field.name, field.was, field.is, advice));
}

[[noreturn]] void RefuseDamaged(const std::string& path) {
  throw std::runtime_error(path +
                           ": the job's configuration is damaged; begin a new job in a new store");
}

Json Parse(const std::string& path, const std::string& held) {
  Json json = TryParseJson(held);
  if (!json.is_object()) RefuseDamaged(path);
  return json;
}

privacy::Plan PlanOf(const Json& json) {
  privacy::Plan plan;
  for (const JobField& field : JobFields()) {
    if (!field.plan) continue;
    // Absent: not a field of this kind of job, or an option newer than the store, with its default.
    const bool may_be_absent = field.is_stored || field.is_option();
    if (may_be_absent && !json.contains(field.stored_name())) continue;
    field.plan(plan, FromJson(json.at(field.stored_name())));
  }
  return plan;
}

std::string TextOf(const Json& json, const std::string& field) {
  return json.contains(field) ? JsonText(json[field]) : "absent";
}

// The length of updates follows from the noise, the model and the limits: the cause is said first.
bool FollowsFromOthers(const std::string& name) {
  return name == "one_length" || name == "too_long";
}

// A configuration that was stored before an option existed. What the program of that time did, the
// option's default unless the row says something else, counts as stored.
Json WithNewOptions(Json held, const Json& now) {
  const JobRequest defaults;
  for (const JobField& field : JobFields()) {
    const std::string name = field.stored_name();
    if (field.is_option() && now.contains(name) && !held.contains(name)) {
      held[name] = ToJson(field.before_option ? *field.before_option : field.get(defaults));
    }
  }
  return held;
}

// The configuration of a resumed job, which keeps what it was not given anew.
Json WithKept(Json now, const Json& held) {
  for (const JobField& field : JobFields()) {
    const std::string name = field.stored_name();
    if (field.resume == Resume::kKept && !now.contains(name) && held.contains(name)) {
      now[name] = held[name];
    }
  }
  return now;
}

// Whether a number is no smaller than it was; null is infinite.
bool IsRaised(const Json& now, const Json& was) {
  const auto number = [](const Json& json) {
    return json.is_null() ? kNoBudget : json.get<double>();
  };
  return (now.is_null() || now.is_number()) && number(now) >= number(was);
}

}  // namespace

Json ConfigurationToJson(const JobRecord& job) {
  Json json;
  for (const JobField& field : JobFields()) {
    if (!IsStored(field.resume)) continue;
    if (field.is_stored && !field.is_stored(job)) continue;
    json[field.stored_name()] = ToJson(field.read(job));
  }
  return json;
}

std::string ConfigurationText(const JobRecord& job) { return JsonText(ConfigurationToJson(job)); }

privacy::Plan PlanFromConfiguration(const std::string& path, const std::string& held) {
  const Json json = Parse(path, held);
  try {
    privacy::Plan plan = PlanOf(json);
    const CodecInfo* codec = FindCodec(json.at("mechanism"));
    if (codec == nullptr || !codec->certified) plan.noise_sigma = 0;
    return plan;
  } catch (const std::exception&) {
    RefuseDamaged(path);
  }
}

double BudgetFromConfiguration(const std::string& path, const std::string& held) {
  const Json json = Parse(path, held);
  const auto budget = json.find("epsilon_budget");
  if (budget == json.end()) RefuseDamaged(path);
  return budget->is_null() ? kNoBudget : budget->get<double>();
}

std::optional<Key> WeightsKeyFromConfiguration(const std::string& path, const std::string& held) {
  const Json json = Parse(path, held);
  const auto text = json.find(kWeightsKeyField);
  if (text == json.end()) return std::nullopt;
  Key key;
  if (!text->is_string() || !posix::ParseHex(text->get<std::string>(), key.bytes)) {
    RefuseDamaged(path);
  }
  return key;
}

void KeepBegun(const std::string& path, const std::string& held, JobRequest* request) {
  const Json json = Parse(path, held);
  try {
    for (const JobField& field : JobFields()) {
      if (!field.is_kept || request->Has(field.name)) continue;
      const auto value = json.find(field.stored_name());
      if (value != json.end()) {
        field.set(*request, FromJson(*value));
      } else if (field.before_option) {
        field.set(*request, *field.before_option);
      }
    }
  } catch (const std::exception&) {
    RefuseDamaged(path);
  }
}

std::optional<ChangedField> FirstChange(const Json& before, const Json& now) {
  std::optional<ChangedField> follows;
  for (const Json& side : {now, before}) {
    for (const auto& item : side.items()) {
      const ChangedField field = {item.key(), TextOf(before, item.key()), TextOf(now, item.key())};
      if (field.was == field.is) continue;
      if (!FollowsFromOthers(field.name)) return field;
      if (!follows) follows = field;
    }
  }
  return follows;
}

void RequireSameConfiguration(const std::string& path, const std::string& held, const Json& asked,
                              const RaisedFields& raised) {
  const Json now = WithKept(asked, Parse(path, held));
  Json before = WithNewOptions(Parse(path, held), now);
  for (const auto& [name, was] : {std::pair<const char*, Json>{"rounds", raised.rounds},
                                  {"epsilon_budget", ToJson(ToValue(raised.epsilon_budget))}}) {
    const bool may_be_raised = before.contains(name) && now.contains(name) &&
                               (before[name].is_number() || before[name].is_null());
    if (!may_be_raised) continue;
    before[name] = IsRaised(now[name], was) ? now[name] : was;
  }
  if (const auto field = FirstChange(before, now)) Refuse(path, *field);
}

}  // namespace sotto::server
