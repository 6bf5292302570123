#include "cli/job_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "spec/job_spec.h"

namespace sotto::server {
namespace {

std::string Dashed(const char* name) { return std::string("--") + name; }

// Unlike CLI::Range, it rejects NaN.
CLI::Validator Inside(const Range& range) {
  return {[range](std::string& text) {
            double value = 0;
            const bool inside = CLI::detail::lexical_cast(text, value) && range.Contains(value);
            return inside ? "" : fmt::format("{} is not in the range {}", text, range.Text());
          },
          range.Text()};
}

template <class Value, class Request>
CLI::Option* AddTyped(CLI::App& command, const Field<Request>& field, Request& request) {
  const std::function<void(const Value&)> set = [&](const Value& value) {
    field.set(request, value);
  };
  return command.add_option_function<Value>(Dashed(field.name), set, field.Help())
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
      return AddTyped<double>(command, field, request);
    case Kind::kText:
      return AddTyped<std::string>(command, field, request);
  }
  const std::function<void(int64_t)> set = [&](int64_t count) { field.set(request, count > 0); };
  return command.add_flag_function(Dashed(field.name), set, field.Help());
}

// Adds the fields of one group. The fields and the request must outlive the parse.
template <class Request>
void AddGroup(CLI::App& command, Group group, const std::vector<Field<Request>>& fields,
              Request& request) {
  for (const Field<Request>& field : fields) {
    if (field.group != group) continue;
    CLI::Option* option = AddByKind(command, field, request)->group(Name(group));
    if (field.range) option->check(Inside(*field.range));
    if (!field.choices.empty()) option->check(CLI::IsMember(field.choices));
    if (field.needs != nullptr) option->needs(command.get_option(Dashed(field.needs)));
    if (field.excludes != nullptr) option->excludes(command.get_option(Dashed(field.excludes)));
  }
}

}  // namespace

void AddJobOptions(CLI::App& command, JobRequest& request) {
  for (const Group group : {Group::kRounds, Group::kTraining, Group::kPrivacy}) {
    AddGroup(command, group, JobFields(), request);
  }
}

void AddSimulateOptions(CLI::App& command, SimulationRequest& request) {
  AddGroup(command, Group::kFleet, SimulationFields(), request);
  AddJobOptions(command, request);
  AddGroup(command, Group::kRun, SimulationFields(), request);
}

}  // namespace sotto::server
