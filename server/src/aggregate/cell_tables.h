// The tables of sotto/layer_tables.h, arranged for vector instructions. Part of
// sotto::server/aggregate.
//
// r and g are computed together: lanes of 64 bits have the coefficients of r in the lower halves
// and the coefficients of g in the upper halves. Immutable: safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/dither.h"
#include "sotto/layer_tables.h"

namespace sotto::server {

struct CellTables {
  static constexpr size_t kLog2Pieces = size_t{1} << lrq::kSubdivisionBits;
  static constexpr size_t kRows = 2 * lrq::kLayerPieceCount;

  // Coefficients k of r and g.
  struct Both {
    int32_t r;
    int32_t g;
  };

  // One piece of r and one of g, as long as eight lanes.
  struct Row {
    int64_t c0_r;
    int64_t c0_g;
    Both c[lrq::kDegree];
  };
  static_assert(sizeof(Row) == 64 && lrq::kDegree == 6);

  CellTables() {
    for (size_t i = 0; i < kLog2Pieces; ++i) {
      const lrq::Piece& piece = lrq::Log2Pieces()[i];
      log2_c0[i] = (int64_t{1} << 56) - piece.c0;
      log2_c0_low[i] = static_cast<int32_t>(log2_c0[i]);
      log2_c0_high[i] = static_cast<int32_t>(log2_c0[i] >> 32);
      for (int k = 0; k < lrq::kDegree; ++k) log2_c[k][i] = log2_c_low[k][i] = piece.c[k];
    }
    for (size_t i = 0; i < kRows; ++i) {
      const lrq::PiecePair pair =
          lrq::LayerPieces(i >= lrq::kLayerPieceCount, i % lrq::kLayerPieceCount);
      rows[i] = {pair.r.c0, pair.g.c0, {}};
      for (int k = 0; k < lrq::kDegree; ++k) rows[i].c[k] = {pair.r.c[k], pair.g.c[k]};
    }
  }

  alignas(64) int64_t log2_c0[kLog2Pieces];  // 2^56 - c0
  alignas(64) int64_t log2_c[lrq::kDegree][kLog2Pieces];
  // The same in 32 bits.
  alignas(32) int32_t log2_c0_low[kLog2Pieces];
  alignas(32) int32_t log2_c0_high[kLog2Pieces];
  alignas(32) int32_t log2_c_low[lrq::kDegree][kLog2Pieces];
  alignas(64) Row rows[kRows];  // of the lower half, then of the upper half
};

// Where words select in the tables: the fraction, in the lower half, and the row.
struct CellPlaces {
  alignas(64) uint64_t t[kMaxDitherBatch];
  alignas(64) uint64_t row[kMaxDitherBatch];
};

}  // namespace sotto::server
