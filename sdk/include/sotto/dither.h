// The shared randomness of the Gau-LRQ quantizer, in integers. Part of sotto/lrq.
//
// A cell is one coordinate's step and offset on the real line, drawn from the round key alone, so
// device and server see the same cells. Its distribution is the layered form of the standard
// Gaussian (Gau-LRQ, Definition 3): with r from the chi distribution with three degrees of freedom,
// g = sqrt(-2 ln(1 - exp(-r^2/2))) and a fair coin, the cell is (-g, r] or (-r, g], and a uniform t
// places the lattice of step w = r + g at an offset t*w. The rounding error is then exactly N(0, 1)
// and independent of the value.
//
// Unit noise throughout: the deviation sigma only scales values in and out. Fixed point is signed,
// Qn meaning n fractional bits. Keystream: ChaCha20; coordinate j owns the 64-bit little-endian
// word j of each stream n = 0, 1, 2. Word j of stream 0: bit 63 the coin, bits 27..62 the layer p,
// bits 0..26 the dither t. Two extensions are generated only where they matter:
//   stream 1  extends p to 96 bits where its top eight bits are all zeros or all ones: once in 128
//             coordinates, on both sides
//   stream 2  extends t to 59 bits where the low bits can change a result: almost never when
//             encoding, in about 2 % of the coordinates when decoding
// Any range of coordinates can be generated alone, in parallel, or again: the same bits every time.
//
// Why these widths. Where p is not extended, layers 2^-36 apart have edges r apart by 2^-36 over
// r's density, at most 0.15 units of Q27 (at r = 3.66). The noise's density there is off by half of
// that times r at most: 2e-9, as much as rounding the edges to Q27 can cost. A p of 32 bits would
// have a bound 16 times as large. The four bits more are taken from t, where they cost a board
// nothing and a server some blocks of stream 2; to extend a narrow p more often would cost both a
// block of stream 1 each time.
#ifndef SOTTO_DITHER_H_
#define SOTTO_DITHER_H_

#include <cstdint>

#include "sotto/crypto.h"

namespace sotto {

enum class DitherKind : uint8_t {
  kGaussian = 1,  // Gau-LRQ: the error is standard Gaussian
  // A constant step of 2^-2 units: subtractively dithered uniform quantization, error uniform in
  // +-2^-3 units. Training WITHOUT privacy, for comparison in the same code.
  kUniform = 2,
};

// Bounds that every Gaussian cell keeps, Q27. The smallest step is that of r = g, 2 sqrt(2 ln 2),
// the largest that of the last of 2^96 layers.
constexpr int32_t kMinStepQ27 = 316058594;
constexpr int32_t kMaxStepQ27 = 1582218387;
constexpr int32_t kUniformStepQ27 = 1 << 25;

struct DitherCell {
  int32_t step_q27;    // w, in [kMinStepQ27, kMaxStepQ27], or kUniformStepQ27
  int32_t left_q27;    // L in (-step, 0]: the left edge of the error's interval (L, L + w]
  int32_t offset_q27;  // floor(w t / 2^27), in [0, w): the offset s, or up to MaxCarry() less
  uint32_t remainder;  // w t mod 2^27, decides together with stream 2 how much less
};

constexpr int kLayerBits = 36;   // of p in stream 0
constexpr int kDitherBits = 27;  // of t in stream 0
constexpr uint32_t kDitherMask = (uint32_t{1} << kDitherBits) - 1;

// Coordinates that an encoder generates at once: two ChaCha20 blocks.
constexpr uint32_t kDitherBatch = 16;

// Coordinates that a decoder generates at once: eight blocks, which some libraries compute side by
// side.
constexpr uint32_t kMaxDitherBatch = 64;

// What a dither is computed with. Every engine gives the same bits; a server has faster ones.
struct DitherEngine {
  KeystreamFunction keystream = ChaCha20Keystream;

  // Writes the cells of Gaussian words whose layers are not extended; those of other words may be
  // anything.
  //   words, cells  the same number, at most kMaxDitherBatch
  using CellsFunction = void (*)(Span<const uint64_t> words, Span<DitherCell> cells);
  CellsFunction cells = nullptr;  // null: ComputeCells(), which a device that never asks for many
                                  // cells at once need not link
};

class Dither {
 public:
  Dither() = default;  // of no update: the key is zero

  Dither(const Key& round_key, DitherKind kind, const DitherEngine& engine = {})
      : key_(round_key), kind_(kind), engine_(engine) {}

  // Fills words[i] with word first + i of stream 0.
  //   first  a multiple of kDitherBatch; first + words.size() <= 2^32
  // Returns kOk, kInvalidArgument or kCryptoFailed (words unspecified).
  Status Generate(uint32_t first, Span<uint64_t> words) const;

  // The cell that `word`, word j of stream 0, selects for coordinate j. Returns kOk or
  // kCryptoFailed (cell unspecified).
  Status Select(uint32_t j, uint64_t word, DitherCell* cell) const;

  // The cells of coordinates first, first + 1, ...: what Select() gives for each, in half the time
  // on a processor that works on several at once.
  //   words  as Generate(first, words) left them; at most kMaxDitherBatch
  //   cells  [words.size()]
  // Returns kOk, kInvalidArgument or kCryptoFailed (cells unspecified).
  Status SelectAll(uint32_t first, Span<const uint64_t> words, Span<DitherCell> cells) const;

  // t of a word, in 2^-27: where in its cell zero lies.
  static uint32_t Fraction(uint64_t word) { return static_cast<uint32_t>(word) & kDitherMask; }

  // True if stream 1 extends the layer that a word selects.
  static bool IsExtended(uint64_t word) {
    const auto top = static_cast<uint8_t>(word >> (kDitherBits + kLayerBits - 8));
    return top == 0x00 || top == 0xff;
  }

  // The exact offset s = floor(w * t59 / 2^59) of coordinate j. Reads stream 2 only if it matters.
  Status ExactOffset(uint32_t j, const DitherCell& cell, int32_t* offset_q27) const;

  // The exact offset is at most this much larger than offset_q27. At most 12.
  static int32_t MaxCarry(const DitherCell& cell) {
    return static_cast<int32_t>((cell.remainder + static_cast<uint32_t>(cell.step_q27)) >>
                                kDitherBits);
  }

 private:
  Status WordAt(uint32_t stream, uint32_t j, uint64_t* word) const;

  Key key_;
  DitherKind kind_ = DitherKind::kGaussian;
  DitherEngine engine_;
};

namespace lrq {

// r and g of one layer, Q27, each within 0.6 * 2^-27 of the real function at (p96 + 1/2) / 2^96,
// where p96 = p_high * 2^64 + p_low.
struct LayerEdges {
  int32_t r_q27;
  int32_t g_q27;
};
LayerEdges LayerFromProbability(uint32_t p_high, uint64_t p_low);

// The portable DitherEngine::CellsFunction.
void ComputeCells(Span<const uint64_t> words, Span<DitherCell> cells);

}  // namespace lrq
}  // namespace sotto

#endif  // SOTTO_DITHER_H_
