// lrq::ComputeCells() for eight words at a time, in the same integers. Part of
// sotto::server/aggregate.
//
// sdk/src/lrq/dither.cc and sotto/layer_tables.h explain the arithmetic; sdk/LRQ.md specifies it. A
// lane is 64 bits wide.
#include "aggregate/dither_engine.h"

#if defined(__x86_64__) && defined(__GNUC__)

// GCC 12 takes the undefined upper operands inside its own intrinsics for a mistake (bug 105593).
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include "aggregate/cell_tables.h"
#include "sotto/bytes.h"

#define SOTTO_AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512cd")))

namespace sotto::server {
namespace {

using Lanes = __m512i;
constexpr size_t kLanes = 8;
static_assert(kLanes == CellTables::kLog2Pieces);

constexpr __mmask16 kLowerHalves = 0x5555;

SOTTO_AVX512 inline Lanes Constant(uint64_t value) {
  return _mm512_set1_epi64(static_cast<int64_t>(value));
}

// The fraction in x >= 2^63, as in dither.cc.
SOTTO_AVX512 inline Lanes FractionOf(Lanes x) {
  return _mm512_xor_si512(_mm512_srli_epi64(x, 31 - lrq::kSubdivisionBits), Constant(0x80000000u));
}

// u = -log2 of the distance of the words' layers to the nearer end of (0, 1), Q56, at least 1.
SOTTO_AVX512 inline Lanes MinusLog2(Lanes word, const CellTables& tables) {
  constexpr uint64_t kMiddle = uint64_t{1} << (96 - kLayerBits - 1 - 32);
  const Lanes p =
      _mm512_or_si512(_mm512_and_si512(_mm512_slli_epi64(word, 1), Constant(~(2 * kMiddle - 1))),
                      Constant(kMiddle));
  const Lanes q = _mm512_xor_si512(p, _mm512_srai_epi64(p, 63));
  const Lanes zeros = _mm512_lzcnt_epi64(q);  // one more than in dither.cc
  const Lanes mantissa = _mm512_sllv_epi64(q, zeros);
  const Lanes t = FractionOf(mantissa);
  // A permutation looks at the lowest three bits of an index.
  const Lanes index = _mm512_srli_epi64(mantissa, 63 - lrq::kSubdivisionBits);
  Lanes sum = _mm512_permutexvar_epi64(index, _mm512_load_si512(tables.log2_c[lrq::kDegree - 1]));
  for (int k = lrq::kDegree - 2; k >= 0; --k) {
    const Lanes c = _mm512_permutexvar_epi64(index, _mm512_load_si512(tables.log2_c[k]));
    sum = _mm512_add_epi32(c, _mm512_srli_epi64(_mm512_mul_epi32(sum, t), 32));
  }
  const Lanes last = _mm512_srai_epi64(_mm512_mul_epi32(sum, t), lrq::kLog2Shift);
  const Lanes c0 = _mm512_permutexvar_epi64(index, _mm512_load_si512(tables.log2_c0));
  const Lanes u = _mm512_sub_epi64(_mm512_add_epi64(_mm512_slli_epi64(zeros, 56), c0), last);
  return _mm512_max_epi64(u, Constant(uint64_t{1} << 56));
}

SOTTO_AVX512 inline void Place(Lanes word, const CellTables& tables, uint64_t* t, uint64_t* row) {
  const Lanes u = MinusLog2(word, tables);
  const Lanes zeros = _mm512_lzcnt_epi64(u);
  const Lanes normal = _mm512_sllv_epi64(u, zeros);
  _mm512_store_si512(t, FractionOf(normal));
  // 8 (7 - zeros) and the three bits below the leading one; the leading one counts 8 here.
  constexpr int kBits = lrq::kSubdivisionBits;
  const Lanes index = _mm512_sub_epi64(
      _mm512_add_epi64(_mm512_srli_epi64(normal, 63 - kBits), Constant(6 << kBits)),
      _mm512_slli_epi64(zeros, kBits));
  constexpr uint64_t kUpper = uint64_t{1} << (kDitherBits + kLayerBits - 1);
  _mm512_store_si512(
      row, _mm512_mask_add_epi64(index, _mm512_test_epi64_mask(word, Constant(kUpper)), index,
                                 Constant(lrq::kLayerPieceCount)));
}

// Two columns of eight rows.
struct TwoColumns {
  Lanes first;
  Lanes second;
};

template <int kColumn>
SOTTO_AVX512 inline TwoColumns LoadColumns(const CellTables::Row* rows, const uint64_t* row) {
  const auto pair = [&](int lane)
      __attribute__((always_inline, target("avx512f,avx512vl,avx512dq,avx512cd"))) {
    const auto* start = reinterpret_cast<const int64_t*>(&rows[row[lane]]) + kColumn;
    return _mm_load_si128(reinterpret_cast<const __m128i*>(start));
  };
  Lanes even = _mm512_castsi128_si512(pair(0));
  even = _mm512_mask_broadcast_i64x2(even, 0x0c, pair(2));
  even = _mm512_mask_broadcast_i64x2(even, 0x30, pair(4));
  even = _mm512_mask_broadcast_i64x2(even, 0xc0, pair(6));
  Lanes odd = _mm512_castsi128_si512(pair(1));
  odd = _mm512_mask_broadcast_i64x2(odd, 0x0c, pair(3));
  odd = _mm512_mask_broadcast_i64x2(odd, 0x30, pair(5));
  odd = _mm512_mask_broadcast_i64x2(odd, 0xc0, pair(7));
  return {_mm512_unpacklo_epi64(even, odd), _mm512_unpackhi_epi64(even, odd)};
}

// The upper halves of the lanes of `lower`, in the lower halves; the upper halves of `upper`.
SOTTO_AVX512 inline Lanes UpperHalves(Lanes lower, Lanes upper) {
  return _mm512_mask_shuffle_epi32(upper, kLowerHalves, lower, _MM_PERM_DDBB);
}

// One step of Horner's rule for r and g.
SOTTO_AVX512 inline Lanes Step(Lanes sum, Lanes t, Lanes c) {
  const Lanes r = _mm512_mul_epi32(sum, t);
  const Lanes g = _mm512_mul_epi32(_mm512_srli_epi64(sum, 32), t);
  return _mm512_add_epi32(c, UpperHalves(r, g));
}

SOTTO_AVX512 inline void CellsAt(const uint64_t* words, const uint64_t* t_of, const uint64_t* row,
                                 const CellTables& tables, DitherCell* cells) {
  const Lanes word = _mm512_loadu_si512(words);
  const Lanes t = _mm512_load_si512(t_of);
  const TwoColumns c56 = LoadColumns<6>(tables.rows, row);
  const TwoColumns c34 = LoadColumns<4>(tables.rows, row);
  const TwoColumns c12 = LoadColumns<2>(tables.rows, row);
  const TwoColumns c0 = LoadColumns<0>(tables.rows, row);
  Lanes sum = Step(c56.second, t, c56.first);
  sum = Step(sum, t, c34.second);
  sum = Step(sum, t, c34.first);
  sum = Step(sum, t, c12.second);
  sum = Step(sum, t, c12.first);
  // r and g in the upper halves.
  const Lanes r =
      _mm512_add_epi64(c0.first, _mm512_srai_epi64(_mm512_mul_epi32(sum, t), lrq::kLayerShift));
  const Lanes g = _mm512_add_epi64(
      c0.second,
      _mm512_srai_epi64(_mm512_mul_epi32(_mm512_srli_epi64(sum, 32), t), lrq::kLayerShift));

  const Lanes edge = _mm512_mask_mov_epi64(r, _mm512_movepi64_mask(word), g);
  const Lanes left = _mm512_sub_epi32(_mm512_setzero_si512(), edge);
  // A cell's four fields as two lanes: (step, left) and (offset, remainder).
  const Lanes first = UpperHalves(_mm512_add_epi32(r, g), left);
  const Lanes product = _mm512_mul_epu32(first, _mm512_and_si512(word, Constant(kDitherMask)));
  const Lanes second =
      _mm512_or_si512(_mm512_srli_epi64(product, kDitherBits),
                      _mm512_slli_epi64(_mm512_and_si512(product, Constant(kDitherMask)), 32));
  _mm512_storeu_si512(
      cells, _mm512_permutex2var_epi64(first, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), second));
  _mm512_storeu_si512(cells + 4, _mm512_permutex2var_epi64(
                                     first, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), second));
}

}  // namespace

// Two passes: the whole calculation of a coordinate is a dependency chain too long for the
// processor to overlap with the next coordinate's, and rows are looked up long after they are
// known.
SOTTO_AVX512 void Avx512Cells(Span<const uint64_t> words, Span<DitherCell> cells) {
  static const CellTables tables;
  CellPlaces places;
  const size_t groups = words.size() / kLanes;
  for (size_t i = 0; i < kLanes * groups; i += kLanes) {
    Place(_mm512_loadu_si512(&words[i]), tables, &places.t[i], &places.row[i]);
  }
  for (size_t i = 0; i < kLanes * groups; i += kLanes) {
    CellsAt(&words[i], &places.t[i], &places.row[i], tables, &cells[i]);
  }
  SecureWipe(&places, sizeof(places));
  lrq::ComputeCells(words.subspan(kLanes * groups), cells.subspan(kLanes * groups));
}

}  // namespace sotto::server

#endif
