#include "sotto/posix/ip_address.h"

#include <algorithm>
#include <arpa/inet.h>
#include <stdexcept>
#include <sys/socket.h>

namespace sotto::posix {
namespace {

constexpr IpAddress kMappedIpv4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr size_t kMappedPrefix = kIpv6Size - kIpv4Size;
constexpr size_t kNetwork = 8;  // bytes

bool IsIpv4(const IpAddress& address) {
  return std::equal(address.begin(), address.begin() + kMappedPrefix, kMappedIpv4.begin());
}

[[noreturn]] void Refuse(const std::string& part) {
  throw std::invalid_argument(
      "\"" + part +
      "\" is no numeric address and no range of them; expected ADDRESS or ADDRESS/BITS, with "
      "commas between them, for example 127.0.0.1 or 10.0.0.0/8");
}

// The number of the text's digits, at most `most`; throws if it is another text.
unsigned ParseBits(const std::string& text, unsigned most, const std::string& part) {
  const bool is_number =
      !text.empty() && text.size() <= 3 &&
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number) Refuse(part);
  const auto bits = static_cast<unsigned>(std::stoul(text));
  if (bits > most) Refuse(part);
  return bits;
}

IpRange ParseRange(const std::string& part) {
  const size_t slash = part.find('/');
  const std::string host = part.substr(0, slash);
  uint8_t bytes[kIpv6Size] = {};
  size_t size = kIpv4Size;
  if (inet_pton(AF_INET, host.c_str(), bytes) != 1) {
    size = kIpv6Size;
    if (inet_pton(AF_INET6, host.c_str(), bytes) != 1) Refuse(part);
  }
  IpRange range;
  range.first = IpAddressOf(ByteSpan(bytes, size));
  if (slash == std::string::npos) return range;
  const auto own_bits = static_cast<unsigned>(8 * size);
  range.bits = 128 - own_bits + ParseBits(part.substr(slash + 1), own_bits, part);
  return range;
}

}  // namespace

IpAddress IpAddressOf(ByteSpan bytes) {
  IpAddress address = kMappedIpv4;
  std::copy(bytes.begin(), bytes.end(), address.end() - static_cast<ptrdiff_t>(bytes.size()));
  return address;
}

NetworkAddress NetworkOf(const IpAddress& address) {
  NetworkAddress network = address;
  if (!IsIpv4(address)) std::fill(network.begin() + kNetwork, network.end(), uint8_t{0});
  return network;
}

bool IpRange::Contains(const IpAddress& address) const {
  const size_t whole = bits / 8;
  if (!std::equal(first.begin(), first.begin() + static_cast<ptrdiff_t>(whole), address.begin())) {
    return false;
  }
  const unsigned left = bits % 8;
  return left == 0 || (first[whole] ^ address[whole]) >> (8 - left) == 0;
}

bool IsIn(const std::vector<IpRange>& ranges, const IpAddress& address) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const IpRange& range) { return range.Contains(address); });
}

std::vector<IpRange> ParseIpRanges(const std::string& text) {
  std::vector<IpRange> ranges;
  if (text.empty()) return ranges;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    ranges.push_back(ParseRange(text.substr(at, end - at)));
    at = end + 1;
  }
  return ranges;
}

}  // namespace sotto::posix
