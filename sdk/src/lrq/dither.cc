#include "sotto/dither.h"

#include "sotto/bytes.h"
#include "sotto/layer_tables.h"
#include "sotto/num.h"

namespace sotto {
namespace lrq {
namespace {

#include "layer_tables.inc"

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
static_assert(AllFitHorner(), "Horner() keeps 32 bits");

// The upper half of a product, rounded down; one instruction on a Cortex-M4.
int32_t MultiplyHigh(int32_t a, int32_t b) {
  return static_cast<int32_t>((static_cast<int64_t>(a) * b) >> 32);
}

// Horner's rule in s = t / 2^32, in [-1/2, 1/2), from the highest coefficient down to c[k].
template <int k>
int32_t Horner(const int32_t (&c)[kDegree], int32_t t) {
  if constexpr (k == kDegree - 1) {
    return c[k];
  } else {
    return c[k] + MultiplyHigh(Horner<k + 1>(c, t), t);
  }
}

// The polynomial's value in the format of c0; the last product is kept whole.
//   kShift  fraction bits of the coefficients c and of s, less those of c0
template <int kShift>
int64_t Evaluate(const Piece& piece, int32_t t) {
  return piece.c0 + ((static_cast<int64_t>(Horner<0>(piece.c, t)) * t) >> kShift);
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

// u = -log2(D), Q56, D = Y / 2^97 the distance to the nearer end, Y = high * 2^64 + low odd and
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
  // Normalised; what lies below 64 bits has no weight in 32 bits of fraction.
  const int shift = CountLeadingZeros(first);
  zeros += shift;
  const uint32_t top = first << shift | (second >> 1) >> (31 - shift);
  const uint32_t rest = second << shift | (third >> 1) >> (31 - shift);
  const uint64_t mantissa = static_cast<uint64_t>(top) << 32 | rest;
  const int64_t log2 =
      Evaluate<kLog2Shift>(kLog2Pieces[SubdivisionOf(mantissa)], FractionOf(mantissa));
  const int64_t u = (static_cast<int64_t>(zeros + 2) << 56) - log2;
  constexpr int64_t kOne = int64_t{1} << 56;
  return static_cast<uint64_t>(u < kOne ? kOne : u);
}

// Half a unit stands in c0, so that cutting off is rounding.
int32_t ToQ27(int64_t q59) { return static_cast<int32_t>(q59 >> 32); }

}  // namespace

Span<const Piece> Log2Pieces() { return kLog2Pieces; }

Span<const PiecePair> LayerPieces(bool upper) { return kLayerPieces[upper ? 1 : 0]; }

LayerEdges LayerFromProbability(uint32_t p_high, uint64_t p_low) {
  // Upper half: the distance to 1 of (p96 + 1/2) / 2^96 is that of the complement to 0.
  const bool upper = (p_high >> 31) != 0;
  const uint32_t q_high = upper ? ~p_high : p_high;
  const uint64_t q_low = upper ? ~p_low : p_low;
  const uint64_t u = MinusLog2(q_high << 1 | static_cast<uint32_t>(q_low >> 63), q_low << 1 | 1);
  const int zeros = CountLeadingZeros(u);
  const uint64_t normal = u << zeros;
  const int octave = 7 - zeros;
  const PiecePair& pair =
      kLayerPieces[upper ? 1 : 0][(octave << kSubdivisionBits) + SubdivisionOf(normal)];
  const int32_t t = FractionOf(normal);
  return {ToQ27(Evaluate<kLayerShift>(pair.r, t)), ToQ27(Evaluate<kLayerShift>(pair.g, t))};
}

}  // namespace lrq

namespace {

enum Stream : uint32_t { kMain = 0, kLayerExtension = 1, kDitherExtension = 2 };

constexpr uint32_t kWordsPerBlock = kChaChaBlockSize / 8;
constexpr int kExtensionBits = 96 - kLayerBits;
constexpr uint64_t kMiddleOfExtension = uint64_t{1} << (kExtensionBits - 1);

Status WordAt(const Key& key, Stream stream, uint32_t j, uint64_t* word) {
  uint8_t block[kChaChaBlockSize];
  WipeOnExit wipe(block);
  const Status status = ChaCha20Keystream(key, stream, j / kWordsPerBlock, block);
  if (status == Status::kOk) *word = LoadU64Le(block + 8 * (j % kWordsPerBlock));
  return status;
}

bool NeedsExtension(uint32_t p_high) { return (p_high >> 24) == 0x00 || (p_high >> 24) == 0xff; }

// The step and left edge that word j of stream 0 selects.
Status ChooseLayer(const Key& key, uint32_t j, uint64_t word, DitherCell* cell) {
  const uint64_t p = word >> kDitherBits;  // the coin above it
  const auto p_high = static_cast<uint32_t>(p >> (kLayerBits - 32));
  uint64_t extension = kMiddleOfExtension;
  if (NeedsExtension(p_high)) {
    if (Status s = WordAt(key, kLayerExtension, j, &extension); s != Status::kOk) return s;
    extension >>= 64 - kExtensionBits;
  }
  const lrq::LayerEdges edges = lrq::LayerFromProbability(p_high, p << kExtensionBits | extension);
  const bool coin = (word >> 63) != 0;
  cell->step_q27 = edges.r_q27 + edges.g_q27;
  cell->left_q27 = coin ? -edges.g_q27 : -edges.r_q27;
  return Status::kOk;
}

}  // namespace

Status Dither::Generate(uint32_t first, Span<uint64_t> words) const {
  if (first % kDitherBatch != 0 || words.size() > kDitherBatch) return Status::kInvalidArgument;
  uint8_t keystream[8 * kDitherBatch];
  WipeOnExit wipe(keystream);
  if (Status s = ChaCha20Keystream(key_, kMain, first / kWordsPerBlock, keystream);
      s != Status::kOk) {
    return s;
  }
  for (uint32_t i = 0; i < words.size(); ++i) words[i] = LoadU64Le(keystream + 8 * i);
  return Status::kOk;
}

Status Dither::Select(uint32_t j, uint64_t word, DitherCell* cell) const {
  cell->step_q27 = kUniformStepQ27;
  cell->left_q27 = -kUniformStepQ27 / 2;
  if (kind_ == DitherKind::kGaussian) {
    if (Status s = ChooseLayer(key_, j, word, cell); s != Status::kOk) return s;
  }
  const uint64_t product = static_cast<uint64_t>(cell->step_q27) * Fraction(word);
  cell->offset_q27 = static_cast<int32_t>(product >> kDitherBits);
  cell->remainder = static_cast<uint32_t>(product) & kDitherMask;
  return Status::kOk;
}

Status Dither::ExactOffset(uint32_t j, const DitherCell& cell, int32_t* offset_q27) const {
  int32_t carry = 0;
  if (MaxCarry(cell) > 0) {
    uint64_t word = 0;
    if (Status s = WordAt(key_, kDitherExtension, j, &word); s != Status::kOk) return s;
    // w * t59 = (w * t) * 2^32 + w * low; below 2^59 + 2^63, so the sum does not overflow.
    const uint64_t low = static_cast<uint64_t>(cell.step_q27) * static_cast<uint32_t>(word);
    const uint64_t sum = (static_cast<uint64_t>(cell.remainder) << 32) + low;
    carry = static_cast<int32_t>(sum >> (kDitherBits + 32));
  }
  *offset_q27 = cell.offset_q27 + carry;
  return Status::kOk;
}

}  // namespace sotto
