#include "service/live_file.h"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "backends/open_store.h"
#include "base/json_text.h"
#include "base/wall_clock.h"
#include "overview/overview.h"
#include "sotto/posix/files.h"
#include "views/device_states.h"
#include "views/progress.h"
#include "views/turns_output.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kEveryMs = 1000;
constexpr size_t kMostBytes = size_t{64} << 20;
constexpr double kMs = 1e-3;  // seconds

std::string LiveFileOf(const std::string& store) { return ServersFile(store, "-live"); }

}  // namespace

std::string ServersFile(const std::string& store, const char* ending) {
  return FilesBeside(store) + ending;
}

void RequireServersFile(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) return;
  const bool is_regular = fs::is_regular_file(path, error);
  // A file that was written when the machine lost its power can be empty, or be zeros.
  const int first = is_regular ? std::ifstream(path).peek() : 'x';
  if (first == '{' || first == 0 || first == std::ifstream::traits_type::eof()) return;
  throw std::runtime_error(fmt::format(
      "{}: a server writes a file of this name beside its store, and there is something else; move "
      "it, or give the store another name",
      path));
}

const char* Name(ServerPhase::Kind kind) {
  constexpr const char* kNames[] = {"open", "closed", "waiting", "finished"};
  return kNames[static_cast<int>(kind)];
}

LiveFile::LiveFile(const std::string& store, std::string server)
    : path_(LiveFileOf(store)), server_(std::move(server)) {
  RequireServersFile(path_);
  std::remove(path_.c_str());
}

LiveFile::~LiveFile() { std::remove(path_.c_str()); }

void LiveFile::OnPhase(const ServerPhase& phase) {
  phase_ = phase;
  is_due_ = true;
}

std::string LiveFile::Text() const {
  const bool has_attempt =
      phase_.kind == ServerPhase::Kind::kOpen || phase_.kind == ServerPhase::Kind::kClosed;
  Json phase = {{"kind", Name(phase_.kind)}, {"reason", phase_.reason}};
  if (has_attempt) {
    phase.update({{"round", phase_.round + 1},
                  {"attempt", phase_.attempt + 1},
                  {"drawn", phase_.drawn},
                  {"opened", static_cast<double>(phase_.opened_ms) * kMs},
                  {"deadline", static_cast<double>(phase_.deadline_ms) * kMs}});
  }
  return ForgivingJsonText(
             {{"format", 1}, {"server", server_}, {"written", SecondsNow()}, {"phase", phase}}) +
         "\n";
}

void LiveFile::Alive(uint64_t now_ms) {
  if (!is_due_ || now_ms < next_ms_) return;
  is_due_ = false;
  next_ms_ = now_ms + kEveryMs;
  std::string text = Text();
  const std::lock_guard<std::mutex> lock(mutex_);
  text_ = std::move(text);
}

void LiveFile::Write() {
  std::string text;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    text.swap(text_);
  }
  if (text.empty()) return;
  try {
    posix::ReplacePassingFile(path_, text);
  } catch (const std::exception&) {
    std::remove(path_.c_str());  // no old news
  }
}

Json ReadLive(const std::string& store, const std::optional<std::string>& server) {
  if (!server) return nullptr;
  try {
    const std::optional<std::string> text = posix::ReadTextFile(LiveFileOf(store), kMostBytes);
    const Json live = text ? TryParseJson(*text) : Json(nullptr);
    if (live.is_object() && live.value("server", "") == *server) return live;
  } catch (const std::exception&) {
    // Another user's file, or one of another form: nothing is known.
  }
  return nullptr;
}

std::string DescribeLive(const Json& live, const Json& states) {
  if (!live.is_object()) return "";
  const Json& phase = live.at("phase");
  const std::string kind = phase.at("kind");
  std::string now = phase.at("reason");
  if (phase.contains("round")) {
    const double left = phase.at("deadline").get<double>() - SecondsNow();
    now = fmt::format("round {} attempt {}: {} drawn, {}", phase["round"].get<int64_t>(),
                      phase["attempt"].get<int64_t>(), phase["drawn"].get<int64_t>(),
                      kind == "open" && left > 0 ? TimeLeft(left) : "its result is being computed");
  }
  std::string text = fmt::format("  now        {}\n", StateText(kind, now));
  std::map<std::string, std::vector<std::string>> names;
  for (const Json& device : states.at("devices")) names[device.at("state")].push_back(device["id"]);
  for (const DeviceStateRow& row : kDeviceStates) {
    const std::vector<std::string>& in_state = names[row.name];
    if (in_state.empty()) continue;
    text += fmt::format("  {:<10} {}: {}\n", row.name, in_state.size(), FirstNames(in_state));
  }
  return text;
}

}  // namespace sotto::server
