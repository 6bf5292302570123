// Secrets that open nothing any more: a rotation has replaced them, or the device was revoked. Part
// of sotto::server/round.
//
// A server remembers them to tell a device with an old key from somebody who has none: a client
// that completes a handshake under one of them holds that key. The server then says why it closes,
// and serves nothing. Immutable once it is shared: any thread may read it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sotto/crypto.h"
#include "sotto/posix/locked_memory.h"

namespace sotto::server {

struct FormerKey {
  std::string id;  // of the device
  Key secret;
  bool is_revoked = false;  // the device was; else it has another key now
  int64_t since = 0;        // seconds since 1970; when the key was taken from the device
};

class FormerKeys {
 public:
  FormerKeys() = default;
  // Locks the keys in memory, if the system allows it.
  explicit FormerKeys(std::vector<FormerKey> keys);

  uint32_t size() const { return static_cast<uint32_t>(keys_.size()); }
  const FormerKey& operator[](uint32_t index) const { return keys_[index]; }

  // The last key of a revoked device; null if there is no such device.
  const FormerKey* LastOfRevoked(const std::string& id) const;

 private:
  std::vector<FormerKey> keys_;
  std::unordered_map<std::string, uint32_t> last_of_revoked_;
  posix::LockedMemory lock_;  // of keys_; destroyed first
};

using SharedFormerKeys = std::shared_ptr<const FormerKeys>;

}  // namespace sotto::server
