#include "round/devices.h"

#include <algorithm>
#include <stdexcept>

#include "base/bytes.h"
#include "sotto/bytes.h"
#include "sotto/keys.h"

namespace sotto::server {
namespace {

// The beginning of a SHA-256, so that no choice of names makes a table slow.
uint32_t HashOf(ByteSpan bytes) {
  uint8_t digest[kSha256Size] = {};
  if (Sha256Digest(bytes, digest) != Status::kOk) {
    throw std::runtime_error("registering a device: SHA-256 failed");
  }
  return LoadU32Le(digest);
}

}  // namespace

bool IsSameSecret(const Key& a, const Key& b) {
  return std::equal(std::begin(a.bytes), std::end(a.bytes), std::begin(b.bytes));
}

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

void RequireValidOwner(const std::string& owner) {
  if (IsValidDeviceId(BytesOf(owner))) return;
  throw std::invalid_argument("owner '" + owner + "': use 1 to 64 characters of A-Z a-z 0-9 . _ -");
}

void DeviceRegistry::Register(Device device, std::optional<int64_t> number,
                              const std::string& owner) {
  if (!IsValidDeviceId(BytesOf(device.id))) {
    throw std::invalid_argument("device name '" + device.id +
                                "': use 1 to 64 characters of A-Z a-z 0-9 . _ -");
  }
  const uint32_t id_hash = HashOf(BytesOf(device.id));
  const uint32_t secret_hash = HashOf(device.secret.bytes);
  if (IndexOf(device.id) != size()) {
    throw std::invalid_argument("device " + device.id + " is registered already");
  }
  const uint32_t other = by_secret_.Find(secret_hash, [&](uint32_t index) {
    return IsSameSecret(devices_[index].secret, device.secret);
  });
  if (other != IndexTable::kNone) {
    throw std::invalid_argument("devices " + devices_[other].id + " and " + device.id +
                                " have the same secret; provision each with its own");
  }
  owners_.push_back(OwnerNumber(owner));
  by_id_.Add(id_hash, size());
  by_secret_.Add(secret_hash, size());
  numbers_.push_back(number.value_or(int64_t{size()}));
  devices_.push_back(std::move(device));
}

std::shared_ptr<const DeviceRegistry> DeviceRegistry::Changed(
    const std::vector<DeviceChange>& changes) const {
  auto changed = std::make_shared<DeviceRegistry>();
  changed->Reserve(devices_.size() + changes.size());
  changed->devices_.insert(changed->devices_.end(), devices_.begin(), devices_.end());
  changed->numbers_ = numbers_;
  changed->owners_ = owners_;
  changed->owner_numbers_ = owner_numbers_;
  changed->revoked_ = revoked_;
  changed->by_id_ = by_id_;
  changed->by_secret_ = by_secret_;
  for (const DeviceChange& change : changes) {
    const uint32_t index = changed->IndexOf(change.device.id);
    const bool is_there = index != changed->size();
    switch (change.kind) {
      case DeviceChange::Kind::kAdded:
        if (!is_there) changed->Register(change.device, change.number);
        break;
      case DeviceChange::Kind::kRevoked:
        if (is_there) changed->revoked_.insert(index);
        break;
      case DeviceChange::Kind::kRotated:
        if (is_there) changed->Exchange(index, change.device.secret);
        break;
      case DeviceChange::Kind::kOwned:
        if (is_there) changed->owners_[index] = changed->OwnerNumber(change.owner);
        break;
    }
  }
  if (is_locked()) changed->Lock();
  return changed;
}

void DeviceRegistry::Exchange(uint32_t index, const Key& secret) {
  devices_[index].secret = secret;
  by_secret_.Add(HashOf(secret.bytes), index);
}

uint32_t DeviceRegistry::OwnerNumber(const std::string& owner) {
  if (owner.empty()) return kNoOwner;
  RequireValidOwner(owner);
  const auto next = static_cast<uint32_t>(owner_numbers_.size() + 1);
  return owner_numbers_.emplace(owner, next).first->second;
}

std::vector<uint32_t> DeviceRegistry::IndicesOf(std::vector<uint32_t> positions) const {
  if (revoked_.empty()) return positions;
  std::sort(positions.begin(), positions.end());
  // Each revoked device in front of a position moves it by one.
  auto revoked = revoked_.begin();
  uint32_t skipped = 0;
  for (uint32_t& position : positions) {
    for (; revoked != revoked_.end() && *revoked <= position + skipped; ++revoked) ++skipped;
    position += skipped;
  }
  return positions;
}

std::vector<uint32_t> DeviceRegistry::PositionsOf(std::vector<uint32_t> indices) const {
  auto revoked = revoked_.begin();
  uint32_t skipped = 0;
  for (uint32_t& index : indices) {
    for (; revoked != revoked_.end() && *revoked < index; ++revoked) ++skipped;
    index -= skipped;
  }
  return indices;
}

uint32_t DeviceRegistry::Find(const std::string& id) const {
  const uint32_t found = IndexOf(id);
  return found == size() || IsEligible(found) ? found : size();
}

uint32_t DeviceRegistry::IndexOf(const std::string& id) const {
  const uint32_t found =
      by_id_.Find(HashOf(BytesOf(id)), [&](uint32_t index) { return devices_[index].id == id; });
  return found == IndexTable::kNone ? size() : found;
}

}  // namespace sotto::server
