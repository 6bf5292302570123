#include "views/turns_output.h"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/counted.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kNamesShown = 10;

std::map<int64_t, int64_t> DevicesByTurns(const JobTurns& job) {
  std::map<int64_t, int64_t> devices;
  for (const DeviceTurns& device : job.devices) ++devices[device.used];
  return devices;
}

int64_t WithTurnLeft(const JobTurns& job) {
  return std::count_if(job.devices.begin(), job.devices.end(),
                       [](const DeviceTurns& device) { return device.left > 0; });
}

std::vector<std::string> MustSettle(const JobTurns& job) {
  std::vector<std::string> names;
  for (const DeviceTurns& device : job.devices) {
    if (device.must_settle) names.push_back(device.id);
  }
  return names;
}

std::vector<std::string> NeverAsked(const JobTurns& job) {
  std::vector<std::string> names;
  for (const DeviceTurns& device : job.devices) {
    if (device.used == 0 && !device.is_revoked) names.push_back(device.id);
  }
  return names;
}

}  // namespace

std::string DescribeTurns(const JobTurns& job) {
  std::string text;
  for (const auto& [turns, devices] : DevicesByTurns(job)) {
    text += fmt::format("{}{} for {}", text.empty() ? "" : ", ", turns, Counted(devices, "device"));
  }
  if (text.empty()) return text;
  return text +
         fmt::format("; at most {} for each; {} of {} have a turn left, and a round needs {}",
                     job.participations, WithTurnLeft(job), Counted(job.devices.size(), "device"),
                     job.cohort);
}

std::string DescribeNeverAsked(const JobTurns& job) { return FirstNames(NeverAsked(job)); }

std::string DescribeMustSettle(const JobTurns& job) { return FirstNames(MustSettle(job)); }

std::string FirstNames(const std::vector<std::string>& names) {
  const auto shown = static_cast<std::ptrdiff_t>(std::min(names.size(), kNamesShown));
  const std::string first =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + shown, ", "));
  return names.size() > kNamesShown
             ? fmt::format("{} and {} more", first, names.size() - kNamesShown)
             : first;
}

std::string DescribeTurnsOfDevices(const JobTurns& job) {
  if (job.devices.empty()) return "";
  std::string text = fmt::format("  {:>5} {:>5} {:>10}  device\n", "used", "left", "last round");
  for (const DeviceTurns& device : job.devices) {
    text +=
        fmt::format("  {:>5} {:>5} {:>10}  {}{}\n", device.used, device.left,
                    device.last_round < 0 ? "-" : std::to_string(device.last_round + 1), device.id,
                    device.is_revoked    ? ", revoked"
                    : device.must_settle ? ", must show a receipt"
                                         : "");
  }
  return text;
}

Json TurnsToJson(const DeviceTurns& device) {
  return {{"used", device.used},
          {"left", device.left},
          {"last_round", device.last_round < 0 ? Json(nullptr) : Json(device.last_round + 1)}};
}

Json TurnsToJson(const JobTurns& job) {
  if (job.participations == 0) return nullptr;
  Json by_turns = Json::array();
  for (const auto& [turns, devices] : DevicesByTurns(job)) {
    by_turns.push_back({{"turns", turns}, {"devices", devices}});
  }
  Json devices = Json::array();
  for (const DeviceTurns& device : job.devices) {
    devices.push_back({{"id", device.id}, {"is_revoked", device.is_revoked}});
    devices.back().update(TurnsToJson(device));
  }
  Json json = {{"participations", job.participations},  {"cohort", job.cohort},
               {"with_a_turn_left", WithTurnLeft(job)}, {"by_turns", by_turns},
               {"never_asked", NeverAsked(job)},        {"devices", devices}};
  const std::vector<std::string> must_settle = MustSettle(job);
  if (!must_settle.empty()) json["must_settle"] = must_settle;
  return json;
}

}  // namespace sotto::server
