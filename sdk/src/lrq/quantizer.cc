#include "sotto/quantizer.h"

#include "sotto/num.h"

namespace sotto {
namespace {

constexpr int kQ20ToQ27 = 7;

// floor(a / w) for the small quotients that noise above the signal gives, without a division.
int64_t FloorDivideSmall(int64_t a, int64_t w) {
  if (a >= 0) {
    if (a < w) return 0;
    if (a < 2 * w) return 1;
  } else if (a >= -w) {
    return -1;
  }
  return FloorDivide(a, w);
}

// 63 and not 64: the errors are the integers L+1 .. L+w, one half above the real interval's on
// average, and the rounding takes that half back.
int32_t RoundToQ20(int64_t q27) { return static_cast<int32_t>((q27 + 63) >> kQ20ToQ27); }

}  // namespace

Status Quantize(const Dither& dither, uint32_t j, const DitherCell& cell, int32_t v_q20,
                int32_t* m) {
  if (v_q20 > kMaxValueQ20 || v_q20 < -kMaxValueQ20) return Status::kOutOfRange;
  const int64_t w = cell.step_q27;
  const int64_t shifted = static_cast<int64_t>(v_q20) * (1 << kQ20ToQ27) + w - cell.offset_q27;
  int64_t quotient = FloorDivideSmall(shifted, w);
  // An offset larger by one lowers the quotient only from an exact multiple of w.
  if (quotient * w == shifted && Dither::OffsetIsOpen(cell)) {
    int32_t offset = 0;
    if (Status s = dither.ExactOffset(j, cell, &offset); s != Status::kOk) return s;
    if (offset != cell.offset_q27) --quotient;
  }
  *m = static_cast<int32_t>(quotient);
  return Status::kOk;
}

Status Dequantize(const Dither& dither, uint32_t j, const DitherCell& cell, int32_t m,
                  int32_t* noisy_q20) {
  const int64_t point = static_cast<int64_t>(m) * cell.step_q27 + cell.offset_q27 + cell.left_q27;
  int32_t rounded = RoundToQ20(point);
  if (RoundToQ20(point + 1) != rounded && Dither::OffsetIsOpen(cell)) {
    int32_t offset = 0;
    if (Status s = dither.ExactOffset(j, cell, &offset); s != Status::kOk) return s;
    if (offset != cell.offset_q27) ++rounded;
  }
  *noisy_q20 = rounded;
  return Status::kOk;
}

}  // namespace sotto
