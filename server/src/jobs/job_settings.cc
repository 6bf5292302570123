#include "jobs/job_settings.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <stdexcept>

#include "sotto/options/toml.h"
#include "spec/inputs.h"
#include "spec/job_spec.h"

namespace sotto::server {
namespace {

constexpr const char* kOfAJob[] = {"test", "evaluate-every", "accept-delta"};

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

// "data/x.csv:columns=a" names a file of the folder in which the command runs.
std::string Absolute(const std::string& text) {
  const std::vector<std::string> files = FilesNamedBy(text);
  if (files.empty() || std::filesystem::path(text).is_absolute()) return text;
  constexpr char kScheme[] = "file:";
  if (text.rfind(kScheme, 0) == 0) return kScheme + Absolute(text.substr(sizeof(kScheme) - 1));
  return std::filesystem::absolute(text).string();
}

template <class Row, class Request>
std::string LinesOf(const std::vector<Row>& rows, const Request& request,
                    const std::set<std::string>& given) {
  std::string lines;
  for (const Row& row : rows) {
    if (!row.is_option() || given.count(row.name) == 0) continue;
    const posix::Value value = row.get(request);
    const std::string named = row.input ? row.input(request) : "";
    std::string text;
    if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
      for (const std::string& each : *texts) {
        text += (text.empty() ? "[" : ", ") + Quoted(each);
      }
      text += "]";
    } else if (!named.empty()) {
      text = Quoted(Absolute(named));
    } else {
      text = Quoted(posix::IsAbsent(value) ? "inf" : posix::ExactText(row, value));
    }
    lines += fmt::format("{} = {}\n", row.name, text);
  }
  return lines;
}

template <class Row, class Request>
bool Take(const std::vector<Row>& rows, const posix::Setting& setting, Request& request) {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& each) {
    return each.is_option() && setting.key == each.name;
  });
  if (row == rows.end()) return false;
  try {
    Give(*row, request,
         setting.is_one() ? posix::ParseValue(*row, setting.value) : posix::Value(setting.items));
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("--{}: {}", row->name, error.what()));
  }
  return true;
}

}  // namespace

std::vector<Field<ServeRequest>> JobsServeFields() {
  std::vector<Field<ServeRequest>> rows;
  for (const Field<ServeRequest>& row : ServeFields()) {
    const auto is_same = [&](const char* name) { return std::string(row.name) == name; };
    if (std::any_of(std::begin(kOfAJob), std::end(kOfAJob), is_same)) rows.push_back(row);
  }
  return rows;
}

bool NamesJob(const ServeRequest& request) {
  const std::vector<JobField>& rows = JobFields();
  return std::any_of(rows.begin(), rows.end(),
                     [&](const JobField& row) { return row.is_option() && request.Has(row.name); });
}

std::string JobSettings(const ServeRequest& request) {
  const JobRequest& job = request;
  return LinesOf(JobFields(), job, request.given) +
         LinesOf(JobsServeFields(), request, request.given);
}

bool OnlyExtends(const ServeRequest& request) {
  const std::vector<JobField>& rows = JobFields();
  return request.Has("epsilon-budget") &&
         std::none_of(rows.begin(), rows.end(), [&](const JobField& row) {
           const std::string name = row.name;
           return row.is_option() && request.Has(row.name) && name != "rounds" &&
                  name != "epsilon-budget";
         });
}

std::string Merged(const std::string& settings, const std::string& more) {
  std::string merged = "\n" + settings;
  for (const posix::Setting& setting : posix::ParseToml(more, posix::TomlArrays::kTaken)) {
    const size_t begin = merged.find(fmt::format("\n{} = ", setting.key));
    if (begin != std::string::npos) merged.erase(begin, merged.find('\n', begin + 1) - begin);
  }
  return merged.substr(1) + more;
}

ServeRequest WithSettings(const ServeRequest& server, const std::string& settings,
                          const std::set<std::string>& without) {
  ServeRequest request = server;
  JobRequest& job = request;
  job = JobRequest();
  request.accepts_delta = false;
  for (const posix::Setting& setting : posix::ParseToml(settings, posix::TomlArrays::kTaken)) {
    if (without.count(setting.key) != 0) continue;
    if (Take(JobFields(), setting, job) || Take(JobsServeFields(), setting, request)) continue;
    throw std::invalid_argument(fmt::format("--{}: no job has this option", setting.key));
  }
  return request;
}

}  // namespace sotto::server
