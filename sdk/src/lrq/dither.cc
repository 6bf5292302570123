#include "sotto/dither.h"

#include "sotto/bytes.h"
#include "sotto/layer_tables.h"
#include "sotto/num.h"

namespace sotto {
namespace lrq {
namespace {

// A piece of a layer as stored in a board's flash: the last two coefficients have 16 bits.
struct ShortPiece {
  constexpr ShortPiece(int64_t value, const int32_t (&coefficients)[kDegree])
      : c0_low(static_cast<uint32_t>(value)),
        c0_high(static_cast<int32_t>(value >> 32)),
        c{coefficients[0], coefficients[1], coefficients[2], coefficients[3]},
        d{Short(coefficients[4]), Short(coefficients[5])} {}

  // A trap is not a constant expression, so a table with a value that is too large does not
  // compile.
  static constexpr int16_t Short(int32_t value) {
    if (value != static_cast<int16_t>(value)) __builtin_trap();
    return static_cast<int16_t>(value);
  }

  uint32_t c0_low;
  int32_t c0_high;
  int32_t c[kDegree - 2];
  int16_t d[2];
};
static_assert(sizeof(ShortPiece) == 28);

struct ShortPair {
  ShortPiece r;
  ShortPiece g;
};

#include "layer_tables.inc"

constexpr int64_t First(const Piece& piece) { return piece.c0; }
constexpr int64_t First(const ShortPiece& piece) {
  return static_cast<int64_t>(static_cast<uint64_t>(piece.c0_high) << 32 | piece.c0_low);
}

template <int k>
constexpr int32_t Coefficient(const Piece& piece) {
  return piece.c[k];
}
template <int k>
constexpr int32_t Coefficient(const ShortPiece& piece) {
  if constexpr (k < kDegree - 2) {
    return piece.c[k];
  } else {
    return piece.d[k - (kDegree - 2)];
  }
}

constexpr Piece ToPiece(const ShortPiece& p) {
  return {First(p), {p.c[0], p.c[1], p.c[2], p.c[3], p.d[0], p.d[1]}};
}

// True if Horner's inner values fit into 32 bits: all coefficients but the first, and 1 for the
// rounding of each step, add up to less than 2^31.
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
    for (const ShortPair& pair : half) {
      if (!FitsHorner(ToPiece(pair.r)) || !FitsHorner(ToPiece(pair.g))) return false;
    }
  }
  return true;
}
static_assert(AllFitHorner(), "Horner() keeps 32 bits");

// The upper half of a product, rounded down; one instruction on a Cortex-M4.
int32_t MultiplyHigh(int32_t a, int32_t b) {
  return static_cast<int32_t>((static_cast<int64_t>(a) * b) >> 32);
}

// Horner's rule in s = t / 2^32, in [-1/2, 1/2), from the highest coefficient down to c[k].
template <int k, class AnyPiece>
int32_t Horner(const AnyPiece& piece, int32_t t) {
  if constexpr (k == kDegree - 1) {
    return Coefficient<k>(piece);
  } else {
    return Coefficient<k>(piece) + MultiplyHigh(Horner<k + 1>(piece, t), t);
  }
}

// The polynomial's value in the format of c0. The last product is not truncated to its upper half.
//   kShift  fraction bits of the coefficients c and of s, less the fraction bits of c0
template <int kShift, class AnyPiece>
int64_t Evaluate(const AnyPiece& piece, int32_t t) {
  return First(piece) + ((static_cast<int64_t>(Horner<0>(piece, t)) * t) >> kShift);
}

// The 32 bits below the leading 1 and the index of a piece in x >= 2^63, as a signed number.
int32_t FractionOf(uint64_t x) {
  constexpr int kBelow = 31 - kSubdivisionBits;
  return static_cast<int32_t>(static_cast<uint32_t>(x >> kBelow) ^ 0x80000000u);
}

// The index of a piece in x >= 2^63.
int SubdivisionOf(uint64_t x) {
  return static_cast<int>(x >> (63 - kSubdivisionBits)) & ((1 << kSubdivisionBits) - 1);
}

// u = -log2(D), Q56, where D is the distance to the nearer end of (0, 1). u is in (1, 97], and
// rounding must not take it below 1.
//   mantissa  of D, with the leading one in bit 63
//   zeros     2^-(zeros + 2) <= D < 2^-(zeros + 1)
uint64_t MinusLog2(uint64_t mantissa, int zeros) {
  const int64_t log2 =
      Evaluate<kLog2Shift>(kLog2Pieces[SubdivisionOf(mantissa)], FractionOf(mantissa));
  const int64_t u = (static_cast<int64_t>(zeros + 2) << 56) - log2;
  constexpr int64_t kOne = int64_t{1} << 56;
  return static_cast<uint64_t>(u < kOne ? kOne : u);
}

bool IsUpper(uint32_t p_high) { return (p_high >> 31) != 0; }

// MinusLog2() of the layer p96 = p_high * 2^64 + p_low, at (p96 + 1/2) / 2^96. D = Y / 2^97, with Y
// odd and below 2^96.
uint64_t MinusLog2OfLayer(uint32_t p_high, uint64_t p_low) {
  // Upper half: the distance to 1 equals the distance of the complement to 0.
  const uint32_t q_high = IsUpper(p_high) ? ~p_high : p_high;
  const uint64_t q_low = IsUpper(p_high) ? ~p_low : p_low;
  uint32_t first = q_high << 1 | static_cast<uint32_t>(q_low >> 63);
  auto second = static_cast<uint32_t>(q_low >> 31);
  auto third = static_cast<uint32_t>(q_low) << 1 | 1;
  int zeros = 0;
  for (; first == 0; zeros += 32) {
    first = second;
    second = third;
    third = 0;
  }
  // Normalised to 64 bits. Lower bits do not affect the 32 bits of fraction.
  const int shift = CountLeadingZeros(first);
  const uint32_t top = first << shift | (second >> 1) >> (31 - shift);
  const uint32_t rest = second << shift | (third >> 1) >> (31 - shift);
  return MinusLog2(static_cast<uint64_t>(top) << 32 | rest, zeros + shift);
}

// c0 includes half a unit, so truncation rounds to the nearest.
int32_t ToQ27(int64_t q59) { return static_cast<int32_t>(q59 >> 32); }

// r and g of the layer at distance 2^-u from the lower or upper end.
//   zeros  leading zeros of u
inline LayerEdges EdgesAt(uint64_t u, int zeros, bool upper) {
  const uint64_t normal = u << zeros;
  const int octave = 7 - zeros;
  const ShortPair& pair =
      kLayerPieces[upper ? 1 : 0][(octave << kSubdivisionBits) + SubdivisionOf(normal)];
  const int32_t t = FractionOf(normal);
  return {ToQ27(Evaluate<kLayerShift>(pair.r, t)), ToQ27(Evaluate<kLayerShift>(pair.g, t))};
}

}  // namespace

