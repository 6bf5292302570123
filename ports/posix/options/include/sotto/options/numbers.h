// Numbers and addresses as options write them, read strictly. Part of sotto::options.
//
// A text is what it says or it is refused: there is no sign that wraps around, no prefix for other
// bases, no space, no number that is silently cut to a range. Pure functions, safe in any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sotto::posix {

// Decimal digits without a leading zero, below 2^64. Nothing for any other text.
std::optional<uint64_t> ParseCount(std::string_view text);

// The same with an optional minus, within int64_t. Nothing for "-0".
std::optional<int64_t> ParseInteger(std::string_view text);

// A decimal number, with or without point and exponent, or "inf" or "-inf". Nothing for NaN, for a
// number that a double cannot hold, and for any other text.
std::optional<double> ParseReal(std::string_view text);

struct HostPort {
  std::string host;  // without brackets; not empty
  uint16_t port = 0;
};

// "HOST:PORT" or "[ADDRESS]:PORT". A host with a colon needs the brackets.
std::optional<HostPort> ParseHostPort(std::string_view text);

// Addresses of servers: one or more of these, with commas between them, and no port 0. None for any
// other text.
std::vector<HostPort> ParseServers(std::string_view text);

// As ParseHostPort() reads it.
std::string AddressText(const HostPort& address);

}  // namespace sotto::posix
