// Integers of a fixed number of bits as bytes, lowest bit first. Part of sotto::server/codec.
#ifndef SOTTO_CODEC_CODES_H_
#define SOTTO_CODEC_CODES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/span.h"

namespace sotto::server::baseline {

// The bits that tell 0 .. largest apart; at least 1.
int BitsFor(uint32_t largest);

// Bytes of `count` codes.
constexpr size_t CodesSize(size_t count, int bits) {
  return (count * static_cast<size_t>(bits) + 7) / 8;
}

// Appends the codes, each below 2^bits, to `out`. 1 <= bits <= 24. The last byte is filled up with
// zeros.
void AppendCodes(Span<const uint32_t> codes, int bits, std::vector<uint8_t>* out);

// The reverse. False unless `bytes` are as many as the codes take, with zeros at the end.
bool ReadCodes(ByteSpan bytes, int bits, Span<uint32_t> codes);

}  // namespace sotto::server::baseline

#endif  // SOTTO_CODEC_CODES_H_
