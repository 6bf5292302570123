#include "experiment/run_log.h"

#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/json_text.h"
#include "sotto/posix/files.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

// A model file counts by its contents: its path lies in an output folder.
std::string ModelText(const std::string& model) {
  if (model.find('/') == std::string::npos && model.find(".toml") == std::string::npos) {
    return model;
  }
  const std::optional<std::string> text = posix::ReadTextFile(model);
  return text ? "file " + Sha256Hex(*text) : model;
}

Json ToJson(const Outcome& outcome) {
  Json json = {{"figures", outcome.figures}, {"series", outcome.series}};
  if (!outcome.note.empty()) json["note"] = outcome.note;
  if (outcome.is_refused) json["refused"] = true;
  if (outcome.core_seconds) json["core_seconds"] = *outcome.core_seconds;
  return json;
}

Outcome OutcomeOf(const Json& json) {
  Outcome outcome;
  json.at("figures").get_to(outcome.figures);
  for (const auto& [name, values] : json.at("series").items()) {
    for (const Json& value : values) {
      outcome.series[name].push_back(value.is_number() ? value.get<double>() : std::nan(""));
    }
  }
  outcome.note = json.value("note", "");
  outcome.is_refused = json.value("refused", false);
  const auto seconds = json.find("core_seconds");
  if (seconds != json.end()) outcome.core_seconds = seconds->get<double>();
  return outcome;
}

LoggedRun RunOf(const Json& json) {
  LoggedRun run;
  run.outcome = OutcomeOf(json);
  run.build = json.at("build").get<std::string>();
  run.inputs = InputsFromJson(json.at("inputs"));
  return run;
}

// The last field of a line.
std::string Seal(const std::string& unsealed) {
  return ",\"sha256\":\"" + Sha256Hex(unsealed) + "\"}";
}

std::string Sealed(std::string object) {
  object.pop_back();  // its brace
  return object + Seal(object);
}

bool IsSealed(const std::string& line) {
  const size_t size = Seal("").size();
  if (line.size() <= size) return false;
  const std::string unsealed = line.substr(0, line.size() - size);
  return line.compare(unsealed.size(), size, Seal(unsealed)) == 0;
}

// Numbers of claims: runs are below it.
constexpr uint64_t kAppending = uint64_t{1} << 61;

// Of a run: 60 bits of its key. Two runs of one number are made one after the other.
uint64_t NumberOf(const std::string& key) { return std::stoull(key.substr(0, 15), nullptr, 16); }

std::string ClaimPathOf(const std::string& path) {
  return std::filesystem::path(path).replace_extension(".lock").string();
}

bool EndsInLine(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file || file.tellg() == 0) return true;
  file.seekg(-1, std::ios::end);
  return file.get() == '\n';
}

}  // namespace

std::string RunKey(const std::string& kind, const Settings& settings) {
  Settings decisive = settings;
  const auto model = decisive.find("model");
  if (model != decisive.end()) model->second = ModelText(model->second);
  return Sha256Hex(JsonText(Json{{"kind", kind}, {"settings", decisive}}));
}

RunLogFile::RunLogFile(const std::string& path) : path_(path) { ReadOn(); }

posix::ClaimFile& RunLogFile::Claims() {
  std::call_once(has_claims_, [this] { claims_.emplace(ClaimPathOf(path_)); });
  return *claims_;
}

void RunLogFile::ReadOn() {
  std::ifstream file(path_, std::ios::binary);
  if (!file) return;  // no run yet
  file.seekg(read_);
  std::string line;
  while (std::getline(file, line) && !file.eof()) {  // a line without an end may still grow
    read_ += static_cast<int64_t>(line.size()) + 1;
    Add(line);
  }
  if (file.bad()) throw std::runtime_error(path_ + ": it cannot be read");
}

void RunLogFile::Add(const std::string& line) {
  if (!IsSealed(line)) return;
  try {
    const Json json = ParseJson(line);
    runs_[json.at("key").get<std::string>()] = RunOf(json);
  } catch (const std::exception& error) {
    throw std::runtime_error(
        fmt::format("{}: a run is not as this program writes it ({}); use the program that wrote "
                    "it, or remove the file to make its runs anew",
                    path_, error.what()));
  }
}

void RunLogFile::Refresh() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ReadOn();
}

std::optional<posix::Claim> RunLogFile::TryClaim(const std::string& key) {
  return Claims().Try(NumberOf(key));
}

size_t RunLogFile::Import(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": there is no such file, or it cannot be read");
  const std::lock_guard<std::mutex> lock(mutex_);
  size_t count = 0;
  std::string line;
  while (std::getline(file, line)) {
    if (!IsSealed(line)) continue;
    const Json json = ParseJson(line);
    if (runs_.count(json.value("key", "")) > 0) continue;
    Add(line);
    AppendLine(line);
    ++count;
  }
  if (file.bad()) throw std::runtime_error(path + ": it cannot be read");
  return count;
}

std::optional<LoggedRun> RunLogFile::Find(const std::string& key) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = runs_.find(key);
  return found == runs_.end() ? std::nullopt : std::optional<LoggedRun>(found->second);
}

std::optional<double> RunLogFile::CoreHours(const std::vector<std::string>& keys) const {
  double seconds = 0;
  for (const std::string& key : keys) {
    const std::optional<LoggedRun> run = Find(key);
    if (!run || !run->outcome.core_seconds) return std::nullopt;
    seconds += *run->outcome.core_seconds;
  }
  return seconds / 3600;
}

size_t RunLogFile::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return runs_.size();
}

void RunLogFile::Append(const std::string& key, const std::string& kind, const Settings& settings,
                        const LoggedRun& run) {
  Json json = {{"key", key},
               {"kind", kind},
               {"build", run.build},
               {"settings", settings},
               {"inputs", InputsToJson(run.inputs)}};
  json.update(ToJson(run.outcome));
  const std::lock_guard<std::mutex> lock(mutex_);
  AppendLine(Sealed(JsonText(json)));
  runs_[key] = run;
}

// One process at a time. What a killed one left of a line ends before this one begins.
void RunLogFile::AppendLine(const std::string& line) {
  const posix::Claim claim = Claims().Wait(kAppending);
  const bool is_cut = !EndsInLine(path_);
  errno = 0;
  std::ofstream file(path_, std::ios::binary | std::ios::app);
  file << (is_cut ? "\n" : "") + line + "\n";
  file.close();
  if (file) return;
  const int error = errno != 0 ? errno : EIO;
  throw std::runtime_error(fmt::format("{}: a run cannot be written: {}; {}", path_,
                                       std::generic_category().message(error),
                                       posix::AdviceFor(error, "check its folder")));
}

}  // namespace sotto::server
