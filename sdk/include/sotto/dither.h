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
// word j of each stream n = 0, 1, 2. Word j of stream 0: bit 63 the coin, bits 31..62 the layer p,
// bits 0..30 the dither t. Two extensions are generated only where they matter:
//   stream 1  extends p to 96 bits where its top eight bits are all zeros or all ones
//   stream 2  extends t to 63 bits where the low bits can change a result
// Any range of coordinates can be generated alone, in parallel, or again: the same bits every time.
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
  int32_t left_q27;    // L in (-step, 0): the left edge of the error's interval (L, L + w]
  int32_t offset_q27;  // floor(w t / 2^31), in [0, w): the offset s, or one less than it
  uint32_t remainder;  // w t mod 2^31, decides together with stream 2 which
};

// Coordinates generated at once: two ChaCha20 blocks.
constexpr uint32_t kDitherBatch = 16;

class Dither {
 public:
  Dither(const Key& round_key, DitherKind kind) : key_(round_key), kind_(kind) {}

  // Fills cells[i] with the cell of coordinate first + i.
  //   first  a multiple of kDitherBatch; first + cells.size() <= 2^32
  //   cells  1 to kDitherBatch
  // Returns kOk, kInvalidArgument or kCryptoFailed (cells unspecified).
  Status Generate(uint32_t first, Span<DitherCell> cells) const;

  // The exact offset s = floor(w * t63 / 2^63) of coordinate j. Reads stream 2 only if it matters.
  Status ExactOffset(uint32_t j, const DitherCell& cell, int32_t* offset_q27) const;

  // True if the exact offset may be offset_q27 + 1.
  static bool OffsetIsOpen(const DitherCell& cell) {
    return cell.remainder + static_cast<uint32_t>(cell.step_q27) > (uint32_t{1} << 31);
  }

 private:
  Key key_;
  DitherKind kind_;
};

namespace lrq {

// r and g of one layer, Q27, each within 2^-27 of the real function at (p96 + 1/2) / 2^96, where
// p96 = p_high * 2^64 + p_low.
struct LayerEdges {
  int32_t r_q27;
  int32_t g_q27;
};
LayerEdges LayerFromProbability(uint32_t p_high, uint64_t p_low);

}  // namespace lrq
}  // namespace sotto

#endif  // SOTTO_DITHER_H_
