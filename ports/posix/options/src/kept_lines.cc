#include "sotto/options/kept_lines.h"

#include <charconv>
#include <fmt/format.h>

#include "sotto/posix/hex.h"

namespace sotto::posix {

std::string_view KeptLines::Value(const std::string& name) {
  const size_t end = rest_.find('\n');
  const std::string_view line = rest_.substr(0, end);
  const std::string start = name + " ";
  if (end == std::string_view::npos || line.substr(0, start.size()) != start) Refuse(name);
  rest_.remove_prefix(end + 1);
  return line.substr(start.size());
}

uint32_t KeptLines::Number(const std::string& name) {
  const std::string_view text = Value(name);
  uint32_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  if (!is_whole || fmt::format("{}", number) != text) Refuse(name);
  return number;
}

std::vector<uint8_t> KeptLines::Bytes(const std::string& name, size_t least, size_t most) {
  const std::string_view text = Value(name);
  std::vector<uint8_t> bytes(text.size() / 2);
  const bool fits = bytes.size() >= least && bytes.size() <= most;
  if (!fits || !ParseHex(text, {bytes.data(), bytes.size()})) Refuse(name);
  return bytes;
}

void KeptLines::Refuse(const std::string& name) const {
  RefuseKept(format_, fmt::format("its line \"{}\" is missing or malformed", name));
}

}  // namespace sotto::posix
