// The states of the devices of a running server: for its page, its metrics, its log, and for
// `sotto status --devices`, which reads them from a file beside the store. Part of
// sotto::server/service.
//
// The file holds names, times and addresses of devices, so only its owner may read it. It stays
// when the server ends. The next start takes from it when each device was last seen, and nothing
// else.
//
// On...() belong to the event loop's thread, Write() to the server's pool; the rest is safe from
// any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "net/rates.h"
#include "views/device_states.h"

namespace sotto::server {

using SharedRecords = std::shared_ptr<const std::vector<DeviceRecord>>;

// The file of a store's states.
std::string DeviceStatesFile(const std::string& store);

// What `sotto status --devices` has: {"as_of", "devices": [StateToJson(), "turns_used",
// "turns_left"]}. A device that the file does not know, or a file that there is not, is as the
// store alone knows it. "as_of" is null without a file, and the turns outside a job of passes.
nlohmann::ordered_json ReadDeviceStates(const std::string& store,
                                        const std::vector<DeviceRecord>& devices,
                                        const JobTurns& turns);

// The same for people; empty for null.
std::string DescribeDeviceStates(const nlohmann::ordered_json& states, bool server_runs);

class ServedDevices {
 public:
  //   records  every device of the store, as it was last looked at; never null
  //   tell     takes a line about a device, limited by its reason
  ServedDevices(
      std::string store, std::function<SharedRecords()> records,
      std::function<void(const std::string& id, const DeviceView& view, const std::string& line)>
          tell);

  void OnDevice(const std::string& id, bool is_connected, uint64_t silent_ms = 0);
  void OnSign(const DeviceSign& sign);
  void OnRound();
  void OnJob();
  // From any thread. Indices of devices that joined, left, or have another key.
  void OnChange(const std::vector<uint32_t>& changed, const DeviceRegistry& devices);

  DeviceView Of(const DeviceRecord& device) const;
  // How many devices are in each state.
  std::map<std::string, uint64_t> Counts() const;

  // Writes the file if it is due, or now. A failure is no warning: the states are also elsewhere.
  void Write(bool now = false);

 private:
  const DeviceRecord* Find(const std::string& id);
  void Tell(const DeviceRecord& device);
  void ForgetTold(const std::string& id);
  void OnEvent(bool is_change);
  bool IsDue(uint64_t now_ms) const;

  const std::string file_;
  const std::function<SharedRecords()> records_;
  const std::function<void(const std::string&, const DeviceView&, const std::string&)> tell_;
  LimitedLines lines_;
  std::unordered_map<std::string, const char*> told_;  // the state that the log named last
  SharedRecords told_of_;                              // the records of by_name_
  std::unordered_map<std::string, size_t> by_name_;
  mutable std::mutex mutex_;  // guards the members below
  DeviceStates states_;
  bool has_changed_ = true;  // since the last write, by more than when a device was last seen
  uint64_t last_event_ms_ = 0;
  uint64_t next_write_ms_ = 0;       // of a change
  uint64_t next_late_write_ms_ = 0;  // of the rest: such as a state that ends by itself
};

}  // namespace sotto::server
