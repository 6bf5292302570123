// Texts and numbers as bytes, and back; digests. Part of sotto::server/base.
//
// Pure functions, safe from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/crypto.h"
#include "sotto/span.h"

namespace sotto::server {

// The text's own bytes.
inline ByteSpan BytesOf(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Numbers as little-endian float32, and back. Bytes beyond the last whole number are ignored.
std::vector<uint8_t> BytesOf(Span<const float> numbers);
std::vector<float> FloatsOf(ByteSpan bytes);

// The bytes of lower-case hexadecimal digits (sotto/posix/hex.h). Throws std::invalid_argument for
// other text.
std::vector<uint8_t> FromHex(std::string_view text);

// Throws std::runtime_error if the computation fails.
std::array<uint8_t, kSha256Size> Sha256Of(ByteSpan bytes);

// SHA-256 of a text as hexadecimal digits.
std::string Sha256Hex(std::string_view text);

}  // namespace sotto::server
