#include "net/hello_tokens.h"

#include <cstring>

#include "net/client_hello.h"
#include "sotto/bytes.h"
#include "sotto/hello_token.h"
#include "sotto/keys.h"
#include "sotto/posix/check.h"

namespace sotto::server {
namespace {

uint64_t HandleOf(const HelloToken& token) {
  uint64_t handle = 0;
  std::memcpy(&handle, token.handle, sizeof(handle));
  return handle;
}

HelloToken TokenOf(const Device& device) {
  Key psk;
  HelloToken token;
  posix::Check(DeriveTlsKey(device.secret, &psk), "a device's TLS key");
  posix::Check(DeriveHelloToken(psk, &token), "a device's token");
  return token;
}

// The value of a lower-case hexadecimal digit; 16: it is none.
unsigned ValueOf(uint8_t digit) {
  if (digit >= '0' && digit <= '9') return digit - unsigned{'0'};
  return digit >= 'a' && digit <= 'f' ? digit - unsigned{'a'} + 10 : 16;
}

bool FromDigits(ByteSpan digits, HelloToken* token) {
  uint8_t bytes[sizeof(HelloToken)];
  if (digits.size() != 2 * sizeof(bytes)) return false;
  for (size_t i = 0; i < sizeof(bytes); ++i) {
    const unsigned high = ValueOf(digits[2 * i]);
    const unsigned low = ValueOf(digits[2 * i + 1]);
    if (high > 15 || low > 15) return false;
    bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  std::memcpy(token, bytes, sizeof(bytes));
  return true;
}

}  // namespace

HelloTokens::HelloTokens(SharedDevices devices) : devices_(std::move(devices)) {
  for (uint32_t device = 0; device < devices_->size(); ++device) {
    by_handle_.emplace(HandleOf(TokenOf((*devices_)[device])), device);
  }
}

void HelloTokens::SetDevices(SharedDevices devices, const std::vector<uint32_t>& changed) {
  for (const uint32_t device : changed) {
    if (device < devices_->size()) by_handle_.erase(HandleOf(TokenOf((*devices_)[device])));
    if (!devices->IsEligible(device)) continue;
    by_handle_.emplace(HandleOf(TokenOf((*devices)[device])), device);
  }
  devices_ = std::move(devices);
}

std::optional<uint32_t> HelloTokens::DeviceOf(ByteSpan client_hello) const {
  HelloToken token;
  if (!FromDigits(FindProtocol(client_hello, kHelloTokenPrefix), &token)) return {};
  const auto found = by_handle_.find(HandleOf(token));
  if (found == by_handle_.end()) return {};
  const HelloToken expected = TokenOf((*devices_)[found->second]);
  if (!ConstantTimeEqual(token.proof, expected.proof)) return {};
  return found->second;
}

}  // namespace sotto::server
