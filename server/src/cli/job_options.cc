#include "cli/job_options.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "cli/in_range.h"
#include "sotto/options/numbers.h"
#include "spec/job_spec.h"

namespace sotto::server {
namespace {

std::string Dashed(const char* name) { return std::string("--") + name; }

// "-v,--verbose"
std::string Names(const FieldText& field) {
  const std::string name = Dashed(field.name);
  return field.letter == nullptr ? name : fmt::format("-{},{}", field.letter, name);
}

// Refuses the choices that only simulations take.
CLI::Validator Servable(const FieldText& field) {
  return {[choices = field.choices, served = field.served_choices](std::string& text) {
            const auto has = [&text](const std::vector<std::string>& names) {
              return std::find(names.begin(), names.end(), text) != names.end();
            };
            if (!has(choices) || has(served)) return std::string();
            return fmt::format("no device speaks {}, only `sotto simulate` runs it; serve takes {}",
                               text, fmt::join(served, " or "));
          },
          ""};
}

template <class Value, class Request>
CLI::Option* AddTyped(CLI::App& command, const Field<Request>& field, Request& request) {
  const std::function<void(const Value&)> set = [&](const Value& value) {
    Give(field, request, value);
  };
  return command.add_option_function<Value>(Names(field), set, field.Help())
      ->default_str(DefaultText(field.get(request)));
}

// A number, or the word that may stand for it.
template <class Request>
CLI::Option* AddNumberOrWord(CLI::App& command, const Field<Request>& field, Request& request) {
  const std::function<void(const std::string&)> set = [&](const std::string& text) {
    const std::optional<double> number = posix::ParseReal(text);
    Give(field, request, number ? Json(*number) : Json(text));
  };
  return command.add_option_function<std::string>(Names(field), set, field.Help())
      ->default_str(DefaultText(field.get(request)));
}

template <class Request>
CLI::Option* AddByKind(CLI::App& command, const Field<Request>& field, Request& request) {
  switch (field.kind) {
    case Kind::kFlag:
      break;
    case Kind::kCount:
      return AddTyped<uint64_t>(command, field, request);
    case Kind::kReal:
      if (field.or_word != nullptr) return AddNumberOrWord(command, field, request);
      return AddTyped<double>(command, field, request);
    case Kind::kText:
      return AddTyped<std::string>(command, field, request);
  }
  const std::function<void(int64_t)> set = [&](int64_t count) {
    Give(field, request, Json(count > 0));
  };
  return command.add_flag_function(Names(field), set, field.Help());
}

enum class Command { kSimulate, kServe };

template <class Request>
void AddRules(const Field<Request>& field, Command program, CLI::App& command,
              CLI::Option* option) {
  option->required(field.required);
  if (field.range) option->check(InRange(*field.range, field.unit, field.or_word));
  const bool has_fewer = program == Command::kServe && !field.served_choices.empty();
  if (has_fewer) option->check(Servable(field));
  const std::vector<std::string>& choices = has_fewer ? field.served_choices : field.choices;
  if (!choices.empty() && field.or_file == nullptr) option->check(CLI::IsMember(choices));
  if (field.needs != nullptr) option->needs(command.get_option(Dashed(field.needs)));
  if (field.excludes != nullptr) option->excludes(command.get_option(Dashed(field.excludes)));
}

// Names of options that a command leaves out.
using Without = std::vector<std::string>;

// Adds the fields of one group. The fields and the request must outlive the parse.
template <class Request>
void AddGroup(CLI::App& command, Command program, Group group,
              const std::vector<Field<Request>>& fields, Request& request,
              const Without& without = {}) {
  for (const Field<Request>& field : fields) {
    if (field.group != group) continue;
    if (std::find(without.begin(), without.end(), field.name) != without.end()) continue;
    CLI::Option* option = AddByKind(command, field, request)->group(Name(group));
    AddRules(field, program, command, option);
  }
}

// The job's options stand between the program's own ones and those of the output.
//   without  of the job's options and those of the output
template <class Request>
void AddOptions(CLI::App& command, Command program, Group first,
                const std::vector<Field<Request>>& fields, Request& request,
                const Without& without = {}) {
  AddGroup(command, program, first, fields, request);
  JobRequest& job = request;
  for (const Group group : {Group::kRounds, Group::kTraining, Group::kPrivacy}) {
    AddGroup(command, program, group, JobFields(), job, without);
  }
  AddGroup(command, program, Group::kRun, fields, request, without);
}

// The audit's own options, then those of a simulation.
template <class Request>
void AddTrainingAudit(CLI::App& command, const std::vector<Field<Request>>& fields,
                      Request& request) {
  AddGroup(command, Command::kSimulate, Group::kAudit, fields, request);
  SimulationRequest& simulation = request;
  AddOptions(command, Command::kSimulate, Group::kFleet, SimulationFields(), simulation,
             WithoutForTraining());
}

}  // namespace

void AddServeOptions(CLI::App& command, ServeRequest& request) {
  AddOptions(command, Command::kServe, Group::kNetwork, ServeFields(), request);
}

void AddSimulateOptions(CLI::App& command, SimulationRequest& request) {
  AddOptions(command, Command::kSimulate, Group::kFleet, SimulationFields(), request);
  AddGroup(command, Command::kSimulate, Group::kPeers, SimulationFields(), request);
}

void AddEpsilonAuditOptions(CLI::App& command, EpsilonAuditRequest& request) {
  AddOptions(command, Command::kSimulate, Group::kAudit, EpsilonAuditFields(), request,
             WithoutForEpsilon());
}

void AddMembershipOptions(CLI::App& command, MembershipRequest& request) {
  AddTrainingAudit(command, MembershipFields(), request);
}

void AddSensitivityOptions(CLI::App& command, SensitivityRequest& request) {
  AddTrainingAudit(command, SensitivityFields(), request);
}

}  // namespace sotto::server
