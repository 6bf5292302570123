#include "sotto/quantizer.h"

#include "sotto/num.h"

namespace sotto {
namespace {

constexpr int kQ20ToQ27 = 7;

// a = quotient * w + remainder, 0 <= remainder < w.
struct FloorDivision {
  int32_t quotient;
  int32_t remainder;
};

// While the noise is larger than the signal, most quotients are -1, 0 or 1: these need no division.
// -1 and 0 are computed without a branch, because a processor could not predict it.
//   a  below 2^31 w in magnitude
FloorDivision FloorDivide(int64_t a, int32_t w) {
  const auto below = static_cast<int32_t>(a >> 63);  // -1 or 0
  const int64_t rest = a + (w & below);
  if (static_cast<uint64_t>(rest) < static_cast<uint64_t>(w)) {
    return {below, static_cast<int32_t>(rest)};
  }
  if (a >= w && a - w < w) return {1, static_cast<int32_t>(a - w)};
  // Below 0 the complements are divided: -1 - a = q w + r gives a = (-1 - q) w + (w - 1 - r).
  const Division d = Divide(static_cast<uint64_t>(a ^ below), static_cast<uint32_t>(w));
  const auto quotient = static_cast<int32_t>(d.quotient) ^ below;
  const auto remainder = static_cast<int32_t>(d.remainder);
  return {quotient, below == 0 ? remainder : w - 1 - remainder};
}

// Adds 63 and not 64. The errors are the integers L+1 .. L+w: on average one half above the real
// interval's errors. This rounding subtracts that half again.
int32_t RoundToQ20(int64_t q27) { return static_cast<int32_t>((q27 + 63) >> kQ20ToQ27); }

}  // namespace

Status Quantize(const Dither& dither, uint32_t j, const DitherCell& cell, int32_t v_q20,
                int32_t* m) {
  if (v_q20 > kMaxValueQ20 || v_q20 < -kMaxValueQ20) return Status::kOutOfRange;
  const int64_t v_q27 = static_cast<int64_t>(v_q20) * (1 << kQ20ToQ27);
  const FloorDivision division =
      FloorDivide(v_q27 + (cell.step_q27 - cell.offset_q27), cell.step_q27);
  int32_t quotient = division.quotient;
  // The exact offset is larger by at most MaxCarry(). It lowers the quotient if the difference is
  // above the remainder.
  if (division.remainder < Dither::MaxCarry(cell)) {
    int32_t offset = 0;
    if (Status s = dither.ExactOffset(j, cell, &offset); s != Status::kOk) return s;
    if (offset - cell.offset_q27 > division.remainder) --quotient;
  }
  *m = quotient;
  return Status::kOk;
}

Status QuantizeAll(const Dither& dither, uint32_t first, Span<const DitherCell> cells,
                   int32_t v_q20, Span<int32_t> m) {
  for (uint32_t i = 0; i < cells.size(); ++i) {
    if (Status s = Quantize(dither, first + i, cells[i], v_q20, &m[i]); s != Status::kOk) return s;
  }
  return Status::kOk;
}

Status Dequantize(const Dither& dither, uint32_t j, const DitherCell& cell, int32_t m,
                  int32_t* noisy_q20) {
  const int64_t point = static_cast<int64_t>(m) * cell.step_q27 + cell.offset_q27 + cell.left_q27;
  int32_t rounded = RoundToQ20(point);
  if (RoundToQ20(point + Dither::MaxCarry(cell)) != rounded) {
    int32_t offset = 0;
    if (Status s = dither.ExactOffset(j, cell, &offset); s != Status::kOk) return s;
    rounded = RoundToQ20(point + offset - cell.offset_q27);
  }
  *noisy_q20 = rounded;
  return Status::kOk;
}

int32_t DequantizeAt(const DitherCell& cell, int32_t m, int32_t offset_q27) {
  return RoundToQ20(static_cast<int64_t>(m) * cell.step_q27 + offset_q27 + cell.left_q27);
}

}  // namespace sotto
