#include "sotto/dither.h"

#include "sotto/bytes.h"
#include "sotto/num.h"

namespace sotto {
namespace lrq {
namespace {

// A polynomial of degree kDegree in t in [-1, 1); coefficients in Q31.
struct Piece {
  int64_t c0;
  int32_t c[5];  // of t, t^2, ...
};

struct PiecePair {
  Piece r;
  Piece g;
};

#include "layer_tables.inc"

static_assert(kDegree == sizeof(Piece::c) / sizeof(int32_t), "layout of the tables");

// A polynomial's inner values cannot leave 32 bits: its coefficients but the first, and one for the
// rounding of each step, add up to less.
constexpr bool FitsHorner(const Piece& piece) {
  int64_t sum = kDegree;
  for (const int32_t c : piece.c) sum += c < 0 ? -int64_t{c} : c;
  return sum < int64_t{1} << 31;
}

constexpr bool AllFitHorner() {
  for (const Piece& piece : kLog2Pieces) {
    if (!FitsHorner(piece)) return false;
  }
  for (const auto& half : kLayerPieces) {
    for (const PiecePair& pair : half) {
      if (!FitsHorner(pair.r) || !FitsHorner(pair.g)) return false;
    }
  }
  return true;
}
static_assert(AllFitHorner(), "Evaluate() keeps 32 bits");

int32_t MultiplyQ31(int32_t a, int32_t b) {
  return static_cast<int32_t>((static_cast<int64_t>(a) * b) >> 31);
}

// Horner's rule from the highest coefficient down to c[k].
template <int k>
int32_t Horner(const int32_t (&c)[kDegree], int32_t t_q31) {
  if constexpr (k == kDegree - 1) {
    return c[k];
  } else {
    return c[k] + MultiplyQ31(Horner<k + 1>(c, t_q31), t_q31);
  }
}

// The polynomial's value in Q31. t_q31 in [-2^31, 2^31).
int64_t Evaluate(const Piece& piece, int32_t t_q31) {
  return piece.c0 + MultiplyQ31(Horner<0>(piece.c, t_q31), t_q31);
}

// Where a number lies within its octave: which of the equal pieces, and where in it, in [-1, 1).
struct Place {
  uint32_t piece;
  int32_t t_q31;
};

// normal  the number times a power of two, in [2^63, 2^64)
Place PlaceInOctave(uint64_t normal) {
  constexpr uint32_t kPieces = 1 << kSubdivisionBits;
  const auto fraction = static_cast<uint32_t>((normal << (1 + kSubdivisionBits)) >> 32);
  return {static_cast<uint32_t>(normal >> (63 - kSubdivisionBits)) & (kPieces - 1),
          static_cast<int32_t>(fraction ^ 0x80000000u)};
}

// u = -log2(D), Q31, D = Y / 2^97 the distance to the nearer end, Y = high * 2^64 + low odd and
// below 2^96. u lies in (1, 97]; rounding must not take it below 1.
uint64_t MinusLog2(uint32_t high, uint64_t low) {
  uint32_t first = high;
  auto second = static_cast<uint32_t>(low >> 32);
  auto third = static_cast<uint32_t>(low);
  int zeros = 0;
  for (; first == 0; zeros += 32) {
    first = second;
    second = third;
    third = 0;
  }
  // Normalised; what lies below 64 bits has no weight in 35 bits of fraction.
  const int shift = CountLeadingZeros(first);
  zeros += shift;
  const uint32_t top = first << shift | (second >> 1) >> (31 - shift);
  const uint32_t rest = second << shift | (third >> 1) >> (31 - shift);
  const Place place = PlaceInOctave(static_cast<uint64_t>(top) << 32 | rest);
  const int64_t log2 = Evaluate(kLog2Pieces[place.piece], place.t_q31);
  const int64_t u = (static_cast<int64_t>(zeros + 2) << 31) - log2;
  constexpr int64_t kOne = int64_t{1} << 31;
  return static_cast<uint64_t>(u < kOne ? kOne : u);
}

int32_t ToQ27(int64_t q31) { return static_cast<int32_t>((q31 + 8) >> 4); }

}  // namespace

LayerEdges LayerFromProbability(uint32_t p_high, uint64_t p_low) {
  // Upper half: the distance to 1 of (p96 + 1/2) / 2^96 is that of the complement to 0.
  const bool upper = (p_high >> 31) != 0;
  const uint32_t q_high = upper ? ~p_high : p_high;
  const uint64_t q_low = upper ? ~p_low : p_low;
  const uint64_t u = MinusLog2(q_high << 1 | static_cast<uint32_t>(q_low >> 63), q_low << 1 | 1);
  const int zeros = CountLeadingZeros(u);
  const auto octave = static_cast<size_t>(32 - zeros);
  const Place place = PlaceInOctave(u << zeros);
  const PiecePair& pair = kLayerPieces[upper ? 1 : 0][(octave << kSubdivisionBits) + place.piece];
  return {ToQ27(Evaluate(pair.r, place.t_q31)), ToQ27(Evaluate(pair.g, place.t_q31))};
}

}  // namespace lrq

namespace {

enum Stream : uint32_t { kMain = 0, kLayerExtension = 1, kDitherExtension = 2 };

constexpr uint32_t kWordsPerBlock = kChaChaBlockSize / 8;
constexpr uint64_t kMiddleOfExtension = uint64_t{1} << 63;

Status WordAt(const Key& key, Stream stream, uint32_t j, uint64_t* word) {
  uint8_t block[kChaChaBlockSize];
  WipeOnExit wipe(block);
  const Status status = ChaCha20Keystream(key, stream, j / kWordsPerBlock, block);
  if (status == Status::kOk) *word = LoadU64Le(block + 8 * (j % kWordsPerBlock));
  return status;
}

bool NeedsExtension(uint32_t p) { return (p >> 24) == 0x00 || (p >> 24) == 0xff; }

// The step and left edge that word j of stream 0 selects.
Status ChooseLayer(const Key& key, uint32_t j, uint64_t word, DitherCell* cell) {
  const auto p = static_cast<uint32_t>(word >> 31);
  uint64_t extension = kMiddleOfExtension;
  if (NeedsExtension(p)) {
    if (Status s = WordAt(key, kLayerExtension, j, &extension); s != Status::kOk) return s;
  }
  const lrq::LayerEdges edges = lrq::LayerFromProbability(p, extension);
  const bool coin = (word >> 63) != 0;
  cell->step_q27 = edges.r_q27 + edges.g_q27;
  cell->left_q27 = coin ? -edges.g_q27 : -edges.r_q27;
  return Status::kOk;
}

}  // namespace

Status Dither::Generate(uint32_t first, Span<DitherCell> cells) const {
  if (first % kDitherBatch != 0 || cells.size() > kDitherBatch) return Status::kInvalidArgument;
  uint8_t keystream[8 * kDitherBatch];
  WipeOnExit wipe(keystream);
  if (Status s = ChaCha20Keystream(key_, kMain, first / kWordsPerBlock, keystream);
      s != Status::kOk) {
    return s;
  }
  for (uint32_t i = 0; i < cells.size(); ++i) {
    const uint64_t word = LoadU64Le(keystream + 8 * i);
    DitherCell& cell = cells[i];
    cell.step_q27 = kUniformStepQ27;
    cell.left_q27 = -kUniformStepQ27 / 2;
    if (kind_ == DitherKind::kGaussian) {
      if (Status s = ChooseLayer(key_, first + i, word, &cell); s != Status::kOk) return s;
    }
    const uint64_t product = static_cast<uint64_t>(cell.step_q27) * (word & 0x7fffffff);
    cell.offset_q27 = static_cast<int32_t>(product >> 31);
    cell.remainder = static_cast<uint32_t>(product & 0x7fffffff);
  }
  return Status::kOk;
}

Status Dither::ExactOffset(uint32_t j, const DitherCell& cell, int32_t* offset_q27) const {
  int32_t carry = 0;
  if (OffsetIsOpen(cell)) {
    uint64_t word = 0;
    if (Status s = WordAt(key_, kDitherExtension, j, &word); s != Status::kOk) return s;
    // w * t63 = (w * t) * 2^32 + w * low; below 2^63 + 2^63, so the sum does not overflow.
    const uint64_t low = static_cast<uint64_t>(cell.step_q27) * static_cast<uint32_t>(word);
    carry = static_cast<int32_t>(((static_cast<uint64_t>(cell.remainder) << 32) + low) >> 63);
  }
  *offset_q27 = cell.offset_q27 + carry;
  return Status::kOk;
}

}  // namespace sotto
