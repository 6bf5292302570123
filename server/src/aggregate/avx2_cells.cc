// lrq::ComputeCells() for four words at a time, in the same integers. Part of
// sotto::server/aggregate.
//
// sdk/src/lrq/dither.cc and sotto/layer_tables.h explain the arithmetic; sdk/LRQ.md specifies it. A
// lane is 64 bits wide.
#include "aggregate/dither_engine.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <cstddef>
#include <immintrin.h>

#include "aggregate/cell_tables.h"
#include "sotto/bytes.h"

#define SOTTO_AVX2 __attribute__((target("avx2")))

namespace sotto::server {
namespace {

using Lanes = __m256i;
constexpr size_t kLanes = 4;
constexpr int kUpperHalves = 0xaa;

SOTTO_AVX2 inline Lanes Constant(uint64_t value) {
  return _mm256_set1_epi64x(static_cast<int64_t>(value));
}

SOTTO_AVX2 inline Lanes LoadLanes(const void* memory) {
  return _mm256_loadu_si256(static_cast<const Lanes*>(memory));
}

// AVX2 has no arithmetic right shift of 64-bit lanes: an offset and a logical shift replace it.
template <int kShift>
SOTTO_AVX2 inline Lanes ShiftRight(Lanes x) {
  constexpr uint64_t kOffset = uint64_t{1} << 62;
  return _mm256_sub_epi64(_mm256_srli_epi64(_mm256_add_epi64(x, Constant(kOffset)), kShift),
                          Constant(kOffset >> kShift));
}

// Leading zeros of a byte, 0 < x < 256, from the exponent of x as a float.
SOTTO_AVX2 inline Lanes ZerosOfByte(Lanes x) {
  const Lanes exponent =
      _mm256_srli_epi32(_mm256_castps_si256(_mm256_cvtepi32_ps(x)), 23);  // 127 + floor(log2 x)
  return _mm256_sub_epi64(Constant(127 + 7), exponent);
}

// The fraction in x >= 2^63, as in dither.cc.
SOTTO_AVX2 inline Lanes FractionOf(Lanes x) {
  return _mm256_xor_si256(_mm256_srli_epi64(x, 31 - lrq::kSubdivisionBits), Constant(0x80000000u));
}

// All ones in the lanes of the upper half of the layers.
SOTTO_AVX2 inline Lanes UpperMask(Lanes p) { return _mm256_cmpgt_epi64(_mm256_setzero_si256(), p); }

// u = -log2 of the distance to the nearer end of (0, 1), Q56, at least 1.
//   p  upper 64 of the layer's 96 bits
SOTTO_AVX2 inline Lanes MinusLog2(Lanes p, const CellTables& tables) {
  const Lanes q = _mm256_xor_si256(p, UpperMask(p));
  // The lowest bit of the byte is set, because all its bits may be zero in an extended layer.
  const Lanes zeros = ZerosOfByte(_mm256_or_si256(_mm256_srli_epi64(q, 55), Constant(1)));
  const Lanes shift = _mm256_add_epi64(zeros, Constant(1));
  const Lanes mantissa = _mm256_sllv_epi64(q, shift);
  const Lanes t = FractionOf(mantissa);
  // A permutation looks at the lowest three bits of an index. Upper halves are ignored below.
  const Lanes index = _mm256_srli_epi64(mantissa, 63 - lrq::kSubdivisionBits);
  const auto look_up = [&](const int32_t* table) SOTTO_AVX2 {
    return _mm256_permutevar8x32_epi32(LoadLanes(table), index);
  };
  Lanes sum = look_up(tables.log2_c_low[lrq::kDegree - 1]);
  for (int k = lrq::kDegree - 2; k >= 0; --k) {
    sum = _mm256_add_epi32(look_up(tables.log2_c_low[k]),
                           _mm256_srli_epi64(_mm256_mul_epi32(sum, t), 32));
  }
  const Lanes c0 =
      _mm256_blend_epi32(look_up(tables.log2_c0_low),
                         _mm256_slli_epi64(look_up(tables.log2_c0_high), 32), kUpperHalves);
  const Lanes u = _mm256_sub_epi64(_mm256_add_epi64(_mm256_slli_epi64(shift, 56), c0),
                                   ShiftRight<lrq::kLog2Shift>(_mm256_mul_epi32(sum, t)));
  const Lanes one = Constant(uint64_t{1} << 56);
  return _mm256_blendv_epi8(u, one, _mm256_cmpgt_epi64(one, u));
}

// The upper 64 of the 96 bits of the layers that the words select. These layers are not extended,
// so each stands for the middle of its interval.
SOTTO_AVX2 inline Lanes LayerOf(Lanes word) {
  constexpr uint64_t kMiddle = uint64_t{1} << (96 - kLayerBits - 1 - 32);
  const Lanes p = _mm256_and_si256(_mm256_slli_epi64(word, 1), Constant(~(2 * kMiddle - 1)));
  return _mm256_or_si256(p, Constant(kMiddle));
}

SOTTO_AVX2 inline void Place(Lanes word, const CellTables& tables, uint64_t* t, uint64_t* row) {
  const Lanes p = LayerOf(word);
  const Lanes u = MinusLog2(p, tables);
  const Lanes zeros = ZerosOfByte(_mm256_srli_epi64(u, 56));
  const Lanes normal = _mm256_sllv_epi64(u, zeros);
  _mm256_store_si256(reinterpret_cast<Lanes*>(t), FractionOf(normal));
  // 8 (7 - zeros) and the three bits below the leading one; the leading one counts 8 here.
  constexpr int kBits = lrq::kSubdivisionBits;
  const Lanes index = _mm256_sub_epi64(
      _mm256_add_epi64(_mm256_srli_epi64(normal, 63 - kBits), Constant(6 << kBits)),
      _mm256_slli_epi64(zeros, kBits));
  const Lanes upper = _mm256_and_si256(UpperMask(p), Constant(lrq::kLayerPieceCount));
  _mm256_store_si256(reinterpret_cast<Lanes*>(row), _mm256_add_epi64(index, upper));
}

// Four columns of four rows.
struct Columns {
  Lanes of[4];
};

// Four loads and a transposition.
template <int kColumn>
SOTTO_AVX2 inline Columns LoadColumns(const CellTables::Row* rows, const uint64_t* row) {
  Lanes of[kLanes];
  for (size_t lane = 0; lane < kLanes; ++lane) {
    of[lane] = LoadLanes(reinterpret_cast<const int64_t*>(&rows[row[lane]]) + kColumn);
  }
  const Lanes even01 = _mm256_unpacklo_epi64(of[0], of[1]);
  const Lanes odd01 = _mm256_unpackhi_epi64(of[0], of[1]);
  const Lanes even23 = _mm256_unpacklo_epi64(of[2], of[3]);
  const Lanes odd23 = _mm256_unpackhi_epi64(of[2], of[3]);
  return {{_mm256_permute2x128_si256(even01, even23, 0x20),
           _mm256_permute2x128_si256(odd01, odd23, 0x20),
           _mm256_permute2x128_si256(even01, even23, 0x31),
           _mm256_permute2x128_si256(odd01, odd23, 0x31)}};
}

// The upper halves of the lanes of `lower`, in the lower halves; the upper halves of `upper`.
SOTTO_AVX2 inline Lanes UpperHalves(Lanes lower, Lanes upper) {
  return _mm256_blend_epi32(_mm256_srli_epi64(lower, 32), upper, kUpperHalves);
}

// One step of Horner's rule for r and g.
SOTTO_AVX2 inline Lanes Step(Lanes sum, Lanes t, Lanes c) {
  const Lanes r = _mm256_mul_epi32(sum, t);
  const Lanes g = _mm256_mul_epi32(_mm256_srli_epi64(sum, 32), t);
  return _mm256_add_epi32(c, UpperHalves(r, g));
}

SOTTO_AVX2 inline void CellsAt(const uint64_t* words, const uint64_t* t_of, const uint64_t* row,
                               const CellTables& tables, DitherCell* cells) {
  const Lanes word = LoadLanes(words);
  const Lanes t = LoadLanes(t_of);
  const Columns last = LoadColumns<4>(tables.rows, row);
  const Columns first_ones = LoadColumns<0>(tables.rows, row);
  Lanes sum = last.of[3];
  for (int k = 2; k >= 0; --k) sum = Step(sum, t, last.of[k]);
  for (int k = 3; k >= 2; --k) sum = Step(sum, t, first_ones.of[k]);
  // r and g in the upper halves.
  const Lanes r =
      _mm256_add_epi64(first_ones.of[0], ShiftRight<lrq::kLayerShift>(_mm256_mul_epi32(sum, t)));
  const Lanes g = _mm256_add_epi64(first_ones.of[1], ShiftRight<lrq::kLayerShift>(_mm256_mul_epi32(
                                                         _mm256_srli_epi64(sum, 32), t)));

  const Lanes coin = _mm256_cmpgt_epi64(_mm256_setzero_si256(), word);
  const Lanes left = _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_blendv_epi8(r, g, coin));
  // A cell's four fields as two lanes: (step, left) and (offset, remainder).
  const Lanes first = UpperHalves(_mm256_add_epi32(r, g), left);
  const Lanes product = _mm256_mul_epu32(first, _mm256_and_si256(word, Constant(kDitherMask)));
  const Lanes second =
      _mm256_or_si256(_mm256_srli_epi64(product, kDitherBits),
                      _mm256_slli_epi64(_mm256_and_si256(product, Constant(kDitherMask)), 32));
  const Lanes cells02 = _mm256_unpacklo_epi64(first, second);
  const Lanes cells13 = _mm256_unpackhi_epi64(first, second);
  auto* out = reinterpret_cast<Lanes*>(cells);
  _mm256_storeu_si256(out, _mm256_permute2x128_si256(cells02, cells13, 0x20));
  _mm256_storeu_si256(out + 1, _mm256_permute2x128_si256(cells02, cells13, 0x31));
}
static_assert(sizeof(DitherCell) == 16 && offsetof(DitherCell, left_q27) == 4 &&
              offsetof(DitherCell, offset_q27) == 8 && offsetof(DitherCell, remainder) == 12);

}  // namespace

// Two passes: the whole calculation of a coordinate is a dependency chain too long for the
// processor to overlap with the next coordinate's, and rows are looked up long after they are
// known.
SOTTO_AVX2 void Avx2Cells(Span<const uint64_t> words, Span<DitherCell> cells) {
  static const CellTables tables;
  CellPlaces places;
  const size_t used = words.size() / kLanes * kLanes;
  for (size_t i = 0; i < used; i += kLanes) {
    Place(LoadLanes(&words[i]), tables, &places.t[i], &places.row[i]);
  }
  for (size_t i = 0; i < used; i += kLanes) {
    CellsAt(&words[i], &places.t[i], &places.row[i], tables, &cells[i]);
  }
  SecureWipe(&places, sizeof(places));
  lrq::ComputeCells(words.subspan(used), cells.subspan(used));
}

}  // namespace sotto::server

#endif