Span<const Piece> Log2Pieces() { return kLog2Pieces; }

PiecePair LayerPieces(bool upper, size_t index) {
  const ShortPair& pair = kLayerPieces[upper ? 1 : 0][index];
  return {ToPiece(pair.r), ToPiece(pair.g)};
}
static_assert(sizeof(kLayerPieces[0]) / sizeof(ShortPair) == kLayerPieceCount);

LayerEdges LayerFromProbability(uint32_t p_high, uint64_t p_low) {
  const uint64_t u = MinusLog2OfLayer(p_high, p_low);
  return EdgesAt(u, CountLeadingZeros(u), IsUpper(p_high));
}

}  // namespace lrq

namespace {

constexpr uint32_t kMain = 0;  // stream
constexpr uint32_t kWordsPerBlock = kChaChaBlockSize / 8;
constexpr int kExtensionBits = 96 - kLayerBits;
constexpr uint64_t kMiddleOfExtension = uint64_t{1} << (kExtensionBits - 1);

// The upper 32 bits of the layer that a word selects.
uint32_t LayerHigh(uint64_t word) {
  return static_cast<uint32_t>(word >> (kDitherBits + kLayerBits - 32));
}

// The lower 64 bits: the layer's last four, then its extension.
uint64_t LayerLow(uint64_t word, uint64_t extension) {
  return (word >> kDitherBits) << kExtensionBits | extension;
}

DitherCell CellOf(const lrq::LayerEdges& edges, uint64_t word) {
  const bool coin = (word >> 63) != 0;
  DitherCell cell;
  cell.step_q27 = edges.r_q27 + edges.g_q27;
  cell.left_q27 = coin ? -edges.g_q27 : -edges.r_q27;
  const uint64_t product = static_cast<uint64_t>(cell.step_q27) * Dither::Fraction(word);
  cell.offset_q27 = static_cast<int32_t>(product >> kDitherBits);
  cell.remainder = static_cast<uint32_t>(product) & kDitherMask;
  return cell;
}

// The amount by which the exact offset is larger than offset_q27.
//   extension  the coordinate's word of stream 2
[[gnu::always_inline]] inline int32_t CarryOf(const DitherCell& cell, uint64_t extension) {
  // w * t59 = (w * t) * 2^32 + w * low; below 2^59 + 2^63, so the sum does not overflow.
  const uint64_t low = static_cast<uint64_t>(cell.step_q27) * static_cast<uint32_t>(extension);
  const uint64_t sum = (static_cast<uint64_t>(cell.remainder) << 32) + low;
  return static_cast<int32_t>(sum >> (kDitherBits + 32));
}

constexpr lrq::LayerEdges kUniformEdges = {kUniformStepQ27 / 2, kUniformStepQ27 / 2};

// Leading zeros of a byte, in a table. x86-64's instruction behind CountLeadingZeros() depends on
// the old content of its output register, so it would wait for the previous coordinate.
struct ByteZeros {
  uint8_t of[256] = {};
  constexpr ByteZeros() {
    for (int byte = 0; byte < 256; ++byte) {
      while (of[byte] < 8 && byte >> (7 - of[byte]) == 0) ++of[byte];
    }
  }
};
constexpr ByteZeros kByteZeros;

// -log2 of the layer's distance, Q56, for a layer that is not extended: its leading one is among
// the upper bits. For other layers some u within the tables' range.
uint64_t MinusLog2OfWord(uint64_t word) {
  constexpr uint64_t kMiddle = kMiddleOfExtension >> 32;
  const uint64_t p = (word << 1 & ~(2 * kMiddle - 1)) | kMiddle;  // upper 64 of 96 bits
  const uint64_t q = (p >> 63) != 0 ? ~p : p;
  const int zeros = kByteZeros.of[q >> 55];
  return lrq::MinusLog2(q << (zeros + 1), zeros);
}

}  // namespace

