// Bytes as lower-case hexadecimal digits. Part of sotto/posix. Stateless; safe in any thread.
#pragma once

#include <string>

#include "sotto/span.h"

namespace sotto::posix {

// Two digits a byte, for names and digests. Not for secrets: the text is not wiped.
inline std::string Hex(ByteSpan bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace sotto::posix
