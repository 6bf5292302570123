// lrq::ComputeCells() for four words at a time, in the same integers. Part of
// sotto::server/aggregate.
//
// sdk/src/lrq/dither.cc and sotto/layer_tables.h explain the arithmetic; sdk/LRQ.md specifies it. A
// lane is 64 bits wide.
#include "aggregate/dither_engine.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <cstddef>
#include <immintrin.h>

#include "sotto/bytes.h"
#include "sotto/layer_tables.h"

#define SOTTO_AVX2 __attribute__((target("avx2")))

namespace sotto::server {
namespace {

using Lanes = __m256i;
constexpr int kLanes = 4;

// Four pieces of a table, a coefficient in each register. c0 uses all 64 bits of a lane. The other
// coefficients use the lower 32 bits; the upper 32 are ignored.
struct Coefficients {
  Lanes c0;
  Lanes c[lrq::kDegree];
};
static_assert(sizeof(lrq::Piece) == sizeof(Lanes) && lrq::kDegree == 6);

// The tables with expanded pieces: the stored ones are shorter.
struct Tables {
  Tables() {
    for (size_t i = 0; i < lrq::kLayerPieceCount; ++i) {
      layer[0][i] = lrq::LayerPieces(false, i);
      layer[1][i] = lrq::LayerPieces(true, i);
    }
  }
  const Span<const lrq::Piece> log2 = lrq::Log2Pieces();
  lrq::PiecePair layer[2][lrq::kLayerPieceCount];  // [upper]
};

SOTTO_AVX2 inline Lanes Constant(uint64_t value) {
  return _mm256_set1_epi64x(static_cast<int64_t>(value));
}

SOTTO_AVX2 inline Lanes LoadLanes(const void* memory) {
  return _mm256_loadu_si256(static_cast<const Lanes*>(memory));
}

// A piece is as long as a register: four loads and a transposition.
SOTTO_AVX2 inline Coefficients Load(const lrq::Piece* const (&pieces)[kLanes]) {
  const Lanes row0 = LoadLanes(pieces[0]);
  const Lanes row1 = LoadLanes(pieces[1]);
  const Lanes row2 = LoadLanes(pieces[2]);
  const Lanes row3 = LoadLanes(pieces[3]);
  const Lanes even01 = _mm256_unpacklo_epi64(row0, row1);
  const Lanes odd01 = _mm256_unpackhi_epi64(row0, row1);
  const Lanes even23 = _mm256_unpacklo_epi64(row2, row3);
  const Lanes odd23 = _mm256_unpackhi_epi64(row2, row3);
  const Lanes pair0 = _mm256_permute2x128_si256(odd01, odd23, 0x20);
  const Lanes pair1 = _mm256_permute2x128_si256(even01, even23, 0x31);
  const Lanes pair2 = _mm256_permute2x128_si256(odd01, odd23, 0x31);
  return {_mm256_permute2x128_si256(even01, even23, 0x20),
          {pair0, _mm256_srli_epi64(pair0, 32), pair1, _mm256_srli_epi64(pair1, 32), pair2,
           _mm256_srli_epi64(pair2, 32)}};
}

// The value of the polynomial; t in the lower half of a lane.
template <int kShift>
SOTTO_AVX2 inline Lanes Evaluate(const Coefficients& piece, Lanes t) {
  Lanes sum = piece.c[lrq::kDegree - 1];
  for (int k = lrq::kDegree - 2; k >= 0; --k) {
    sum = _mm256_add_epi32(piece.c[k], _mm256_srli_epi64(_mm256_mul_epi32(sum, t), 32));
  }
  // AVX2 has no arithmetic right shift of 64-bit lanes: an offset and a logical shift replace it.
  constexpr uint64_t kOffset = uint64_t{1} << 62;
  const Lanes shifted =
      _mm256_srli_epi64(_mm256_add_epi64(_mm256_mul_epi32(sum, t), Constant(kOffset)), kShift);
  return _mm256_add_epi64(piece.c0, _mm256_sub_epi64(shifted, Constant(kOffset >> kShift)));
}

// Leading zeros of a byte, 0 < x < 256, from the exponent of x as a float.
SOTTO_AVX2 inline Lanes ZerosOfByte(Lanes x) {
  const Lanes exponent =
      _mm256_srli_epi32(_mm256_castps_si256(_mm256_cvtepi32_ps(x)), 23);  // 127 + floor(log2 x)
  return _mm256_sub_epi64(Constant(127 + 7), exponent);
}

// The index of a piece and the fraction in x >= 2^63, as in dither.cc.
SOTTO_AVX2 inline Lanes SubdivisionOf(Lanes x) {
  return _mm256_and_si256(_mm256_srli_epi64(x, 63 - lrq::kSubdivisionBits),
                          Constant((1 << lrq::kSubdivisionBits) - 1));
}
SOTTO_AVX2 inline Lanes FractionOf(Lanes x) {
  return _mm256_xor_si256(_mm256_srli_epi64(x, 31 - lrq::kSubdivisionBits), Constant(0x80000000u));
}

struct Indices {
  alignas(32) uint64_t of[kLanes];
};
SOTTO_AVX2 inline Indices ToIndices(Lanes x) {
  Indices indices;
  _mm256_store_si256(reinterpret_cast<Lanes*>(indices.of), x);
  return indices;
}

// All ones in the lanes of the upper half of the layers.
SOTTO_AVX2 inline Lanes UpperMask(Lanes p) { return _mm256_cmpgt_epi64(_mm256_setzero_si256(), p); }

// u = -log2 of the distance to the nearer end of (0, 1), Q56, at least 1.
//   p  upper 64 of the layer's 96 bits
SOTTO_AVX2 inline Lanes MinusLog2(Lanes p, Span<const lrq::Piece> pieces) {
  const Lanes q = _mm256_xor_si256(p, UpperMask(p));
  // The lowest bit of the byte is set, because all its bits may be zero in an extended layer.
  const Lanes zeros = ZerosOfByte(_mm256_or_si256(_mm256_srli_epi64(q, 55), Constant(1)));
  const Lanes mantissa = _mm256_sllv_epi64(q, _mm256_add_epi64(zeros, Constant(1)));
  const Indices index = ToIndices(SubdivisionOf(mantissa));
  const Coefficients piece = Load(
      {&pieces[index.of[0]], &pieces[index.of[1]], &pieces[index.of[2]], &pieces[index.of[3]]});
  const Lanes log2 = Evaluate<lrq::kLog2Shift>(piece, FractionOf(mantissa));
  const Lanes whole = _mm256_slli_epi64(_mm256_add_epi64(zeros, Constant(2)), 56);
  const Lanes u = _mm256_sub_epi64(whole, log2);
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

SOTTO_AVX2 inline void CellsAt(Lanes u, const Tables& tables, const uint64_t* words,
                               DitherCell* cells) {
  const Lanes word = LoadLanes(words);
  const Lanes zeros = ZerosOfByte(_mm256_srli_epi64(u, 56));
  const Lanes normal = _mm256_sllv_epi64(u, zeros);
  const Lanes octave = _mm256_sub_epi64(Constant(7), zeros);
  const Indices index = ToIndices(
      _mm256_add_epi64(_mm256_slli_epi64(octave, lrq::kSubdivisionBits), SubdivisionOf(normal)));
  const lrq::PiecePair* pairs[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    const bool upper = (words[lane] >> (kDitherBits + kLayerBits - 1) & 1) != 0;
    pairs[lane] = &tables.layer[upper ? 1 : 0][index.of[lane]];
  }
  const Lanes t = FractionOf(normal);
  const Lanes r = _mm256_srli_epi64(
      Evaluate<lrq::kLayerShift>(Load({&pairs[0]->r, &pairs[1]->r, &pairs[2]->r, &pairs[3]->r}), t),
      32);
  const Lanes g = _mm256_srli_epi64(
      Evaluate<lrq::kLayerShift>(Load({&pairs[0]->g, &pairs[1]->g, &pairs[2]->g, &pairs[3]->g}), t),
      32);

  const Lanes step = _mm256_add_epi64(r, g);
  const Lanes coin = _mm256_cmpgt_epi64(_mm256_setzero_si256(), word);
  const Lanes left = _mm256_sub_epi64(_mm256_setzero_si256(), _mm256_blendv_epi8(r, g, coin));
  const Lanes product = _mm256_mul_epu32(step, _mm256_and_si256(word, Constant(kDitherMask)));
  // A cell's four fields as two lanes: (step, left) and (offset, remainder).
  const Lanes first = _mm256_or_si256(step, _mm256_slli_epi64(left, 32));
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

// Two passes. The whole calculation of a coordinate is a dependency chain too long for the
// processor to overlap with the next coordinate's. Each half is short enough.
SOTTO_AVX2 void ComputeCells(Span<const uint64_t> words, Span<DitherCell> cells) {
  static const Tables tables;
  Lanes u[kMaxDitherBatch / kLanes];
  const size_t groups = words.size() / kLanes;
  for (size_t i = 0; i < groups; ++i) {
    u[i] = MinusLog2(LayerOf(LoadLanes(&words[kLanes * i])), tables.log2);
  }
  for (size_t i = 0; i < groups; ++i) CellsAt(u[i], tables, &words[kLanes * i], &cells[kLanes * i]);
  SecureWipe(u, sizeof(u));
  lrq::ComputeCells(words.subspan(kLanes * groups), cells.subspan(kLanes * groups));
}

}  // namespace

DitherEngine::CellsFunction Avx2Cells() {
  return __builtin_cpu_supports("avx2") ? ComputeCells : nullptr;
}

}  // namespace sotto::server

#else

namespace sotto::server {

DitherEngine::CellsFunction Avx2Cells() { return nullptr; }

}  // namespace sotto::server

#endif
