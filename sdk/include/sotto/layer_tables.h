// The polynomials that compute a Gau-LRQ layer. Part of sotto/lrq. Constant data.
//
// This header serves programs that check the arithmetic; the quantizer's users need only dither.h.
//
// A layer lies at a distance D from the nearer end of (0, 1).
//   1. u = -log2(D) is computed by a piece that the mantissa of D selects.
//   2. r and g are computed by pieces that u and the half of (0, 1) select.
//   3. Each octave [2^k, 2^(k+1)) of an argument is cut into pieces of equal width. Within a piece
//      the argument is linear in a 32-bit integer t.
// A piece is evaluated as
//   acc = c[5];  acc = c[i] + floor(acc t / 2^32) for i = 4 ... 0;
//   value = c0 + floor(acc t / 2^shift).
// This is a polynomial in s = t / 2^32, s in [-1/2, 1/2), less at most one unit of c for each
// product but the last. All factors have 32 bits, and mostly the upper half of a product is used: a
// Cortex-M4 computes it in one instruction.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/span.h"

namespace sotto::lrq {

constexpr int kDegree = 6;
constexpr int kSubdivisionBits = 3;  // 2^3 pieces an octave

struct Piece {
  int64_t c0;
  int32_t c[kDegree];  // of s, s^2, ...; the absolute values add up to less than 2^31
};

struct PiecePair {
  Piece r;
  Piece g;
};

// log2 of [1, 2): c in Q33, c0 and the value in Q56.
constexpr int kLog2Shift = 33 + 32 - 56;
Span<const Piece> Log2Pieces();

// r and g for u in [1, 97], octaves 0 to 6: c in Q31, c0 and the value in Q59. Half a unit of Q27
// is added to c0, so truncating the value to Q27 rounds it to the edge.
//   upper  the half, P >= 1/2
//   index  in the order of u, below kLayerPieceCount
constexpr int kLayerShift = 31 + 32 - 59;
constexpr size_t kLayerPieceCount = 53;
PiecePair LayerPieces(bool upper, size_t index);

}  // namespace sotto::lrq
