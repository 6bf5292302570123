// Which device a ClientHello says that it comes from. Part of sotto::server/net.
//
// sotto/hello_token.h describes the token. Whoever has none, or another's, is a stranger as before.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "round/devices.h"
#include "sotto/span.h"

namespace sotto::server {

class HelloTokens {
 public:
  // Throws std::runtime_error if a key cannot be derived.
  explicit HelloTokens(SharedDevices devices);

  // The fleet has changed: DeviceRegistry::Changed() has made the registry from the present one.
  //   changed  indices of the devices that joined, left, or have another secret
  void SetDevices(SharedDevices devices, const std::vector<uint32_t>& changed);

  // The registry's index of the device whose token is in these bytes, which begin with a whole
  // ClientHello (CheckClientHello()). They may be anything else after their head.
  std::optional<uint32_t> DeviceOf(ByteSpan client_hello) const;

 private:
  SharedDevices devices_;
  std::unordered_map<uint64_t, uint32_t> by_handle_;  // the proofs are derived anew: no copies
};

}  // namespace sotto::server
