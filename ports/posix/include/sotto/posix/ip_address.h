// Numeric addresses of IPv4 and IPv6, the networks in which they count, and ranges of them. Part of
// sotto/posix.
//
// Values and pure functions, safe in any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sotto/span.h"

namespace sotto::posix {

// An IPv6 address, or an IPv4 address in its IPv6 form (RFC 4291, section 2.5.5.2).
using IpAddress = std::array<uint8_t, 16>;

// An IPv6 network of 64 bits, within which a host changes its address at will; or an IPv4 address
// in its IPv6 form.
using NetworkAddress = std::array<uint8_t, 16>;

constexpr size_t kIpv4Size = 4;
constexpr size_t kIpv6Size = 16;

// The address whose bytes are these, in network order: kIpv4Size or kIpv6Size of them.
IpAddress IpAddressOf(ByteSpan bytes);

NetworkAddress NetworkOf(const IpAddress& address);

// All addresses that begin with the same bits as `first`.
struct IpRange {
  IpAddress first{};
  unsigned bits = 128;  // of the IPv6 form

  bool Contains(const IpAddress& address) const;
};

bool IsIn(const std::vector<IpRange>& ranges, const IpAddress& address);

// Parses "ADDRESS[/BITS],...", for example "127.0.0.1,10.0.0.0/8,2001:db8::7". An empty text is no
// range. Throws std::invalid_argument that says which part is none.
std::vector<IpRange> ParseIpRanges(const std::string& text);

}  // namespace sotto::posix