// In two passes. The whole calculation of one coordinate is a chain of dependent instructions, too
// long for a processor to start the next coordinate in parallel. Each half is short enough.
void lrq::ComputeCells(Span<const uint64_t> words, Span<DitherCell> cells) {
  uint64_t u[kMaxDitherBatch];
  WipeOnExit wipe(u);
  for (size_t i = 0; i < words.size(); ++i) u[i] = MinusLog2OfWord(words[i]);
  for (size_t i = 0; i < words.size(); ++i) {
    const bool upper = IsUpper(LayerHigh(words[i]));
    cells[i] = CellOf(EdgesAt(u[i], kByteZeros.of[u[i] >> 56], upper), words[i]);
  }
}

Status Dither::WordAt(uint32_t stream, uint32_t j, uint64_t* word) const {
  uint8_t block[kChaChaBlockSize];
  WipeOnExit wipe(block);
  const Status status = engine_.keystream(key_, stream, j / kWordsPerBlock, MutableByteSpan(block));
  if (status == Status::kOk) *word = LoadU64Le(block + 8 * (j % kWordsPerBlock));
  return status;
}

Status Dither::Generate(uint32_t first, Span<uint64_t> words) const {
  if (first % kDitherBatch != 0) return Status::kInvalidArgument;
  const MutableByteSpan bytes(reinterpret_cast<uint8_t*>(words.data()), 8 * words.size());
  const Status status = engine_.keystream(key_, kMain, first / kWordsPerBlock, bytes);
  for (uint32_t i = 0; i < words.size(); ++i) words[i] = LoadU64Le(bytes.data() + 8 * i);
  return status;
}

Status Dither::Select(uint32_t j, uint64_t word, DitherCell* cell) const {
  lrq::LayerEdges edges = kUniformEdges;
  if (kind_ == DitherKind::kGaussian) {
    uint64_t extension = kMiddleOfExtension;
    if (IsExtended(word)) {
      if (Status s = WordAt(kLayerStream, j, &extension); s != Status::kOk) return s;
      extension >>= 64 - kExtensionBits;
    }
    edges = lrq::LayerFromProbability(LayerHigh(word), LayerLow(word, extension));
  }
  *cell = CellOf(edges, word);
  return Status::kOk;
}

Status Dither::SelectAll(uint32_t first, Span<const uint64_t> words, Span<DitherCell> cells) const {
  if (words.size() > kMaxDitherBatch || cells.size() != words.size()) {
    return Status::kInvalidArgument;
  }
  const auto count = static_cast<uint32_t>(words.size());
  if (kind_ != DitherKind::kGaussian) {
    for (uint32_t i = 0; i < count; ++i) cells[i] = CellOf(kUniformEdges, words[i]);
    return Status::kOk;
  }
  (engine_.cells != nullptr ? engine_.cells : lrq::ComputeCells)(words, cells);
  for (uint32_t i = 0; i < count; ++i) {
    if (!IsExtended(words[i])) continue;
    if (Status s = Select(first + i, words[i], &cells[i]); s != Status::kOk) return s;
  }
  return Status::kOk;
}

DitherCell Dither::ExtendedCell(uint64_t word, uint64_t extension) {
  const uint64_t low = LayerLow(word, extension >> (64 - kExtensionBits));
  return CellOf(lrq::LayerFromProbability(LayerHigh(word), low), word);
}

int32_t Dither::OffsetWith(const DitherCell& cell, uint64_t extension) {
  return cell.offset_q27 + CarryOf(cell, extension);
}

Status Dither::ExactOffset(uint32_t j, const DitherCell& cell, int32_t* offset_q27) const {
  int32_t carry = 0;
  if (MaxCarry(cell) > 0) {
    uint64_t word = 0;
    if (Status s = WordAt(kOffsetStream, j, &word); s != Status::kOk) return s;
    carry = CarryOf(cell, word);
  }
  *offset_q27 = cell.offset_q27 + carry;
  return Status::kOk;
}

}  // namespace sotto
