// The registered devices. Part of sotto::server/round.
#ifndef SOTTO_ROUND_DEVICES_H_
#define SOTTO_ROUND_DEVICES_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sotto/crypto.h"

namespace sotto::server {

// A device as the server knows it. The secret lets the server regenerate the device's dither.
struct Device {
  std::string id;  // see IsValidDeviceId()
  Key secret;
};

// All eligible devices, by index and by name. Filled before the job starts, then only read, so any
// thread may read it.
class DeviceRegistry {
 public:
  // Throws std::invalid_argument for an invalid or known name, or a secret already in use: two
  // devices with one secret could encode two updates under one round key.
  void Register(Device device);

  uint32_t size() const { return static_cast<uint32_t>(devices_.size()); }
  const Device& operator[](uint32_t index) const { return devices_[index]; }

  // The device's index, or size() if the name is unknown.
  uint32_t Find(const std::string& id) const;

 private:
  std::vector<Device> devices_;
  std::unordered_map<std::string, uint32_t> by_id_;
  std::unordered_map<std::string, uint32_t> by_secret_digest_;
};

}  // namespace sotto::server

#endif  // SOTTO_ROUND_DEVICES_H_
