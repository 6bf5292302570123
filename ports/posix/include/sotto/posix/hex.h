// Bytes as hexadecimal digits. Part of sotto/posix. Stateless; safe in any thread.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

#include "sotto/span.h"

namespace sotto::posix {

// Two lower-case digits a byte, for names and digests. Not for secrets: the text is not wiped.
inline std::string Hex(ByteSpan bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

// Reads two digits a byte, of either case. False if the text is anything else; `out` is then
// partly written.
inline bool ParseHex(std::string_view hex, MutableByteSpan out) {
  if (hex.size() != 2 * out.size()) return false;
  for (size_t i = 0; i < out.size(); ++i) {
    const char* const digits = hex.data() + 2 * i;
    const std::from_chars_result parsed = std::from_chars(digits, digits + 2, out[i], 16);
    if (parsed.ec != std::errc() || parsed.ptr != digits + 2) return false;
  }
  return true;
}

}  // namespace sotto::posix
