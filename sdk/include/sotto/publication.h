// A publication: the fixed bytes of a model that a node has published. Part of sotto/peer.
//
//   bytes     field
//   0  .. 3   "SPB1": the format and its version
//   4  .. 19  job id
//   20 .. 23  version, u32 little endian; from 1, version 0 is the job's initial model
//   24 .. 27  node: its number in the roster, u32
//   28 .. 59  SHA-256 of the publication on which it builds; zeros if that is version 0
//   60        shift s, 0 to 26: every parameter is a multiple of 2^s
//   61        coding: 0 raw, 1 range
//   62 .. 63  zeros
//   64 ..     parameters
// A parameter is q 2^s units of 2^-20, at most 16 in magnitude: float32 holds it exactly. Raw: each
// q is an i32, little endian. Range: the range code of each q in order (integer_code.h), with at
// most 25 digits. Both codings may follow for the same model; an encoder takes the shorter one,
// range if they are equal.
//
// The bytes are fixed before any of them is sent, and every reader gets the same bytes: one
// release, one noise. The decoder takes any bytes and refuses malformed ones. It uses only
// integers: the same bytes on every CPU. Pure functions, safe in any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/crypto.h"
#include "sotto/keys.h"
#include "sotto/span.h"
#include "sotto/status.h"

namespace sotto {

constexpr size_t kPublicationHeaderSize = 64;

// The most bytes of a publication of n parameters.
constexpr size_t MaxPublicationBytes(size_t n) { return kPublicationHeaderSize + 4 * n; }

struct PublicationHeader {
  uint8_t job_id[kJobIdSize] = {};
  uint32_t version = 0;
  uint32_t node = 0;
  uint8_t parent[kSha256Size] = {};
  uint32_t shift = 0;
};

constexpr uint32_t kMaxPublicationShift = 26;

// The largest magnitude of a published parameter: 2^24 units of 2^-20 are exact in float32.
constexpr float kMaxPublishedParameter = 16.0f;

// A parameter of k units of 2^-20, |k| <= 2^24, and back: both exact.
constexpr float PublishedParameter(int32_t k) { return static_cast<float>(k) * 0x1p-20f; }
constexpr int32_t PublishedUnits(float parameter) {
  return static_cast<int32_t>(parameter * 0x1p20f);
}

// Writes a publication.
//   parameters  [n] multiples of 2^(shift - 20), at most kMaxPublishedParameter in magnitude
//   out         [MaxPublicationBytes(n)]; does not overlap parameters
// Returns kOk, kInvalidArgument for a shift or a parameter outside its range, or kBufferTooSmall
// (out unspecified).
Status EncodePublication(const PublicationHeader& header, Span<const float> parameters,
                         MutableByteSpan out, size_t* size);

// Reads the header alone. Returns kOk or kMalformed (header unchanged).
Status DecodePublicationHeader(ByteSpan bytes, PublicationHeader* header);

// Reads and checks a whole publication of a model of parameters.size() parameters. Each publication
// has one form: it refuses bytes that EncodePublication() would not write.
//   most        the largest magnitude of a parameter, at most kMaxPublishedParameter
//   parameters  [n]; unspecified after a failure
// Returns kOk, or kMalformed.
Status DecodePublication(ByteSpan bytes, float most, PublicationHeader* header,
                         Span<float> parameters);

}  // namespace sotto
