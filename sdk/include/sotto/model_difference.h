// A model as the difference from one that the receiver holds. Part of sotto/lrq.
//
// A released model lies on a grid: parameter j is n_j 2^e, with an integer n_j, |n_j| <= 2^24, and
// an exponent e that all parameters share. float32 holds it exactly. Its difference from a held
// model w, which need not lie on this grid, nor on any, is
//   d_j = n_j - floor(w_j 2^-e + 1/2)
// so w, e and d give the model. From zeros the difference is n itself. The code of d is the range
// code of each d_j in order (integer_code.h), with at most 31 digits. Zeros may follow the code,
// since bytes beyond its end read as zeros. If all d_j are zeros, the code has no bytes; then none
// may follow.
//
// Nothing in the bytes shows a wrong base: any code fits any base. ModelCheck() does.
//
// Integers and exact steps alone: the same bytes on every CPU. Any bytes may be decoded. No heap.
// One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/integer_code.h"
#include "sotto/range_coder.h"
#include "sotto/span.h"
#include "sotto/status.h"

namespace sotto {

constexpr int kLeastGridExponent = -20;
constexpr int kMostGridExponent = 0;

// The largest |n| of a parameter on a grid.
constexpr int32_t kMostGridUnits = 1 << 24;

// n_j of the nearest point of the grid, a tie upward: floor(value 2^-exponent + 1/2), exact, and
// clamped to +-2^30. `value` is finite.
int32_t NearestGridUnits(float value, int exponent);

// n 2^exponent, exact; a zero has no sign. |n| <= kMostGridUnits.
float GridParameter(int32_t n, int exponent);

constexpr size_t kModelCheckSize = 8;

// The check of a model: the first bytes of SHA-256 over its parameters as float32, little endian.
// Returns kOk or kCryptoFailed.
Status ModelCheck(Span<const float> parameters, uint8_t (&check)[kModelCheckSize]);

// The most bytes of the code of n parameters.
constexpr size_t MaxDifferenceBytes(size_t n) { return 8 * n + 64; }

// Writes the code of `wanted` from `held`.
//   held    [n] finite; empty: zeros
//   wanted  [n] multiples of 2^exponent, at most kMostGridUnits of them in magnitude. Not -0.0:
//           the receiver makes 0.0, and the check of its model would differ
//   out     [MaxDifferenceBytes(n)]; overlaps neither
//   size    bytes of the code, as few as there can be; 0 if nothing changes
// Returns kOk, kInvalidArgument for an exponent or a wanted parameter outside its range, or for
// another number of parameters held, or kBufferTooSmall; after a failure out is unspecified, and
// size is unchanged.
Status EncodeDifference(Span<const float> held, Span<const float> wanted, int exponent,
                        MutableByteSpan out, size_t* size);

// Reads a code that arrives in parts, and makes the model from it.
class DifferenceReader {
 public:
  // Begins a code of `size` bytes, 0 for a model that is the held one rounded to the grid.
  // kInvalidArgument for an exponent out of range.
  Status Begin(int exponent, uint32_t size);

  // Takes the next bytes of the code, and computes the parameters that they decide; behind the last
  // bytes all that are left. A code of 0 bytes takes one call without bytes.
  //   bytes  at most as many as are missing; copied as far as they are needed later
  //   held   [n] finite, the same in every call; empty: zeros. May be `model`
  //   model  [n]; its first position() parameters are written
  // Returns kOk, kInvalidArgument for too many bytes, or kMalformed for what no encoder writes: a
  // parameter beyond kMostGridUnits, or a byte other than 0 behind the code. After kMalformed only
  // Begin() may follow.
  Status Feed(ByteSpan bytes, Span<const float> held, Span<float> model);

  uint32_t position() const { return position_; }  // parameters that are there
  uint32_t missing() const { return missing_; }    // bytes that are not there

 private:
  // |d| is at most 2^30 + 2^24, by NearestGridUnits() and kMostGridUnits.
  static constexpr uint32_t kMostDigits = 31;
  // An integer is decoded once so many bytes are there, or all: with those that the decoder reads
  // ahead in the beginning.
  static constexpr size_t kEnough = kMostBytesOfAnInteger<kMostDigits> + 4;

  void Keep(ByteSpan* bytes);
  Status DecodeSome(bool is_end, Span<const float> held, Span<float> model);
  bool DropPadding();

  uint32_t position_ = 0;
  uint32_t missing_ = 0;
  int8_t exponent_ = 0;
  bool has_bytes_ = false;  // the code is not empty
  bool has_begun_ = false;  // the decoder has read its first bytes
  uint8_t kept_size_ = 0;
  uint8_t kept_[kEnough + 26];  // the decoder's bytes, from the first that it may yet read
  RangeDecoder decoder_{ByteSpan()};
  DigitModel<kMostDigits> digits_;
};

}  // namespace sotto
