// A model as the difference from one that the receiver holds. Part of sotto/model.
//
// A released model lies on a grid: parameter j is n_j 2^e, with an integer n_j, |n_j| <= 2^24, and
// an exponent e that all parameters share. float32 holds it exactly. Its difference from a held
// model w, which need not lie on this grid, nor on any, is
//   d_j = n_j - floor(w_j 2^-e + 1/2)
// so whoever holds w gets the model from e and d. From zeros the difference is n itself. The code of
// d is the range code of publication.h: for each d_j in order the number of binary digits of |d_j|
// in unary, each decision with its own probability; the digits behind the first one and the sign as
// fair bits. Zeros may follow the code, since bytes beyond its end read as zeros.
//
// Nothing in the bytes shows a wrong base: any code fits any base. ModelCheck() does.
//
// Integers and exact steps alone: the same bytes on every CPU. Any bytes may be decoded. No heap.
// One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/range_coder.h"
#include "sotto/span.h"
#include "sotto/status.h"

namespace sotto {

constexpr int kLeastGridExponent = -20;
constexpr int kMostGridExponent = 0;

// The largest |n| of a parameter on a grid.
constexpr int32_t kMostGridUnits = 1 << 24;

// n_j of the nearest point of the grid, a tie upward: floor(value 2^-exponent + 1/2), exact. Clamped
// to +-2^30. `value` is finite.
int32_t NearestGridUnits(float value, int exponent);

constexpr size_t kModelCheckSize = 8;

// The check of a model: the first bytes of SHA-256 over its parameters as float32, little endian.
// Returns kOk or kCryptoFailed.
Status ModelCheck(Span<const float> parameters, uint8_t (&check)[kModelCheckSize]);

// The most bytes of the code of n parameters.
constexpr size_t MaxDifferenceBytes(size_t n) { return 8 * n + 64; }

// Writes the code of `wanted` from `held`.
//   held    [n] finite; empty: zeros
//   wanted  [n] multiples of 2^exponent, at most kMostGridUnits of them in magnitude
//   out     [MaxDifferenceBytes(n)]; overlaps neither
//   size    bytes of the code, as few as there can be; 0 if nothing changes
// Returns kOk, kInvalidArgument for an exponent or a wanted parameter outside its range, or
// kBufferTooSmall (out unspecified).
Status EncodeDifference(Span<const float> held, Span<const float> wanted, int exponent,
                        MutableByteSpan out, size_t* size);

// Reads a code that arrives in parts, and makes the model from it.
class DifferenceReader {
 public:
  // Begins a code of `size` bytes, 0 for a model that is the held one rounded to the grid.
  // kInvalidArgument for an exponent out of range.
  Status Begin(int exponent, uint32_t size);

  // Takes the next bytes of the code, and computes the parameters that they decide; behind the last
  // bytes all that are left.
  //   bytes  at most as many as are missing; copied as far as they are needed later
  //   held   [n] finite, the same in every call; empty: zeros. May be `model`
  //   model  [n]; its first position() parameters are written
  // Returns kOk, kInvalidArgument for too many bytes, or kMalformed for a parameter beyond
  // kMostGridUnits: no encoder writes that.
  Status Feed(ByteSpan bytes, Span<const float> held, Span<float> model);

  uint32_t position() const { return position_; }  // parameters that are there
  uint32_t missing() const { return missing_; }    // bytes that are not there

 private:
  uint32_t position_ = 0;
  uint32_t missing_ = 0;
};

}  // namespace sotto
