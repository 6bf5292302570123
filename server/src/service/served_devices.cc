#include "service/served_devices.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/wall_clock.h"
#include "service/live_file.h"
#include "sotto/posix/files.h"
#include "sotto/posix/port.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kStatesMs = 2000;  // between two writes
constexpr size_t kMostOfFile = 256 << 20;

Json StatesIn(const std::string& store) {
  const std::optional<std::string> text = posix::ReadTextFile(DeviceStatesFile(store), kMostOfFile);
  const Json file = text ? TryParseJson(*text) : Json();
  const bool is_whole = file.is_object() && file.contains("devices") && file["devices"].is_array();
  return is_whole ? file : Json();
}

// The states' last entry of each device, by its name.
std::unordered_map<std::string, Json> ByName(const Json& file) {
  std::unordered_map<std::string, Json> devices;
  if (!file.is_object()) return devices;
  for (const Json& device : file["devices"]) {
    if (device.is_object() && device.value("id", Json()).is_string())
      devices[device["id"]] = device;
  }
  return devices;
}

}  // namespace

std::string DeviceStatesFile(const std::string& store) { return ServersFile(store, "-devices"); }

Json ReadDeviceStates(const std::string& store, const std::vector<DeviceRecord>& devices,
                      const JobTurns& turns) {
  std::unordered_map<std::string, const DeviceTurns*> turns_of;
  for (const DeviceTurns& device : turns.devices) turns_of[device.id] = &device;
  const Json file = StatesIn(store);
  const std::unordered_map<std::string, Json> known = ByName(file);
  Json list = Json::array();
  for (const DeviceRecord& device : devices) {
    const auto found = known.find(device.id);
    const Json of_store = StateToJson(device, DeviceStates().Of(device, 0));
    const bool is_current =
        found != known.end() && device.is_eligible() &&
        std::all_of(of_store.items().begin(), of_store.items().end(),
                    [&](const auto& field) { return found->second.contains(field.key()); });
    list.push_back(is_current ? found->second : of_store);
    const auto of_job = turns_of.find(device.id);
    AddTurns(of_job == turns_of.end() ? nullptr : of_job->second, &list.back());
  }
  return {{"as_of", file.is_object() ? file.value("as_of", Json()) : Json()}, {"devices", list}};
}

std::string DescribeDeviceStates(const Json& states, bool server_runs) {
  if (states.is_null()) return "";
  const Json& as_of = states["as_of"];
  const char* when = server_runs       ? ""
                     : as_of.is_null() ? ", no server has run"
                                       : ", no server runs";
  return fmt::format("  states     as of {}{}\n",
                     as_of.is_number() ? UtcText(as_of) : "the store alone", when) +
         DescribeStates(states["devices"]);
}

ServedDevices::ServedDevices(
    std::string store, std::function<SharedRecords()> records,
    std::function<void(const std::string&, const DeviceView&, const std::string&)> tell)
    : file_(DeviceStatesFile(store)), records_(std::move(records)), tell_(std::move(tell)) {
  RequireServersFile(file_);
  for (const auto& [id, device] : ByName(StatesIn(store))) {
    const Json last_seen = device.value("last_seen", Json());
    if (last_seen.is_number()) states_.OnEarlier(id, last_seen);
  }
}

void ServedDevices::OnDevice(const std::string& id, bool is_connected) {
  const std::lock_guard<std::mutex> lock(mutex_);
  has_changed_ = true;
  states_.OnDevice(id, is_connected, SecondsNow());
}

void ServedDevices::OnSign(const DeviceSign& sign) {
  using Kind = DeviceSign::Kind;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    has_changed_ = true;
    states_.OnSign(sign, SecondsNow());
  }
  const bool is_well =
      sign.kind == Kind::kWaits || sign.kind == Kind::kTrains || sign.kind == Kind::kUploaded;
  if (!is_well) Tell(sign.id);
}

void ServedDevices::OnRound() {
  const std::lock_guard<std::mutex> lock(mutex_);
  has_changed_ = true;
  states_.OnRound();
}

// Of a device that has just shown something that its operator should look at.
void ServedDevices::Tell(const std::string& id) {
  if (const SharedRecords records = records_(); records != told_of_) {
    told_of_ = records;
    by_name_.clear();
    for (size_t i = 0; i < records->size(); ++i) by_name_.emplace((*records)[i].id, i);
  }
  const auto device = by_name_.find(id);
  if (device == by_name_.end()) return;
  const DeviceView view = Of((*told_of_)[device->second]);
  if (view.row->severity == Severity::kOk || view.row->state == DeviceState::kNeverSeen) return;
  const auto line = lines_.Take(view.row->name, id, DescribeState(id, view), posix::NowMs());
  if (!line) return;
  tell_(id, view, *line);
  const std::lock_guard<std::mutex> lock(mutex_);
  next_write_ms_ = 0;  // `sotto status` knows it as soon as the log does
}

DeviceView ServedDevices::Of(const DeviceRecord& device) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return states_.Of(device, SecondsNow());
}

std::map<std::string, uint64_t> ServedDevices::Counts() const {
  const SharedRecords records = records_();
  std::map<std::string, uint64_t> counts;
  for (const DeviceStateRow& row : kDeviceStates) counts[row.name] = 0;
  const std::lock_guard<std::mutex> lock(mutex_);
  const double now = SecondsNow();
  for (const DeviceRecord& device : *records) ++counts[states_.RowOf(device, now).name];
  return counts;
}

void ServedDevices::Write(bool at_once) {
  DeviceStates states;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const uint64_t now_ms = posix::NowMs();
    if (!at_once && (!has_changed_ || now_ms < next_write_ms_)) return;
    has_changed_ = false;
    next_write_ms_ = now_ms + kStatesMs;
    states = states_;
  }
  const double now = SecondsNow();
  Json list = Json::array();
  for (const DeviceRecord& device : *records_()) {
    list.push_back(StateToJson(device, states.Of(device, now)));
  }
  try {
    posix::ReplacePrivateFile(file_, JsonText({{"as_of", now}, {"devices", list}}) + "\n");
  } catch (const std::exception&) {
    // For example a full disk, of which the store itself says more.
  }
}

}  // namespace sotto::server
