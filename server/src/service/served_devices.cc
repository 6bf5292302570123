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

constexpr uint64_t kStatesMs = 2000;         // between two writes
constexpr uint64_t kLateMs = 30'000;         // the same, of what is no change
constexpr uint64_t kAfterEventMs = 660'000;  // then every state has ended that ends by itself
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
        found != known.end() &&
        (device.is_eligible() || found->second.value("state", Json()) == of_store["state"]) &&
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

// The mutex is held.
void ServedDevices::OnEvent(bool is_change) {
  has_changed_ = has_changed_ || is_change;
  last_event_ms_ = posix::NowMs();
}

void ServedDevices::OnDevice(const std::string& id, bool is_connected, uint64_t silent_ms) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    OnEvent(true);
    states_.OnDevice(id, is_connected, SecondsNow(), 1e-3 * static_cast<double>(silent_ms));
  }
  ForgetTold(id);
}

void ServedDevices::OnSign(const DeviceSign& sign) {
  using Kind = DeviceSign::Kind;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    OnEvent(states_.OnSign(sign, SecondsNow()));
  }
  const bool is_well =
      sign.kind == Kind::kWaits || sign.kind == Kind::kTrains || sign.kind == Kind::kUploaded;
  if (is_well) {
    ForgetTold(sign.id);
  } else if (const DeviceRecord* device = Find(sign.id)) {
    Tell(*device);
  }
}

void ServedDevices::OnRound() {
  const std::lock_guard<std::mutex> lock(mutex_);
  OnEvent(true);
  states_.OnRound();
}

void ServedDevices::OnJob() {
  const std::lock_guard<std::mutex> lock(mutex_);
  OnEvent(true);
  states_.OnJob();
}

void ServedDevices::OnChange(const std::vector<uint32_t>& changed, const DeviceRegistry& devices) {
  const std::lock_guard<std::mutex> lock(mutex_);
  OnEvent(true);
  for (const uint32_t device : changed) states_.OnNewKey(devices[device].id);
}

const DeviceRecord* ServedDevices::Find(const std::string& id) {
  if (const SharedRecords records = records_(); records != told_of_) {
    told_of_ = records;
    by_name_.clear();
    for (size_t i = 0; i < records->size(); ++i) by_name_.emplace((*records)[i].id, i);
  }
  const auto device = by_name_.find(id);
  return device == by_name_.end() ? nullptr : &(*told_of_)[device->second];
}

// Of a device that has just shown something that its operator should look at.
void ServedDevices::Tell(const DeviceRecord& device) {
  ForgetTold(device.id);
  const DeviceView view = Of(device);
  if (view.row->severity == Severity::kOk || view.row->state == DeviceState::kNeverSeen) return;
  told_[device.id] = view.row->name;
  const auto line =
      lines_.Take(view.row->name, device.id, DescribeState(device.id, view), posix::NowMs());
  if (!line) return;
  tell_(device.id, view, *line);
  const std::lock_guard<std::mutex> lock(mutex_);
  next_write_ms_ = 0;  // `sotto status` knows it as soon as the log does
}

// If a state ends and comes again, the log has it again at once.
void ServedDevices::ForgetTold(const std::string& id) {
  const auto told = told_.find(id);
  if (told == told_.end()) return;
  const DeviceRecord* const device = Find(id);
  if (device != nullptr && Of(*device).row->name == told->second) return;
  lines_.End(told->second, id);
  told_.erase(told);
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

bool ServedDevices::IsDue(uint64_t now_ms) const {
  if (has_changed_) return now_ms >= next_write_ms_;
  return now_ms >= next_late_write_ms_ && now_ms < last_event_ms_ + kAfterEventMs;
}

void ServedDevices::Write(bool at_once) {
  DeviceStates states;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const uint64_t now_ms = posix::NowMs();
    if (!at_once && !IsDue(now_ms)) return;
    has_changed_ = false;
    next_write_ms_ = now_ms + kStatesMs;
    next_late_write_ms_ = now_ms + kLateMs;
    states = states_;
  }
  const double now = SecondsNow();
  std::string text = "{\"as_of\":" + JsonText(now) + ",\"devices\":[";
  const char* between = "";
  for (const DeviceRecord& device : *records_()) {  // as text, which is smaller than JSON's values
    text += between + JsonText(StateToJson(device, states.Of(device, now)));
    between = ",";
  }
  try {
    posix::ReplacePassingFile(file_, text + "]}\n");
  } catch (const std::exception&) {
    // For example a full disk, of which the store itself says more.
  }
}

}  // namespace sotto::server
