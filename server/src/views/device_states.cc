#include "views/device_states.h"

#include <algorithm>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <iterator>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "sotto/posix/terminal.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLatelySeconds = 600;
// Two machines that are alive meet more often (net/signs.cc), however long one of them trains.
constexpr double kMeetSeconds = 180;
// One takeover may be a close that was long on its way. Three in a row are two machines.
constexpr uint64_t kTakeoversOfTwo = 3;

constexpr bool AreInOrder() {
  for (size_t i = 0; i < std::size(kDeviceStates); ++i) {
    if (kDeviceStates[i].state != static_cast<DeviceState>(i)) return false;
  }
  return true;
}
static_assert(AreInOrder());

std::string Times(uint64_t count) { return Counted(static_cast<int64_t>(count), "time"); }

}  // namespace

std::string UtcText(double seconds) {
  return fmt::format("{:%F %T}Z", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

const char* Name(Severity severity) {
  constexpr const char* kNames[] = {"ok", "notice", "warning"};
  return kNames[static_cast<size_t>(severity)];
}

void DeviceStates::Tries::Add(const DeviceSign& sign, bool is_away, double now) {
  if (now - last > kLatelySeconds) {
    count = 0;
    first = now;
  }
  ++count;
  while_away = is_away;
  last = now;
  from = sign.from;
  other = sign.other;
}

void DeviceStates::Fault::Set(const std::string& what, double now) {
  if (text.empty()) since = now;
  text = what;
}

void DeviceStates::Act(Seen& seen, DeviceState activity, uint32_t round, double now) const {
  if (seen.activity != activity || seen.round != round) seen.activity_since = now;
  seen.activity = activity;
  seen.round = round;
  seen.activities_before = activities_;
}

void DeviceStates::OnJob() {
  ++activities_;
  for (auto& [id, seen] : seen_) {
    seen.model = seen.lacks = Fault();
    seen.late = 0;
    if (seen.activity != DeviceState::kTraining) continue;
    seen.activity = DeviceState::kWaiting;  // a round of another job is no state of this one
    seen.round = 0;
  }
}

void DeviceStates::OnDevice(const std::string& id, bool is_connected, double now, double silent_s) {
  Seen& seen = seen_[id];
  if (is_connected) {
    if (seen.activity == DeviceState::kNeverSeen) Act(seen, DeviceState::kWaiting, 0, now);
    if (!seen.connected && seen.activity == DeviceState::kWaiting) seen.activity_since = now;
    seen.former = Tries();  // the device has its key
    seen.claims = Tries();
  }
  seen.connected = is_connected;
  seen.last_seen = std::max(seen.last_seen, now - silent_s);
  seen.rounds_before = rounds_;
}

bool DeviceStates::OnSign(const DeviceSign& sign, double now) {
  using Kind = DeviceSign::Kind;
  Seen& seen = seen_[sign.id];
  const bool is_known_to_be_it =
      sign.kind != Kind::kFormerKey && sign.kind != Kind::kClaim && sign.kind != Kind::kTakeover;
  if (is_known_to_be_it) seen.last_seen = now;
  const DeviceState before = seen.activity;
  bool changes = true;
  switch (sign.kind) {
    case Kind::kFormerKey:
      seen.former.Add(sign, !seen.connected, now);
      return true;
    case Kind::kClaim:
      seen.claims.Add(sign, !seen.connected, now);
      return true;
    case Kind::kTakeover:
      seen.takeovers.Add(sign, !seen.connected, now);
      return true;
    case Kind::kOtherModel:
      seen.model.Set(sign.text, now);
      return true;
    case Kind::kLacks:
      seen.lacks.Set(sign.text, now);
      return true;
    case Kind::kLate:
      if (seen.late++ == 0) seen.late_since = now;
      seen.last_late = sign;
      return true;
    case Kind::kUploaded:
      seen.late = 0;
      Act(seen, DeviceState::kUploaded, sign.round, now);
      break;
    case Kind::kTrains:
      Act(seen, DeviceState::kTraining, sign.round, now);
      break;
    case Kind::kWaits:
      // It asks again after its update, too.
      if (seen.activity != DeviceState::kUploaded || IsOver(seen)) {
        Act(seen, DeviceState::kWaiting, 0, now);
      }
      changes = seen.activity != before || !seen.model.text.empty() || !seen.lacks.text.empty();
      break;
  }
  seen.model = seen.lacks = Fault();
  return changes;
}

// What shuts a device out comes before what it does, and before what others do in its name.
DeviceState DeviceStates::StateOf(const DeviceRecord& device, const Seen& seen, double now) const {
  if (!device.is_eligible()) return DeviceState::kRevoked;
  const bool are_two =
      seen.takeovers.count >= kTakeoversOfTwo && now - seen.takeovers.last <= kMeetSeconds;
  if (are_two) return DeviceState::kTwoMachines;
  // The device itself until it has come; after that somebody else, while they try.
  const bool has_old_key =
      seen.former.count > 0 && (seen.former.while_away || now - seen.former.last <= kLatelySeconds);
  if (has_old_key) return DeviceState::kOldKey;
  if (!seen.model.text.empty()) return DeviceState::kOtherModel;
  if (!seen.lacks.text.empty()) return DeviceState::kLacksFeature;
  if (seen.late > 0) return DeviceState::kTooSlow;
  if (seen.claims.count > 0 && !seen.connected) return DeviceState::kClaimed;
  if (seen.last_seen == 0) return DeviceState::kNeverSeen;
  const bool is_over = IsOver(seen);
  if (seen.connected) {
    const bool waits = is_over && seen.activity == DeviceState::kUploaded;
    return waits ? DeviceState::kWaiting : seen.activity;
  }
  if (RoundsSilent(seen) > 0) return DeviceState::kSilent;
  const bool is_in_round =
      seen.activity == DeviceState::kTraining || seen.activity == DeviceState::kUploaded;
  return is_in_round && !is_over ? seen.activity : DeviceState::kAway;
}

const DeviceStates::Seen& DeviceStates::SeenOf(const DeviceRecord& device) const {
  static const Seen kNever;
  const auto found = seen_.find(device.id);
  return found == seen_.end() ? kNever : found->second;
}

const DeviceStateRow& DeviceStates::RowOf(const DeviceRecord& device, double now) const {
  return kDeviceStates[static_cast<size_t>(StateOf(device, SeenOf(device), now))];
}

DeviceView DeviceStates::Of(const DeviceRecord& device, double now) const {
  const Seen& seen = SeenOf(device);
  const DeviceState state = StateOf(device, seen, now);
  DeviceView view;
  view.row = &kDeviceStates[static_cast<size_t>(state)];
  view.since = seen.activity_since;
  view.text = view.row->meaning;
  view.connected = seen.connected;
  view.last_seen = seen.last_seen;
  view.rounds_silent = RoundsSilent(seen);
  view.claims = seen.claims.count;
  const auto tried = [&](const Tries& tries) {
    return fmt::format("{}, last from {}", Times(tries.count), tries.from);
  };
  const auto last_seen = [&] { return UtcText(seen.last_seen); };
  switch (state) {
    case DeviceState::kNeverSeen:
    case DeviceState::kWaiting:
      break;
    case DeviceState::kTraining:
      view.text = fmt::format(
          "drawn for round {}, {}{}", seen.round + 1,
          IsOver(seen) ? "and has not asked again since that attempt ended" : "and has the task",
          seen.connected ? "" : "; not connected since " + last_seen());
      break;
    case DeviceState::kUploaded:
      view.text = fmt::format("its update of round {} is there", seen.round + 1);
      break;
    case DeviceState::kAway:
      view.since = seen.last_seen;
      view.text = fmt::format(
          "not connected{}, last seen {}",
          seen.activity == DeviceState::kNeverSeen ? " since this start of the server" : "",
          last_seen());
      break;
    case DeviceState::kSilent:
      view.since = seen.last_seen;
      view.text =
          fmt::format("not connected for {}, last seen {}",
                      Counted(static_cast<int64_t>(view.rounds_silent), "round"), last_seen());
      break;
    case DeviceState::kTooSlow:
      view.since = seen.late_since;
      view.text =
          fmt::format("its update of round {} came {:.1f} s after the deadline, {} in a row",
                      seen.last_late.round + 1, 1e-3 * static_cast<double>(seen.last_late.late_ms),
                      Times(seen.late));
      break;
    case DeviceState::kLacksFeature:
      view.since = seen.lacks.since;
      view.text = fmt::format("told to wait, it lacks {}", seen.lacks.text);
      break;
    case DeviceState::kOtherModel:
      view.since = seen.model.since;
      view.text = fmt::format("refused, {}", posix::Printable(seen.model.text));
      break;
    case DeviceState::kClaimed:
      view.since = seen.claims.first;
      view.text =
          fmt::format("somebody without its key connected in its name {}", tried(seen.claims));
      break;
    case DeviceState::kTwoMachines:
      view.since = seen.takeovers.first;
      view.text =
          fmt::format("two machines have its key and push each other out, at {} and {}, {}",
                      seen.takeovers.from, seen.takeovers.other, Times(seen.takeovers.count));
      break;
    case DeviceState::kOldKey:
      view.since = seen.former.first;
      view.text =
          fmt::format("somebody with a key that was replaced connected {}", tried(seen.former));
      break;
    case DeviceState::kRevoked:
      view.since = static_cast<double>(*device.revoked);
      view.text = "revoked " + UtcText(view.since);
      if (seen.former.count > 0) {
        view.text += fmt::format("; somebody with its key connected {}", tried(seen.former));
      }
      break;
  }
  return view;
}

std::string DescribeState(const std::string& id, const DeviceView& view) {
  const std::string todo = view.row->todo;
  return fmt::format("{}: {}{}{}", id, view.text, todo.empty() ? "" : "; ", todo);
}

Json StateToJson(const DeviceRecord& device, const DeviceView& view) {
  const auto known = [](double time) { return time == 0 ? Json(nullptr) : Json(time); };
  return {{"id", device.id},
          {"owner", device.owner.empty() ? Json(nullptr) : Json(device.owner)},
          {"state", view.row->name},
          {"severity", Name(view.row->severity)},
          {"since", known(view.since)},
          {"text", view.text},
          {"todo", view.row->todo},
          {"connected", view.connected},
          {"last_seen", known(view.last_seen)},
          {"rounds_silent", view.rounds_silent},
          {"claims", view.claims}};
}

void AddTurns(const DeviceTurns* turns, Json* device) {
  (*device)["turns_used"] = turns == nullptr ? Json(nullptr) : Json(turns->used);
  (*device)["turns_left"] = turns == nullptr ? Json(nullptr) : Json(turns->left);
}

std::string DescribeStates(const Json& devices) {
  std::vector<Json> sorted(devices.begin(), devices.end());
  const auto rank = [](const Json& device) {
    const std::string severity = device["severity"];
    return severity == "warning" ? 0 : severity == "notice" ? 1 : 2;
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const Json& a, const Json& b) { return rank(a) < rank(b); });
  std::string text;
  for (const Json& device : sorted) {
    const std::string todo = device["todo"];
    const Json left = device.value("turns_left", Json());
    text += fmt::format("  {:<13} {}: {}{}{}{}\n", device["state"].get<std::string>(),
                        device["id"].get<std::string>(), device["text"].get<std::string>(),
                        left.is_null() ? ""
                                       : fmt::format("; turns used {}, left {}",
                                                     device["turns_used"].dump(), left.dump()),
                        todo.empty() ? "" : "; ", todo);
  }
  return text;
}

}  // namespace sotto::server
