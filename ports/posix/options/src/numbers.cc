#include "sotto/options/numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>

#include "sotto/posix/real_from_chars.h"

namespace sotto::posix {
namespace {

template <class Number>
std::optional<Number> Parse(std::string_view text) {
  Number value{};
  std::from_chars_result parsed{};
  if constexpr (std::is_floating_point_v<Number>) {
    parsed = posix::RealFromChars(text, &value);
  } else {
    parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  }
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

bool IsCanonical(std::string_view digits) { return digits.size() == 1 || digits.front() != '0'; }

bool IsReal(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789+-.eE") == std::string_view::npos;
}

}  // namespace

std::optional<uint64_t> ParseCount(std::string_view text) {
  const std::optional<uint64_t> value = Parse<uint64_t>(text);
  return value && IsCanonical(text) ? value : std::nullopt;
}

std::optional<int64_t> ParseInteger(std::string_view text) {
  const std::optional<int64_t> value = Parse<int64_t>(text);
  const bool is_negative = !text.empty() && text.front() == '-';
  if (!value || !IsCanonical(text.substr(is_negative ? 1 : 0))) return std::nullopt;
  return is_negative && *value == 0 ? std::nullopt : value;
}

std::optional<double> ParseReal(std::string_view text) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "inf") return kInfinity;
  if (text == "-inf") return -kInfinity;
  return IsReal(text) ? Parse<double>(text) : std::nullopt;
}

std::optional<HostPort> ParseHostPort(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::optional<uint64_t> port = ParseCount(text.substr(colon + 1));
  const bool has_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (has_brackets) host = host.substr(1, host.size() - 2);
  const char* const foreign = has_brackets ? "[] \t" : "[]: \t";
  if (host.empty() || host.find_first_of(foreign) != std::string_view::npos) return std::nullopt;
  if (!port || *port > std::numeric_limits<uint16_t>::max()) return std::nullopt;
  return HostPort{std::string(host), static_cast<uint16_t>(*port)};
}

std::vector<HostPort> ParseServers(std::string_view text) {
  std::vector<HostPort> servers;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::optional<HostPort> server = ParseHostPort(text.substr(at, end - at));
    if (!server || server->port == 0) return {};
    servers.push_back(*server);
    at = end + 1;
  }
  return servers;
}

std::string AddressText(const HostPort& address) {
  const bool has_colon = address.host.find(':') != std::string::npos;
  return (has_colon ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

}  // namespace sotto::posix
