// Integers of a fixed number of bits, packed into bytes, lowest bit first. Part of
// sotto::server/codec.
//
// Pure functions: safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/span.h"

namespace sotto::server::baseline {

// The number of bits of the integer `largest`; at least 1.
int BitsFor(uint32_t largest);

// Bytes of `count` codes.
constexpr size_t CodesSize(size_t count, int bits) {
  return (count * static_cast<size_t>(bits) + 7) / 8;
}

// Appends the codes, each below 2^bits, to `out`. 1 <= bits <= 24. Zero bits fill the last byte.
void AppendCodes(Span<const uint32_t> codes, int bits, std::vector<uint8_t>* out);

// The inverse of AppendCodes(). Returns false unless `bytes` has exactly the size of the codes and
// ends with zero bits.
bool ReadCodes(ByteSpan bytes, int bits, Span<uint32_t> codes);

}  // namespace sotto::server::baseline
