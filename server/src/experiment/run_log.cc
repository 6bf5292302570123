#include "experiment/run_log.h"

#include <cerrno>
#include <cmath>
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

// A model file counts by its contents: its path is that of an output folder.
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

}  // namespace

std::string RunKey(const std::string& kind, const Settings& settings) {
  Settings decisive = settings;
  const auto model = decisive.find("model");
  if (model != decisive.end()) model->second = ModelText(model->second);
  return Sha256Hex(JsonText(Json{{"kind", kind}, {"settings", decisive}}));
}

RunLogFile::RunLogFile(const std::string& path) : path_(path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return;  // no run yet
  std::string line;
  while (std::getline(file, line)) {
    ends_in_line_ = !file.eof();
    if (!IsSealed(line)) continue;
    try {
      const Json json = ParseJson(line);
      runs_[json.at("key").get<std::string>()] = RunOf(json);
    } catch (const std::exception& error) {
      throw std::runtime_error(
          fmt::format("{}: a run is not as this program writes it ({}); use the program that wrote "
                      "it, or remove the file to make its runs anew",
                      path, error.what()));
    }
  }
  if (file.bad()) throw std::runtime_error(path + ": it cannot be read");
}

std::optional<LoggedRun> RunLogFile::Find(const std::string& key) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = runs_.find(key);
  return found == runs_.end() ? std::nullopt : std::optional<LoggedRun>(found->second);
}

size_t RunLogFile::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return runs_.size();
}

void RunLogFile::Append(const std::string& key, const std::string& kind, const Settings& settings,
                        const LoggedRun& run, double seconds) {
  Json json = {{"key", key},
               {"kind", kind},
               {"build", run.build},
               {"settings", settings},
               {"inputs", InputsToJson(run.inputs)}};
  json.update(ToJson(run.outcome));
  json["seconds"] = seconds;
  const std::lock_guard<std::mutex> lock(mutex_);
  errno = 0;
  std::ofstream file(path_, std::ios::binary | std::ios::app);
  file << (ends_in_line_ ? "" : "\n") + Sealed(JsonText(json)) + "\n";
  file.close();
  if (!file) {
    const int error = errno != 0 ? errno : EIO;
    throw std::runtime_error(fmt::format("{}: a run cannot be written: {}; {}", path_,
                                         std::generic_category().message(error),
                                         posix::AdviceFor(error, "check its folder")));
  }
  ends_in_line_ = true;
  runs_[key] = run;
}

}  // namespace sotto::server
