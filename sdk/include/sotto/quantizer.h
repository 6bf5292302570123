// Gau-LRQ on one coordinate: value -> integer m -> value plus Gaussian noise. Part of sotto/lrq.
//
// Device and server compute the same cell (w, L, s) of a coordinate (dither.h); the device sends
// only m.
//   encode  m = floor((v + w - s) / w)                               Gau-LRQ, Eq. (11)
//   decode  e = m w + s + L, rounded to Q20                          Gau-LRQ, Eq. (12)
// v is Q20, in units of the noise's deviation. The arithmetic is exact in Q27, so e - v before
// rounding is one of the integers L+1 .. L+w. Only the value rounded to Q20 leaves the decoder: an
// unrounded value could reveal its layer. The functions keep no state: safe in any thread.
#pragma once

#include "sotto/dither.h"

namespace sotto {

// The largest magnitude that the format carries: 2^10 noise deviations, in Q20.
constexpr int32_t kMaxValueQ20 = 1 << 30;

// The integer that encodes v in coordinate j.
//   v_q20  |v_q20| <= kMaxValueQ20, else kOutOfRange
//   cell   coordinate j of `dither`
// Returns kOk, kOutOfRange or kCryptoFailed (m untouched). Its time depends on the value.
Status Quantize(const Dither& dither, uint32_t j, const DitherCell& cell, int32_t v_q20,
                int32_t* m);

// The integers that encode the same v in coordinates first, first + 1, ..., each as Quantize()
// gives it.
//   m  [cells.size()]
Status QuantizeAll(const Dither& dither, uint32_t first, Span<const DitherCell> cells,
                   int32_t v_q20, Span<int32_t> m);

// True if v is encoded as m = 0 in every layer that a cell with dither t / 2^27 can have. While
// values are small against the noise, most are encoded without computing a layer. Never true for
// kUniform. t < 2^27.
//
// m = 0 means s - w <= v < s, and s lies between floor(w t / 2^27) and floor(w (t + 1) / 2^27). So
// a larger w only widens the interval, and the smallest step decides.
inline bool IsZeroInEveryLayer(DitherKind kind, uint32_t t, int32_t v_q20) {
  // Both edges lie within kMinStepQ27, about 2^28, of zero. So no value beyond 2^24, in Q20, lies
  // between them.
  constexpr int32_t kFar = 1 << 24;
  if (kind != DitherKind::kGaussian || v_q20 >= kFar || v_q20 <= -kFar) return false;
  const int32_t v_q27 = v_q20 * 128;
  const uint64_t product = static_cast<uint64_t>(kMinStepQ27) * t;
  const auto below = static_cast<int32_t>(product >> kDitherBits);
  const auto above = static_cast<int32_t>((product + kMinStepQ27) >> kDitherBits);
  return above - kMinStepQ27 <= v_q27 && v_q27 < below;
}

// The noisy value that m stands for: v plus the rounding error.
//   m  a result of Quantize() for some value within the format's limit; the caller checks this
// |*noisy_q20| < 2^30 + 2^24, so 2^32 of them add up in 64 bits. Returns kOk or kCryptoFailed.
Status Dequantize(const Dither& dither, uint32_t j, const DitherCell& cell, int32_t m,
                  int32_t* noisy_q20);

// Dequantize() with the exact offset.
int32_t DequantizeAt(const DitherCell& cell, int32_t m, int32_t offset_q27);

}  // namespace sotto
