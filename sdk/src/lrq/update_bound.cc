#include "sotto/update_bound.h"

#include "base/exact_arithmetic.h"
#include "sotto/quantizer.h"

namespace sotto {
namespace {

constexpr int kQ20ToQ27 = 7;

// D_j(m) of lemma 1, were s the offset_q27 plus `carry`.
uint32_t DistanceAt(const DitherCell& cell, int32_t m, int32_t carry) {
  const int64_t offset = int64_t{cell.offset_q27} + carry;
  if (m > 0) {
    const int64_t lower = (int64_t{m} - 1) * cell.step_q27 + offset;  // >= 0
    return static_cast<uint32_t>((lower + (1 << kQ20ToQ27) - 1) >> kQ20ToQ27);
  }
  const int64_t upper = int64_t{m} * cell.step_q27 + offset;
  return upper > 0 ? 0 : static_cast<uint32_t>((-upper >> kQ20ToQ27) + 1);
}

Status Distance(const Dither& dither, uint32_t j, const DitherCell& cell, int32_t m,
                uint32_t* distance) {
  *distance = DistanceAt(cell, m, 0);
  // The distance is monotone in s: if both ends of the carry agree, the exact one is not needed.
  if (*distance == DistanceAt(cell, m, Dither::MaxCarry(cell))) return Status::kOk;
  int32_t exact = 0;
  if (Status s = dither.ExactOffset(j, cell, &exact); s != Status::kOk) return s;
  *distance = DistanceAt(cell, m, exact - cell.offset_q27);
  return Status::kOk;
}

// The integers of -magnitude and of +magnitude.
struct Ends {
  int32_t lower = 0;
  int32_t upper = 0;
};

Status EndsOf(const Dither& dither, uint32_t j, const DitherCell& cell, uint32_t magnitude_q20,
              Ends* ends) {
  const auto v = static_cast<int32_t>(magnitude_q20);
  if (Status s = Quantize(dither, j, cell, -v, &ends->lower); s != Status::kOk) return s;
  return Quantize(dither, j, cell, v, &ends->upper);
}

}  // namespace

Wide MaxSquaresQ40(float clip_l2, float quantizer_scale) {
  const FloatParts c = SplitFloat(clip_l2);
  const FloatParts q = SplitFloat(quantizer_scale);
  // floor(c^2 2^k / q^2), bit by bit. Squares of mantissas are below 2^48, so the remainder is too.
  const int32_t k = 40 + 2 * (c.exponent - q.exponent);
  const uint64_t divisor = uint64_t{q.mantissa} * q.mantissa;
  const Division whole = Divide(uint64_t{c.mantissa} * c.mantissa, divisor);
  // The quotient is below 4. With k at most 80 it stays below 2^128.
  if (k < 0) return {0, k < -2 ? 0 : whole.quotient >> -k};
  Wide quotient = {0, whole.quotient};
  uint64_t remainder = whole.remainder;
  for (int32_t i = 0; i < k; ++i) {
    remainder <<= 1;
    const bool bit = remainder >= divisor;
    if (bit) remainder -= divisor;
    quotient = {quotient.high << 1 | quotient.low >> 63, quotient.low << 1 | (bit ? 1 : 0)};
  }
  return quotient;
}

Status AddSquaredDistances(const Dither& dither, uint32_t first, Span<const DitherCell> cells,
                           Span<const int32_t> m, Wide* squares) {
  for (uint32_t i = 0; i < cells.size(); ++i) {
    if (m[i] == 0 && cells[i].offset_q27 > 0) continue;  // zero is in the cell
    uint32_t distance = 0;
    if (Status s = Distance(dither, first + i, cells[i], m[i], &distance); s != Status::kOk) {
      return s;
    }
    squares->Add(uint64_t{distance} * distance);
  }
  return Status::kOk;
}

Status CheckClipBit(const Dither& dither, uint32_t j, const DitherCell& cell, int32_t m,
                    uint32_t clip_bit_q20) {
  Ends ends;
  if (Status s = EndsOf(dither, j, cell, clip_bit_q20, &ends); s != Status::kOk) return s;
  return m == ends.lower || m == ends.upper ? Status::kOk : Status::kOutOfRange;
}

Status CheckAccuracy(const Dither& dither, uint32_t j, const DitherCell& cell, int32_t m,
                     uint32_t accuracy_q20) {
  Ends ends;
  if (Status s = EndsOf(dither, j, cell, accuracy_q20, &ends); s != Status::kOk) return s;
  return m >= ends.lower && m <= ends.upper ? Status::kOk : Status::kOutOfRange;
}

}  // namespace sotto
