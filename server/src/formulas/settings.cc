#include "formulas/settings.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>
#include <vector>

#include "sotto/options/nearest.h"
#include "spec/job_spec.h"

namespace sotto::server {
namespace {

[[noreturn]] void Refuse(const std::string& name, const std::string& text, const std::string& why) {
  throw std::invalid_argument(fmt::format("--{} {}: {}", name, text, why));
}

Value ValueOf(const FieldText& field, const std::string& text) {
  try {
    return posix::ParseValue(field, text);
  } catch (const std::invalid_argument& error) {
    Refuse(field.name, text, error.what());
  }
}

void RequireCompany(const FieldText& field, const Settings& settings) {
  for (const char* needed : field.needs) {
    if (settings.count(needed) > 0) continue;
    throw std::invalid_argument(fmt::format("--{} needs --{}", field.name, needed));
  }
  for (const char* excluded : field.excludes) {
    if (settings.count(excluded) == 0) continue;
    throw std::invalid_argument(fmt::format("--{} excludes --{}", field.name, excluded));
  }
}

// Sets the fields of a table that the settings name, in the table's order.
template <class Row, class Request>
void SetFields(const std::vector<Row>& fields, const Settings& settings, Request& request) {
  for (const Row& field : fields) {
    const auto setting = settings.find(field.name);
    if (!field.is_option() || setting == settings.end()) continue;
    RequireCompany(field, settings);
    Give(field, request, ValueOf(field, setting->second));
  }
}

template <class Row>
void AddNames(const std::vector<Row>& fields, std::vector<std::string>* names) {
  for (const Row& field : fields) {
    if (field.is_option()) names->emplace_back(field.name);
  }
}

const std::vector<std::string>& SimulationNames() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    AddNames(SimulationFields(), &names);
    AddNames(JobFields(), &names);
    return names;
  }();
  return kNames;
}

const std::vector<std::string>& PeersNames() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    AddNames(PeersFields(), &names);
    return names;
  }();
  return kNames;
}

bool IsOneOf(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void RequireKnown(const char* command, const std::vector<std::string>& names,
                  const Settings& settings) {
  for (const auto& [name, value] : settings) {
    if (IsOneOf(names, name)) continue;
    throw std::invalid_argument(fmt::format("`{}` has no option --{}{}", command, name,
                                            posix::DidYouMean(name, names, "--")));
  }
}

std::string Quoted(const std::string& text) {
  constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

bool IsSimulationOption(const std::string& name) { return IsOneOf(SimulationNames(), name); }
bool IsPeersOption(const std::string& name) { return IsOneOf(PeersNames(), name); }

SimulationRequest RequestOf(const Settings& settings) {
  RequireKnown("sotto simulate", SimulationNames(), settings);
  SimulationRequest request;
  SetFields(SimulationFields(), settings, request);
  JobRequest& job = request;
  SetFields(JobFields(), settings, job);
  return request;
}

PeersRequest PeersRequestOf(const Settings& settings) {
  RequireKnown("sotto peers simulate", PeersNames(), settings);
  PeersRequest request;
  SetFields(PeersFields(), settings, request);
  return request;
}

std::string ArgumentsOf(const Settings& settings) {
  std::string text;
  for (const auto& [name, value] : settings) {
    if (value == "false") continue;
    text +=
        value == "true" ? fmt::format(" --{}", name) : fmt::format(" --{} {}", name, Quoted(value));
  }
  return text;
}

}  // namespace sotto::server
