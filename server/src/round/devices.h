// The registered devices: their names and secrets. Part of sotto::server/round.
#ifndef SOTTO_ROUND_DEVICES_H_
#define SOTTO_ROUND_DEVICES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sotto/crypto.h"
#include "sotto/posix/locked_memory.h"

namespace sotto::server {

// A device as the server knows it. The secret lets the server regenerate the device's dither.
struct Device {
  std::string id;  // see IsValidDeviceId()
  Key secret;
};

// Indices of things, found by a hash of what they are: a hash table of 8 bytes a slot, at most two
// thirds full.
class IndexTable {
 public:
  // The first index added under this hash for which is_it(index) holds, or kNone.
  template <class IsIt>
  uint32_t Find(uint32_t hash, const IsIt& is_it) const {
    for (size_t at = hash; !slots_.empty(); ++at) {
      const Slot& slot = slots_[at & (slots_.size() - 1)];
      if (slot.index == kNone || (slot.hash == hash && is_it(slot.index))) return slot.index;
    }
    return kNone;
  }
  void Add(uint32_t hash, uint32_t index);
  void Reserve(size_t count);

  static constexpr uint32_t kNone = 0xffffffff;

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t index = kNone;
  };

  void Put(const Slot& slot);

  std::vector<Slot> slots_;  // a power of two, or none
  size_t used_ = 0;
};

// All eligible devices, by index and by name. The registry is filled before the job starts. After
// that any thread may read it, and nothing changes it.
class DeviceRegistry {
 public:
  // Throws std::invalid_argument for an invalid name, a registered name, or a registered secret.
  // Two devices with one secret could encode two updates under one round key.
  void Register(Device device);

  // Makes room for so many devices: without it memory is moved as the registry grows.
  void Reserve(size_t devices);

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
  IndexTable by_id_;
  IndexTable by_secret_;
  posix::LockedMemory lock_;  // of devices_; destroyed first
};

}  // namespace sotto::server

#endif  // SOTTO_ROUND_DEVICES_H_
