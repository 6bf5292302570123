// What a device of the fleet is about, for its operator: one state each, from one table. Part of
// sotto::server/views.
//
// The states tell who took part, so nobody but the operator sees them, and nothing of them decides
// whom a job asks. They are of this start of the server, but for when a device was last seen. A
// name is no proof: what a stranger does in a device's name makes it `claimed` at most, and only
// while the device itself is away.
//
// SERVE.md has the table for people, and a test compares them. To add a state: a row, where
// DeviceStates::Of() chooses it, the page's row.
//
// One thread at a time; the caller has the clock, in seconds since 1970.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include <nlohmann/json_fwd.hpp>

#include "net/server.h"
#include "store/records.h"

namespace sotto::server {

enum class DeviceState : uint8_t {
  kNeverSeen,
  kWaiting,
  kTraining,
  kUploaded,
  kAway,
  kSilent,
  kTooSlow,
  kLacksFeature,
  kOtherModel,
  kClaimed,
  kTwoMachines,
  kOldKey,
  kRevoked,
};

enum class Severity : uint8_t { kOk, kNotice, kWarning };

const char* Name(Severity severity);

struct DeviceStateRow {
  DeviceState state;
  const char* name;
  Severity severity;
  const char* meaning;
  const char* todo;  // empty: nothing
};

// In the order of the enumeration.
inline constexpr DeviceStateRow kDeviceStates[] = {
    {DeviceState::kNeverSeen, "never-seen", Severity::kNotice, "it has not connected",
     "start it, and read its own log; `sotto-client --check` there says what is wrong"},
    {DeviceState::kWaiting, "waiting", Severity::kOk, "it waits to be drawn", ""},
    {DeviceState::kTraining, "training", Severity::kOk, "it was drawn and has the task", ""},
    {DeviceState::kUploaded, "uploaded", Severity::kOk, "its update is there", ""},
    {DeviceState::kAway, "away", Severity::kOk,
     "it is not connected, and no round has missed it yet", ""},
    {DeviceState::kSilent, "silent", Severity::kNotice, "it has not been connected for some rounds",
     "look whether it runs and reaches this server"},
    {DeviceState::kTooSlow, "too-slow", Severity::kWarning, "its update came after the deadline",
     "give the next job a longer --round-timeout, or this device fewer samples or less other work"},
    {DeviceState::kLacksFeature, "lacks-feature", Severity::kWarning,
     "it cannot do what the job asks for, so it waits",
     "update its program, or begin a job that asks for less"},
    {DeviceState::kOtherModel, "other-model", Severity::kWarning,
     "its model is not the job's, so it is refused",
     "start it with that model, or let it take the job's: accept-model in its kit, --accept-model"},
    {DeviceState::kClaimed, "claimed", Severity::kNotice,
     "somebody without its key connected in its name while it was away",
     "bring it its key (`sotto keys export`) if it was the device itself; nobody gets in without "
     "it"},
    {DeviceState::kTwoMachines, "two-machines", Severity::kWarning,
     "two machines have its key and push each other out",
     "stop one of them and give it another key (`sotto keys new`): a copied disk has the "
     "key, too"},
    {DeviceState::kOldKey, "old-key", Severity::kWarning,
     "somebody connected with a key that a rotation has replaced",
     "bring it its new key (`sotto keys export`); if the device itself has that, somebody else has "
     "the old one"},
    {DeviceState::kRevoked, "revoked", Severity::kNotice, "it never takes part again", ""},
};

// Of one device now.
struct DeviceView {
  const DeviceStateRow* row = nullptr;
  double since = 0;  // of the state; 0: not known
  std::string text;  // for people, in one line
  bool connected = false;
  double last_seen = 0;        // 0: never
  uint64_t rounds_silent = 0;  // published while it was not connected
  uint64_t claims = 0;         // failed handshakes in its name
};

class DeviceStates {
 public:
  //   silent_s  how long ago it was last heard
  void OnDevice(const std::string& id, bool is_connected, double now, double silent_s = 0);
  // Returns whether it says more than that the device is still there.
  bool OnSign(const DeviceSign& sign, double now);
  // An attempt was published.
  void OnRound() { ++rounds_, ++activities_; }
  // A job begins or is over: what it asked of devices is asked no more.
  void OnJob();
  // An earlier start of the server saw it last at this time.
  void OnEarlier(const std::string& id, double last_seen) { seen_[id].last_seen = last_seen; }
  // It has another key now: the use of the former key says nothing about the device.
  void OnNewKey(const std::string& id) { seen_[id].takeovers = Tries(); }

  DeviceView Of(const DeviceRecord& device, double now) const;
  const DeviceStateRow& RowOf(const DeviceRecord& device, double now) const;

 private:
  // Tries of the same kind, lately.
  struct Tries {
    uint64_t count = 0;
    bool while_away = false;  // the last one: the device was not connected
    double first = 0;
    double last = 0;
    std::string from;
    std::string other;

    void Add(const DeviceSign& sign, bool is_away, double now);
  };
  struct Fault {
    std::string text;  // empty: there is none
    double since = 0;

    void Set(const std::string& what, double now);
  };
  struct Seen {
    bool connected = false;
    double last_seen = 0;
    uint64_t rounds_before = 0;  // published when it was last connected
    DeviceState activity = DeviceState::kNeverSeen;
    double activity_since = 0;
    uint32_t round = 0;              // of the activity, from 0
    uint64_t activities_before = 0;  // activities_ when it began
    Fault model, lacks;
    uint64_t late = 0;  // updates, in a row
    DeviceSign last_late;
    double late_since = 0;
    Tries former, claims, takeovers;
  };

  void Act(Seen& seen, DeviceState activity, uint32_t round, double now) const;
  const Seen& SeenOf(const DeviceRecord& device) const;
  DeviceState StateOf(const DeviceRecord& device, const Seen& seen, double now) const;
  bool IsOver(const Seen& seen) const { return seen.activities_before != activities_; }
  uint64_t RoundsSilent(const Seen& seen) const {
    return seen.connected ? 0 : rounds_ - seen.rounds_before;
  }

  std::unordered_map<std::string, Seen> seen_;
  uint64_t rounds_ = 0;
  uint64_t activities_ = 0;  // attempts and jobs that ended
};

// A line for the log: the device, its state and what to do.
std::string DescribeState(const std::string& id, const DeviceView& view);

// {"id", "owner", "state", "severity", "since", "text", "todo", "connected", "last_seen",
//  "rounds_silent", "claims"}; null where nothing is known.
nlohmann::ordered_json StateToJson(const DeviceRecord& device, const DeviceView& view);

// Adds {"turns_used", "turns_left"} to a device's object; null: it has no turns.
void AddTurns(const DeviceTurns* turns, nlohmann::ordered_json* device);

// "2026-11-23 16:40:40Z"
std::string UtcText(double seconds);

// A table of such devices for people: those with something to do first, then by name.
std::string DescribeStates(const nlohmann::ordered_json& devices);

}  // namespace sotto::server
