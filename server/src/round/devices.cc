#include "round/devices.h"

#include <algorithm>
#include <stdexcept>

#include "sotto/bytes.h"
#include "sotto/keys.h"

namespace sotto::server {
namespace {

// The beginning of a SHA-256, so that no choice of names makes a table slow.
uint32_t HashOf(ByteSpan bytes) {
  Sha256 hash;
  uint8_t digest[kSha256Size] = {};
  if (hash.Update(bytes) != Status::kOk || hash.Finish(digest) != Status::kOk) {
    throw std::runtime_error("registering a device: SHA-256 failed");
  }
  return LoadU32Le(digest);
}

ByteSpan BytesOf(const std::string& id) {
  return {reinterpret_cast<const uint8_t*>(id.data()), id.size()};
}

bool IsSameSecret(const Key& a, const Key& b) {
  return std::equal(std::begin(a.bytes), std::end(a.bytes), std::begin(b.bytes));
}

}  // namespace

void IndexTable::Put(const Slot& slot) {
  size_t at = slot.hash;
  while (slots_[at & (slots_.size() - 1)].index != kNone) ++at;
  slots_[at & (slots_.size() - 1)] = slot;
}

void IndexTable::Reserve(size_t count) {
  size_t size = std::max<size_t>(slots_.size(), 16);
  while (3 * count > 2 * size) size *= 2;
  if (size == slots_.size()) return;
  std::vector<Slot> old(size);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.index != kNone) Put(slot);
  }
}

void IndexTable::Add(uint32_t hash, uint32_t index) {
  Reserve(used_ + 1);
  Put({hash, index});
  ++used_;
}

void DeviceRegistry::Reserve(size_t devices) {
  devices_.reserve(devices);
  by_id_.Reserve(devices);
  by_secret_.Reserve(devices);
}

void DeviceRegistry::Register(Device device) {
  if (!IsValidDeviceId(BytesOf(device.id))) {
    throw std::invalid_argument("device name '" + device.id +
                                "': use 1 to 64 characters of A-Z a-z 0-9 . _ -");
  }
  const uint32_t id_hash = HashOf(BytesOf(device.id));
  const uint32_t secret_hash = HashOf(device.secret.bytes);
  if (Find(device.id) != size()) {
    throw std::invalid_argument("device " + device.id + " is registered already");
  }
  const uint32_t other = by_secret_.Find(secret_hash, [&](uint32_t index) {
    return IsSameSecret(devices_[index].secret, device.secret);
  });
  if (other != IndexTable::kNone) {
    throw std::invalid_argument("devices " + devices_[other].id + " and " + device.id +
                                " have the same secret; provision each with its own");
  }
  by_id_.Add(id_hash, size());
  by_secret_.Add(secret_hash, size());
  devices_.push_back(std::move(device));
}

uint32_t DeviceRegistry::Find(const std::string& id) const {
  const uint32_t found =
      by_id_.Find(HashOf(BytesOf(id)), [&](uint32_t index) { return devices_[index].id == id; });
  return found == IndexTable::kNone ? size() : found;
}

}  // namespace sotto::server
