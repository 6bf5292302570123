#include "net/proxy_header.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace sotto::server {
namespace {

constexpr uint8_t kSignature[] = {0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d,
                                  0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a};
constexpr size_t kVersionAt = sizeof(kSignature);
constexpr size_t kFamilyAt = kVersionAt + 1;
constexpr size_t kLengthAt = kFamilyAt + 1;
constexpr size_t kFixed = kLengthAt + 2;  // bytes before the addresses

constexpr uint8_t kLocal = 0x20;  // version 2 and the command
constexpr uint8_t kProxy = 0x21;

constexpr unsigned kLastFamily = 3;
constexpr unsigned kLastTransport = 2;
constexpr uint8_t kTcpOverIpv4 = 0x11;  // family and transport
constexpr uint8_t kTcpOverIpv6 = 0x21;
constexpr size_t kPorts = 4;  // bytes of both

constexpr ProxyHeader kImpossible = {ProxyHeader::State::kImpossible, 0, {}};

// Bytes of an address; 0: it is not a TCP address.
size_t AddressSize(uint8_t family) {
  if (family == kTcpOverIpv4) return posix::kIpv4Size;
  return family == kTcpOverIpv6 ? posix::kIpv6Size : 0;
}

// Whether bytes that end somewhere can be the front of a header.
bool IsPossible(ByteSpan bytes) {
  const size_t of_signature = std::min(bytes.size(), sizeof(kSignature));
  if (!std::equal(bytes.begin(), bytes.begin() + of_signature, kSignature)) return false;
  if (bytes.size() <= kVersionAt) return true;
  return bytes[kVersionAt] == kLocal || bytes[kVersionAt] == kProxy;
}

}  // namespace

ProxyHeader ReadProxyHeader(ByteSpan bytes) {
  if (!IsPossible(bytes)) return kImpossible;
  if (bytes.size() < kFixed) return {};
  const size_t length = size_t{bytes[kLengthAt]} << 8 | bytes[kLengthAt + 1];
  ProxyHeader header;
  header.size = kFixed + length;
  if (header.size > kMaxProxyHeader) return kImpossible;
  const uint8_t family = bytes[kFamilyAt];
  const bool is_local = bytes[kVersionAt] == kLocal;
  const bool is_known = family >> 4 <= kLastFamily && (family & 0xf) <= kLastTransport;
  const size_t address = is_local ? 0 : AddressSize(family);
  const bool fits = address == 0 || length >= 2 * address + kPorts;
  if (!is_local && !(is_known && fits)) return kImpossible;
  if (bytes.size() < header.size) return {};
  header.state = ProxyHeader::State::kWhole;
  if (address > 0) header.from = posix::IpAddressOf(bytes.subspan(kFixed, address));
  return header;
}

}  // namespace sotto::server
