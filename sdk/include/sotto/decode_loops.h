// The decoder's loops over many coordinates. Part of sotto/lrq.
//
// Each is one chain of integer operations a coordinate, without a branch and without a call, so a
// compiler turns it into vector instructions where it may. A server compiles the same source again
// for the instructions of its processor (DecodeEngine): the same integers by construction. What is
// rare is only flagged, for the functions of quantizer.h and dither.h to settle.
//
// Pure functions, safe in any thread. A flag is 1 or 0.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/dither.h"

namespace sotto {

// Coordinates that a decoder handles at once, if its engine reads scattered words: enough of them
// then come together. Otherwise kMaxDitherBatch.
constexpr uint32_t kDecodeBatch = 512;

// The functions that decode an update. Every engine gives the same integers; a server has faster
// ones.
struct DecodeEngine : DitherEngine {
  // Writes words[k] = word indices[k] of a stream. Returns kOk or kCryptoFailed (words
  // unspecified). null: one block of `keystream` for each.
  using ScatteredFunction = Status (*)(const Key& key, uint32_t stream,
                                       Span<const uint32_t> indices, Span<uint64_t> words);
  ScatteredFunction scattered = nullptr;

  // Arrays of one size, at most kDecodeBatch. null: the functions in lrq.
  using ExtendedFunction = void (*)(Span<const uint64_t> words, uint8_t* flags);
  using ContextsFunction = void (*)(Span<const uint64_t> words, uint8_t* contexts);
  using PointsFunction = void (*)(Span<const DitherCell> cells, const int32_t* m, int32_t* noisy,
                                  uint8_t* unsettled, uint8_t* away);
  using LeastFunction = void (*)(Span<const DitherCell> cells, int32_t bound_q20, int32_t* m,
                                 uint8_t* unsettled);
  using AboveFunction = void (*)(Span<const DitherCell> cells, int32_t bound_q20, const int32_t* m,
                                 uint8_t* flags);
  ExtendedFunction extended = nullptr;
  ContextsFunction contexts = nullptr;
  PointsFunction points = nullptr;
  LeastFunction least = nullptr;
  AboveFunction above = nullptr;
};

namespace lrq {

// Flags the words whose layer is extended.
[[gnu::always_inline]] inline void ExtendedLoop(Span<const uint64_t> words, uint8_t* flags) {
  for (size_t i = 0; i < words.size(); ++i) flags[i] = Dither::IsExtended(words[i]) ? 1 : 0;
}

// The noisy values that the integers m stand for, were every offset its offset_q27.
//   noisy      Q20, as of Dequantize() unless the coordinate is unsettled
//   unsettled  flags: the exact offset may give another value
//   away       flags: zero may be outside of the cell, so the distance of update_bound.h may be
//              above 0
[[gnu::always_inline]] inline void PointsLoop(Span<const DitherCell> cells, const int32_t* m,
                                              int32_t* noisy, uint8_t* unsettled, uint8_t* away) {
  for (size_t i = 0; i < cells.size(); ++i) {
    const DitherCell& cell = cells[i];
    // In (-w, w).
    const int32_t center = cell.offset_q27 + cell.left_q27;
    const int64_t point = static_cast<int64_t>(m[i]) * cell.step_q27 + center;
    // As RoundToQ20() in quantizer.cc.
    const auto rounded = static_cast<int32_t>((point + 63) >> 7);
    const auto largest = static_cast<int32_t>((point + Dither::MaxCarry(cell) + 63) >> 7);
    noisy[i] = rounded;
    unsettled[i] = rounded != largest ? 1 : 0;
    away[i] = static_cast<uint8_t>((m[i] != 0 ? 1 : 0) | (cell.offset_q27 <= 0 ? 1 : 0));
  }
}

// The largest bound of LeastLoop(), Q20: 3.5 of the smallest Gaussian steps.
constexpr int kLeastSteps = 4;

// The integers of -bound_q20, were every offset its offset_q27.
//   bound_q20  128 bound_q20 is below kLeastSteps times every step, and at most 2^31 - 1
//   unsettled  flags: the exact offset may give another integer
[[gnu::always_inline]] inline void LeastLoop(Span<const DitherCell> cells, int32_t bound_q20,
                                             int32_t* m, uint8_t* unsettled) {
  const int32_t bound_q27 = bound_q20 * 128;
  for (size_t i = 0; i < cells.size(); ++i) {
    const DitherCell& cell = cells[i];
    const int32_t w = cell.step_q27;
    // In (-bound, w]; the remainder after at most kLeastSteps additions of w.
    int32_t rest = w - cell.offset_q27 - bound_q27;
    int32_t quotient = 0;
    for (int k = 0; k < kLeastSteps; ++k) {
      const int32_t below = rest >> 31;  // -1 or 0
      quotient += below;
      rest += w & below;
    }
    const int32_t is_whole = rest == w ? 1 : 0;  // a bound and an offset of 0
    m[i] = quotient + is_whole;
    unsettled[i] = rest - (w & -is_whole) < Dither::MaxCarry(cell) ? 1 : 0;
  }
}

// Flags integers that may be above the integer of bound_q20.
[[gnu::always_inline]] inline void AboveLoop(Span<const DitherCell> cells, int32_t bound_q20,
                                             const int32_t* m, uint8_t* flags) {
  const int64_t bound_q27 = static_cast<int64_t>(bound_q20) * 128;
  for (size_t i = 0; i < cells.size(); ++i) {
    const DitherCell& cell = cells[i];
    // The values of m begin at (m - 1) w + s.
    const int64_t largest =
        static_cast<int64_t>(m[i] - 1) * cell.step_q27 + (cell.offset_q27 + Dither::MaxCarry(cell));
    flags[i] = largest > bound_q27 ? 1 : 0;
  }
}

}  // namespace lrq
}  // namespace sotto
