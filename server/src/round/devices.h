// The registered devices: their names and secrets. Part of sotto::server/round.
#ifndef SOTTO_ROUND_DEVICES_H_
#define SOTTO_ROUND_DEVICES_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sotto/crypto.h"
#include "sotto/posix/locked_memory.h"

namespace sotto::server {

// A device as the server knows it. The secret lets the server regenerate the device's dither.
struct Device {
  std::string id;  // see IsValidDeviceId()
  Key secret;
};

// All eligible devices, by index and by name. The registry is filled before the job starts. After
// that any thread may read it, and nothing changes it.
class DeviceRegistry {
 public:
  // Throws std::invalid_argument for an invalid name, a registered name, or a registered secret.
  // Two devices with one secret could encode two updates under one round key.
  void Register(Device device);

  uint32_t size() const { return static_cast<uint32_t>(devices_.size()); }
  const Device& operator[](uint32_t index) const { return devices_[index]; }

  // Locks the names and secrets in memory, if the system allows it, so that they reach no swap
  // space. Call it after the last Register(). The server keeps no other long-lived copy of a
  // secret.
  void Lock() { lock_ = posix::LockedMemory(devices_.data(), devices_.size() * sizeof(Device)); }
  bool is_locked() const { return lock_.is_locked(); }

  // The device's index, or size() if the name is unknown.
  uint32_t Find(const std::string& id) const;

 private:
  std::vector<Device> devices_;
  std::unordered_map<std::string, uint32_t> by_id_;
  std::unordered_map<std::string, uint32_t> by_secret_digest_;
  posix::LockedMemory lock_;  // of devices_; destroyed first
};

}  // namespace sotto::server

#endif  // SOTTO_ROUND_DEVICES_H_
