#include "experiment/settings.h"

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

// Sets the fields of a table that the settings name, in the table's order. Returns how many.
template <class Row, class Request>
size_t SetFields(const std::vector<Row>& fields, const Settings& settings, Request& request) {
  size_t set = 0;
  for (const Row& field : fields) {
    const auto setting = settings.find(field.name);
    if (!field.is_option() || setting == settings.end()) continue;
    RequireCompany(field, settings);
    Give(field, request, ValueOf(field, setting->second));
    ++set;
  }
  return set;
}

std::vector<std::string> OptionNames() {
  std::vector<std::string> names;
  for (const Field<SimulationRequest>& field : SimulationFields()) {
    if (field.is_option()) names.emplace_back(field.name);
  }
  for (const JobField& field : JobFields()) {
    if (field.is_option()) names.emplace_back(field.name);
  }
  return names;
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

bool IsSimulationOption(const std::string& name) {
  static const std::vector<std::string> kNames = OptionNames();
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

SimulationRequest RequestOf(const Settings& settings) {
  for (const auto& [name, value] : settings) {
    if (IsSimulationOption(name)) continue;
    throw std::invalid_argument(fmt::format("`sotto simulate` has no option --{}{}", name,
                                            posix::DidYouMean(name, OptionNames(), "--")));
  }
  SimulationRequest request;
  SetFields(SimulationFields(), settings, request);
  JobRequest& job = request;
  SetFields(JobFields(), settings, job);
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
