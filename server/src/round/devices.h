// The registered devices: their names, secrets and owners. Part of sotto::server/round.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
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

// Indices of objects, found by a hash of their contents: a hash table of 8 bytes a slot, at most
// two thirds full.
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

// What has become of a device.
struct DeviceChange {
  enum class Kind { kAdded, kRevoked, kRotated, kOwned };
  Kind kind = Kind::kAdded;
  int64_t number = 0;      // see DeviceRegistry::NumberOf()
  Device device;           // the secret is the new one; of kRevoked and kOwned it is empty
  std::string owner = {};  // of kOwned: the new one
};

// The devices of a job, by index and by name. A registry is filled before anybody else has it.
// After that any thread may read it, and nothing changes it: when the fleet changes, Changed()
// makes another registry. An index stands for the same device in all of them.
class DeviceRegistry {
 public:
  // Throws std::invalid_argument for an invalid name, a registered name, or a registered secret.
  // Two devices with one secret could encode two updates under one round key.
  //   number  by which a store knows the device; absent: its index
  //   owner   whose data the device trains on: a label like a device's name; empty: it has none
  void Register(Device device, std::optional<int64_t> number = std::nullopt,
                const std::string& owner = "");

  // The registry after these changes, locked in memory as this one. A device that was revoked keeps
  // its index. A change of a device that the registry does not have, or has had already, changes
  // nothing. Throws as Register().
  std::shared_ptr<const DeviceRegistry> Changed(const std::vector<DeviceChange>& changes) const;

  // Makes room for this many devices: without it the registry moves memory as it grows.
  void Reserve(size_t devices);

  // Of all devices, revoked ones included.
  uint32_t size() const { return static_cast<uint32_t>(devices_.size()); }
  const Device& operator[](uint32_t index) const { return devices_[index]; }
  int64_t NumberOf(uint32_t index) const { return numbers_[index]; }

  // The same number, from 1, for all devices of an owner; kNoOwner: the device has none.
  static constexpr uint32_t kNoOwner = 0;
  uint32_t OwnerOf(uint32_t index) const { return owners_[index]; }
  bool has_owners() const { return !owner_numbers_.empty(); }

  // The devices that may take part: not revoked.
  uint32_t eligible() const { return size() - static_cast<uint32_t>(revoked_.size()); }
  bool IsEligible(uint32_t index) const { return revoked_.count(index) == 0; }

  // The indices of the devices at these positions, in [0, eligible()), among all eligible ones;
  // ascending if the positions are.
  std::vector<uint32_t> IndicesOf(std::vector<uint32_t> positions) const;

  // The reverse, of eligible devices. Ascending, as the indices are.
  std::vector<uint32_t> PositionsOf(std::vector<uint32_t> indices) const;

  // Locks the names and secrets in memory, if the system allows it, so that they reach no swap
  // space. Call it after the last Register(). The server keeps no other long-lived copy of a
  // secret.
  void Lock() { lock_ = posix::LockedMemory(devices_.data(), devices_.size() * sizeof(Device)); }
  bool is_locked() const { return lock_.is_locked(); }

  // The device's index, or size() if the name is unknown. Find() gives size() for a revoked device,
  // too.
  uint32_t IndexOf(const std::string& id) const;
  uint32_t Find(const std::string& id) const;

 private:
  void Exchange(uint32_t index, const Key& secret);
  uint32_t OwnerNumber(const std::string& owner);

  std::vector<Device> devices_;
  std::vector<int64_t> numbers_;
  std::vector<uint32_t> owners_;
  std::map<std::string, uint32_t> owner_numbers_;
  std::set<uint32_t> revoked_;
  IndexTable by_id_;
  IndexTable by_secret_;
  posix::LockedMemory lock_;  // of devices_; destroyed first
};

using SharedDevices = std::shared_ptr<const DeviceRegistry>;

// A registry that outlives all who share it.
inline SharedDevices Unowned(const DeviceRegistry& devices) {
  return {std::shared_ptr<const void>(), &devices};
}

bool IsSameSecret(const Key& a, const Key& b);

// Throws std::invalid_argument for a label that no owner can have.
void RequireValidOwner(const std::string& owner);

}  // namespace sotto::server
