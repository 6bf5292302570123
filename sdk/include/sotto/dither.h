// The shared randomness of the Gau-LRQ quantizer, in integers. Part of sotto/lrq.
//
// Cells. A cell is one coordinate's step and offset on the real line. It follows from the round key
// alone, so device and server see the same cells. Its distribution is the layered form of the
// standard Gaussian (Gau-LRQ, Definition 3):
//   1. r is drawn from the chi distribution with three degrees of freedom, and
//      g = sqrt(-2 ln(1 - exp(-r^2/2))).
//   2. By a fair coin the cell is (-g, r] or (-r, g]. Its step is w = r + g.
//   3. A uniform t places the lattice of step w at an offset t*w.
// The rounding error is then exactly N(0, 1) and independent of the value.
//
// Numbers. The noise has deviation 1 here; sigma only scales values in and out. Fixed point is
// signed; Qn has n fractional bits.
//
// Keystream: ChaCha20. Coordinate j owns the 64-bit little-endian word j of each stream n = 0, 1,
// 2. Word j of stream 0 has the coin in bit 63, the layer p in bits 27..62 and the dither t in bits
// 0..26. Two extensions are generated only where they matter:
//   stream 1  extends p to 96 bits where its top eight bits are all zeros or all ones: once in 128
//             coordinates, on both sides
//   stream 2  extends t to 59 bits where the low bits can change a result: almost never when
//             encoding, in about 2 % of the coordinates when decoding
// Any range of coordinates can be generated alone, in parallel, or again: the same bits every time.
//
// Widths of p and t:
//   1. Where p is not extended, layers are 2^-36 apart. Their edges r are apart by 2^-36 divided by
//      the density of r: at most 0.15 units of Q27 (at r = 3.66).
//   2. So the relative error of the noise's density is at most half of this distance times r: 2e-9.
//      Rounding the edges to Q27 can cost as much. With a p of 32 bits the bound would be 16 times
//      as large.
//   3. p takes these four bits from t. A shorter t costs a board nothing, and a server some blocks
//      of stream 2. A p of 32 bits that is extended more often would cost both of them one block of
//      stream 1 for each extension.
#pragma once

#include <cstdint>

#include "sotto/crypto.h"

namespace sotto {

enum class DitherKind : uint8_t {
  kGaussian = 1,  // Gau-LRQ: the error is standard Gaussian
  // A constant step of 2^-2 units: subtractively dithered uniform quantization, error uniform in
  // +-2^-3 units. Training WITHOUT privacy, for comparison in the same code.
  kUniform = 2,
};

// Bounds that every Gaussian cell keeps, Q27. The smallest step is at r = g, 2 sqrt(2 ln 2), the
// largest at the last of 2^96 layers.
constexpr int32_t kMinStepQ27 = 316058594;
constexpr int32_t kMaxStepQ27 = 1582218387;
constexpr int32_t kUniformStepQ27 = 1 << 25;

struct DitherCell {
  int32_t step_q27;    // w, in [kMinStepQ27, kMaxStepQ27], or kUniformStepQ27
  int32_t left_q27;    // L in (-step, 0]: the left edge of the error's interval (L, L + w]
  int32_t offset_q27;  // floor(w t / 2^27), in [0, w): at most MaxCarry() below the offset s
  uint32_t remainder;  // w t mod 2^27; with stream 2 it decides how far below
};

constexpr int kLayerBits = 36;   // of p in stream 0
constexpr int kDitherBits = 27;  // of t in stream 0
constexpr uint32_t kDitherMask = (uint32_t{1} << kDitherBits) - 1;

// Coordinates that an encoder generates at once: two ChaCha20 blocks.
constexpr uint32_t kDitherBatch = 16;

// Coordinates that a decoder generates at once: eight ChaCha20 blocks. Some libraries compute them
// in parallel.
constexpr uint32_t kMaxDitherBatch = 64;

// The functions that compute a dither. Every engine gives the same bits; a server has faster ones.
struct DitherEngine {
  KeystreamFunction keystream = ChaCha20Keystream;

  // Writes the cells of Gaussian words whose layers are not extended. For any other word it may
  // write any cell.
  //   words, cells  the same number, at most kMaxDitherBatch
  using CellsFunction = void (*)(Span<const uint64_t> words, Span<DitherCell> cells);
  // null: ComputeCells(). A device that never asks for many cells at once then does not link it.
  CellsFunction cells = nullptr;
};

class Dither {
 public:
  Dither() = default;  // belongs to no update: the key is zero

  Dither(const Key& round_key, DitherKind kind, const DitherEngine& engine = {})
      : key_(round_key), kind_(kind), engine_(engine) {}

  // Fills words[i] with word first + i of stream 0.
  //   first  a multiple of kDitherBatch; first + words.size() <= 2^32
  // Returns kOk, kInvalidArgument or kCryptoFailed (words unspecified).
  Status Generate(uint32_t first, Span<uint64_t> words) const;

  // The cell that `word`, word j of stream 0, selects for coordinate j. Returns kOk or
  // kCryptoFailed (cell unspecified).
  Status Select(uint32_t j, uint64_t word, DitherCell* cell) const;

  // The cells of coordinates first, first + 1, ...: the same as Select() for each, in half the time
  // on a processor that computes several of them in parallel.
  //   words  as Generate(first, words) left them; at most kMaxDitherBatch
  //   cells  [words.size()]
  // Returns kOk, kInvalidArgument or kCryptoFailed (cells unspecified).
  Status SelectAll(uint32_t first, Span<const uint64_t> words, Span<DitherCell> cells) const;

  // t of a word, in units of 2^-27: the position of zero in its cell.
  static uint32_t Fraction(uint64_t word) { return static_cast<uint32_t>(word) & kDitherMask; }

  // True if stream 1 extends the layer that a word selects.
  static bool IsExtended(uint64_t word) {
    const auto top = static_cast<uint8_t>(word >> (kDitherBits + kLayerBits - 8));
    return top == 0x00 || top == 0xff;
  }

  // Streams whose words extend p and t.
  static constexpr uint32_t kLayerStream = 1;
  static constexpr uint32_t kOffsetStream = 2;

  // The cell that Select() gives for a Gaussian word that IsExtended(), where `extension` is the
  // same word of kLayerStream.
  static DitherCell ExtendedCell(uint64_t word, uint64_t extension);

  // What ExactOffset() gives, where `extension` is the coordinate's word of kOffsetStream.
  static int32_t OffsetWith(const DitherCell& cell, uint64_t extension);

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
