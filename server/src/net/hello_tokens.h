// Which device a ClientHello says that it comes from. Part of sotto::server/net.
//
// sotto/hello_token.h describes the token. Whoever has none, or another's, is a stranger as before.
//
// After the constructor any thread may read it.
#ifndef SOTTO_NET_HELLO_TOKENS_H_
#define SOTTO_NET_HELLO_TOKENS_H_

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "round/devices.h"
#include "sotto/span.h"

namespace sotto::server {

class HelloTokens {
 public:
  // The registry must outlive this object and stay as it is. Throws std::runtime_error if a key
  // cannot be derived.
  explicit HelloTokens(const DeviceRegistry& devices);

  // The registry's index of the device whose token is in these bytes, which begin with a whole
  // ClientHello (CheckClientHello()). They may be anything else after their head.
  std::optional<uint32_t> DeviceOf(ByteSpan client_hello) const;

 private:
  const DeviceRegistry& devices_;
  std::unordered_map<uint64_t, uint32_t> by_handle_;  // the proofs are derived anew: no copies
};

}  // namespace sotto::server

#endif  // SOTTO_NET_HELLO_TOKENS_H_
