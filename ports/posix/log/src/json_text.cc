#include "sotto/log/json_text.h"

#include <cmath>
#include <cstddef>
#include <fmt/format.h>
#include <optional>

namespace sotto::posix {
namespace {

constexpr char32_t kReplacement = 0xfffd;

struct Character {
  char32_t code = 0;
  size_t size = 1;  // bytes
};

// The number of bytes that follow a first byte of UTF-8; nothing for a byte that is no first one.
std::optional<size_t> FollowersOf(unsigned char first) {
  if (first < 0x80) return 0;
  if (first >= 0xc2 && first < 0xe0) return 1;
  if (first >= 0xe0 && first < 0xf0) return 2;
  if (first >= 0xf0 && first < 0xf5) return 3;
  return std::nullopt;
}

// Whether `size` bytes, and no fewer, hold this character in UTF-8.
bool IsShortest(char32_t code, size_t size) {
  constexpr char32_t kFirst[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  return code >= kFirst[size] && code <= 0x10ffff && !is_surrogate;
}

// The character at the front of a text that is not empty. A byte that is not UTF-8 counts as one
// character.
Character FrontOf(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::optional<size_t> followers = FollowersOf(at(0));
  if (!followers || *followers >= text.size()) return {kReplacement, 1};
  char32_t code = *followers == 0 ? at(0) : at(0) & (0x3fU >> *followers);
  for (size_t i = 1; i <= *followers; ++i) {
    if ((at(i) & 0xc0) != 0x80) return {kReplacement, 1};
    code = code << 6 | (at(i) & 0x3f);
  }
  return IsShortest(code, *followers + 1) ? Character{code, *followers + 1}
                                          : Character{kReplacement, 1};
}

bool MustBeEscaped(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 ||
         code == kReplacement;
}

}  // namespace

std::string JsonText(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    const Character front = FrontOf(text);
    if (front.code == '"' || front.code == '\\') {
      quoted += '\\';
      quoted += static_cast<char>(front.code);
    } else if (MustBeEscaped(front.code)) {
      quoted += fmt::format("\\u{:04x}", static_cast<uint32_t>(front.code));
    } else {
      quoted += text.substr(0, front.size);
    }
    text.remove_prefix(front.size);
  }
  return quoted + '"';
}

std::string JsonText(uint64_t number) { return fmt::to_string(number); }

std::string JsonText(double number) {
  return std::isfinite(number) ? fmt::format("{}", number) : kJsonNull;
}

JsonObject& JsonObject::Add(std::string_view name, std::string_view value) {
  if (!members_.empty()) members_ += ',';
  members_ += JsonText(name);
  members_ += ':';
  members_ += value;
  return *this;
}

}  // namespace sotto::posix
