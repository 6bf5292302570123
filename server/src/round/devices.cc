#include "round/devices.h"

#include <stdexcept>

#include "sotto/keys.h"

namespace sotto::server {
namespace {

std::string Digest(const Key& secret) {
  Sha256 hash;
  uint8_t digest[kSha256Size] = {};
  if (hash.Update(secret.bytes) != Status::kOk || hash.Finish(digest) != Status::kOk) {
    throw std::runtime_error("registering a device: SHA-256 failed");
  }
  return {reinterpret_cast<const char*>(digest), sizeof(digest)};
}

}  // namespace

void DeviceRegistry::Register(Device device) {
  const ByteSpan name(reinterpret_cast<const uint8_t*>(device.id.data()), device.id.size());
  if (!IsValidDeviceId(name)) {
    throw std::invalid_argument("device name '" + device.id +
                                "': use 1 to 64 characters of A-Z a-z 0-9 . _ -");
  }
  const std::string digest = Digest(device.secret);
  if (by_id_.count(device.id) != 0) {
    throw std::invalid_argument("device " + device.id + " is registered already");
  }
  if (const auto other = by_secret_digest_.find(digest); other != by_secret_digest_.end()) {
    throw std::invalid_argument("devices " + devices_[other->second].id + " and " + device.id +
                                " have the same secret; provision each with its own");
  }
  by_id_[device.id] = size();
  by_secret_digest_[digest] = size();
  devices_.push_back(std::move(device));
}

uint32_t DeviceRegistry::Find(const std::string& id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? size() : found->second;
}

}  // namespace sotto::server
