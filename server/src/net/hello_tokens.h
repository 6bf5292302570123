// Which device a ClientHello says that it comes from. Part of sotto::server/net.
//
// sotto/hello_token.h describes the token. A client that has none, or another device's, is a
// stranger as before. So is one that says a ClientHello again: anybody on the way can read one, and
// repeat it from the device's own address. The last kRememberedHellos of a device are remembered,
// four bytes of each, so a new one is taken for an old one with a probability below 2^-24.
//
// A token of a former key names no device: its connection is a stranger's like any other. It says
// under which key the handshake can succeed.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "round/devices.h"
#include "round/former_keys.h"
#include "sotto/span.h"

namespace sotto::server {

constexpr size_t kRememberedHellos = 256;  // of one device, since the server's start

// What finds keys by their tokens. It takes two derivations for each key, some 10 us: for a large
// fleet no work of an event loop.
struct HelloHandles {
  std::vector<uint64_t> devices;                  // of those that were asked for
  std::unordered_map<uint64_t, uint32_t> former;  // to the index of a former key
};
//   former  null: none are asked for
// Throws std::runtime_error if a key cannot be derived. Any thread.
HelloHandles FindHandles(const DeviceRegistry& devices, const std::vector<uint32_t>& of,
                         const FormerKeys* former);

class HelloTokens {
 public:
  // Throws std::runtime_error if a key cannot be derived.
  explicit HelloTokens(SharedDevices devices);

  // The fleet has changed: DeviceRegistry::Changed() has made the registry from the present one.
  //   changed  indices of the devices that joined, left, or have another secret
  //   handles  HelloHandles::devices of those, of this registry
  void SetDevices(SharedDevices devices, const std::vector<uint32_t>& changed,
                  const std::vector<uint64_t>& handles);

  // The registry's index of the device whose token is in these bytes, which begin with a whole
  // ClientHello (CheckClientHello()); nothing if this ClientHello is remembered. They may be
  // anything else after their head.
  std::optional<uint32_t> Take(ByteSpan client_hello);

  // These are the former keys from now on.
  //   handles  HelloHandles::former of those
  void SetFormer(SharedFormerKeys former, std::unordered_map<uint64_t, uint32_t> handles);

  // The former key of which a token is in these bytes, as above, remembered or not; null: none.
  std::shared_ptr<const FormerKey> FormerIn(ByteSpan client_hello) const;

 private:
  // The first bytes of the randoms that a device has said.
  struct Randoms {
    std::vector<uint32_t> last;
    size_t oldest = 0;  // once there are kRememberedHellos
  };
  bool IsNew(uint32_t device, uint32_t random);

  SharedDevices devices_;
  std::unordered_map<uint64_t, uint32_t> by_handle_;  // the proofs are derived anew: no copies
  std::vector<uint64_t> handles_;                     // the keys of by_handle_, by device
  std::unordered_map<uint32_t, Randoms> said_;        // by device
  SharedFormerKeys former_ = std::make_shared<const FormerKeys>();
  std::unordered_map<uint64_t, uint32_t> former_by_handle_;
};

}  // namespace sotto::server
