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

// Horner's rule. Every inner value keeps |acc| < 2^31, as the first coefficients dominate.
//   t_q31  in [-2^31, 2^31)
// Returns the value in Q31.
int64_t Evaluate(const Piece& piece, int32_t t_q31) {
  int64_t acc = piece.c[kDegree - 1];
  for (int i = kDegree - 2; i >= 0; --i) acc = piece.c[i] + ((acc * t_q31) >> 31);
  return piece.c0 + ((acc * t_q31) >> 31);
}

// The 32 bits below the top `skip` bits of x, as a signed fraction in [-1, 1).
int32_t FractionBelow(uint64_t x, int skip) {
  return static_cast<int32_t>(static_cast<uint32_t>((x << skip) >> 32) ^ 0x80000000u);
}

// u = -log2(D), Q31, D = Y / 2^97 the distance to the nearer end, Y = high * 2^64 + low odd and
// below 2^96. u lies in (1, 97]; rounding must not take it below 1.
uint64_t MinusLog2(uint32_t high, uint64_t low) {
  const uint64_t top = static_cast<uint64_t>(high) << 32 | low >> 32;
  const uint64_t rest = low << 32;
  const int zeros = top != 0 ? CountLeadingZeros(top) : 64 + CountLeadingZeros(rest);
  // Normalised to [2^63, 2^64); what lies below has no weight in 35 bits of fraction.
  const uint64_t mantissa = zeros >= 64  ? rest << (zeros - 64)
                            : zeros == 0 ? top
                                         : top << zeros | rest >> (64 - zeros);
  const auto piece =
      static_cast<uint32_t>(mantissa >> (63 - kSubdivisionBits)) & ((1u << kSubdivisionBits) - 1);
  const int64_t log2 = Evaluate(kLog2Pieces[piece], FractionBelow(mantissa, 1 + kSubdivisionBits));
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
  // The piece: the octave of u, then kSubdivisionBits more bits.
  const int zeros = CountLeadingZeros(u);
  const uint64_t normal = u << zeros;
  const auto subdivision =
      static_cast<int>(normal >> (63 - kSubdivisionBits)) & ((1 << kSubdivisionBits) - 1);
  const int octave = 32 - zeros;
  const PiecePair& pair = kLayerPieces[upper ? 1 : 0][(octave << kSubdivisionBits) + subdivision];
  const int32_t t = FractionBelow(normal, 1 + kSubdivisionBits);
  return {ToQ27(Evaluate(pair.r, t)), ToQ27(Evaluate(pair.g, t))};
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
