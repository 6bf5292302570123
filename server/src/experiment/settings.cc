#include "experiment/settings.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdexcept>
#include <vector>

#include "sotto/options/nearest.h"
#include "sotto/options/numbers.h"
#include "spec/job_spec.h"

namespace sotto::server {
namespace {

[[noreturn]] void Refuse(const std::string& name, const std::string& text, const std::string& why) {
  throw std::invalid_argument(fmt::format("--{} {}: {}", name, text, why));
}

Json ValueOf(const FieldText& field, const std::string& text) {
  if (field.or_word != nullptr && text == field.or_word) return text;
  switch (field.kind) {
    case Kind::kFlag:
      if (text == "true" || text == "false") return text == "true";
      Refuse(field.name, text, "expected true or false");
    case Kind::kCount: {
      const std::optional<uint64_t> count = posix::ParseCount(text);
      if (!count) Refuse(field.name, text, "expected a count");
      return *count;
    }
    case Kind::kReal: {
      const std::optional<double> real = posix::ParseReal(text);
      if (!real) Refuse(field.name, text, "expected a number");
      return *real;
    }
    case Kind::kText:
      break;
  }
  const auto& choices = field.choices;
  const bool is_choice = choices.empty() || field.or_file != nullptr ||
                         std::find(choices.begin(), choices.end(), text) != choices.end();
  if (!is_choice) Refuse(field.name, text, fmt::format("expected {}", fmt::join(choices, ", ")));
  return text;
}

void RequireCompany(const FieldText& field, const Settings& settings) {
  if (field.needs != nullptr && settings.count(field.needs) == 0) {
    throw std::invalid_argument(fmt::format("--{} needs --{}", field.name, field.needs));
  }
  if (field.excludes != nullptr && settings.count(field.excludes) > 0) {
    throw std::invalid_argument(fmt::format("--{} excludes --{}", field.name, field.excludes));
  }
}

// Sets the fields of a table that the settings name, in the table's order. Returns how many.
template <class Request>
size_t SetFields(const std::vector<Field<Request>>& fields, const Settings& settings,
                 Request& request) {
  size_t set = 0;
  for (const Field<Request>& field : fields) {
    const auto setting = settings.find(field.name);
    if (!field.is_option() || setting == settings.end()) continue;
    RequireCompany(field, settings);
    const Json value = ValueOf(field, setting->second);
    const bool fits = !field.range || !value.is_number() ||
                      field.range->ContainsFloat(value.template get<double>());
    if (!fits) Refuse(field.name, setting->second, "is not in the range " + field.range->Text());
    Give(field, request, value);
    ++set;
  }
  return set;
}

std::vector<std::string> OptionNames() {
  std::vector<std::string> names;
  for (const Field<SimulationRequest>& field : SimulationFields()) {
    if (field.is_option()) names.emplace_back(field.name);
  }
  for (const Field<JobRequest>& field : JobFields()) {
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
