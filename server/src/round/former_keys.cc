#include "round/former_keys.h"

#include <utility>

namespace sotto::server {

FormerKeys::FormerKeys(std::vector<FormerKey> keys)
    : keys_(std::move(keys)), lock_(keys_.data(), keys_.size() * sizeof(FormerKey)) {
  // A device's keys stand in the order in which it got them.
  for (uint32_t index = 0; index < size(); ++index) {
    if (keys_[index].is_revoked) last_of_revoked_[keys_[index].id] = index;
  }
}

const FormerKey* FormerKeys::LastOfRevoked(const std::string& id) const {
  const auto found = last_of_revoked_.find(id);
  return found == last_of_revoked_.end() ? nullptr : &keys_[found->second];
}

}  // namespace sotto::server
