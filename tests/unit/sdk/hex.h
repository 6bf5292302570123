// Bytes as hexadecimal text, for test vectors; vectors and text as spans.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sotto/span.h"

namespace sotto {

inline std::string ToHex(ByteSpan bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

inline std::vector<uint8_t> FromHex(const std::string& text) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

template <typename T>
Span<const T> View(const std::vector<T>& values) {
  return {values.data(), values.size()};
}

inline ByteSpan View(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace sotto
