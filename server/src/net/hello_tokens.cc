#include "net/hello_tokens.h"

#include <algorithm>
#include <cstring>

#include "net/client_hello.h"
#include "sotto/bytes.h"
#include "sotto/hello_token.h"
#include "sotto/keys.h"
#include "sotto/posix/check.h"

namespace sotto::server {
namespace {

HelloToken TokenOf(const Key& secret, ByteSpan random) {
  Key psk;
  HelloToken token;
  posix::Check(DeriveTlsKey(secret, &psk), "a device's TLS key");
  posix::Check(DeriveHelloToken(psk, random, &token), "a device's token");
  return token;
}

uint64_t HandleIn(const HelloToken& token) {
  uint64_t handle = 0;
  std::memcpy(&handle, token.handle, sizeof(handle));
  return handle;
}

uint64_t HandleOf(const Key& secret) { return HandleIn(TokenOf(secret, {})); }

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

HelloHandles FindHandles(const DeviceRegistry& devices, const std::vector<uint32_t>& of,
                         const FormerKeys* former) {
  HelloHandles handles;
  handles.devices.reserve(of.size());
  for (const uint32_t device : of) handles.devices.push_back(HandleOf(devices[device].secret));
  for (uint32_t key = 0; former != nullptr && key < former->size(); ++key) {
    handles.former.emplace(HandleOf((*former)[key].secret), key);
  }
  return handles;
}

HelloTokens::HelloTokens(SharedDevices devices) : devices_(std::move(devices)) {
  for (uint32_t device = 0; device < devices_->size(); ++device) {
    handles_.push_back(HandleOf((*devices_)[device].secret));
    by_handle_.emplace(handles_.back(), device);
  }
}

void HelloTokens::SetDevices(SharedDevices devices, const std::vector<uint32_t>& changed,
                             const std::vector<uint64_t>& handles) {
  for (size_t i = 0; i < changed.size(); ++i) {
    const uint32_t device = changed[i];
    if (device < handles_.size()) by_handle_.erase(handles_[device]);
    handles_.resize(std::max<size_t>(handles_.size(), device + 1));
    handles_[device] = handles[i];
    if (devices->IsEligible(device)) by_handle_.emplace(handles[i], device);
  }
  devices_ = std::move(devices);
}

std::optional<uint32_t> HelloTokens::Take(ByteSpan client_hello) {
  HelloToken token;
  if (!FromDigits(FindProtocol(client_hello, kHelloTokenPrefix), &token)) return {};
  const auto found = by_handle_.find(HandleIn(token));
  if (found == by_handle_.end()) return {};
  const ByteSpan random = RandomOf(client_hello);
  const HelloToken expected = TokenOf((*devices_)[found->second].secret, random);
  if (!ConstantTimeEqual(token.proof, expected.proof)) return {};
  if (!IsNew(found->second, LoadU32Le(random.data()))) return {};
  return found->second;
}

void HelloTokens::SetFormer(SharedFormerKeys former,
                            std::unordered_map<uint64_t, uint32_t> handles) {
  former_by_handle_ = std::move(handles);
  former_ = std::move(former);
}

std::shared_ptr<const FormerKey> HelloTokens::FormerIn(ByteSpan client_hello) const {
  HelloToken token;
  if (!FromDigits(FindProtocol(client_hello, kHelloTokenPrefix), &token)) return nullptr;
  const auto found = former_by_handle_.find(HandleIn(token));
  if (found == former_by_handle_.end()) return nullptr;
  const FormerKey& key = (*former_)[found->second];
  const HelloToken expected = TokenOf(key.secret, RandomOf(client_hello));
  if (!ConstantTimeEqual(token.proof, expected.proof)) return nullptr;
  return {former_, &key};
}

// Remembers it, in the place of the oldest one.
bool HelloTokens::IsNew(uint32_t device, uint32_t random) {
  auto& [last, oldest] = said_[device];
  if (std::find(last.begin(), last.end(), random) != last.end()) return false;
  if (last.size() < kRememberedHellos) {
    last.push_back(random);
  } else {
    last[oldest] = random;
    oldest = (oldest + 1) % kRememberedHellos;
  }
  return true;
}

}  // namespace sotto::server
