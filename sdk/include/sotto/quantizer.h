// Gau-LRQ on one coordinate: value -> integer m -> value plus Gaussian noise. Part of sotto/lrq.
//
// Device and server hold the same cell (w, L, s) of a coordinate; only m travels.
//   encode  m = floor((v + w - s) / w)                               Gau-LRQ, Eq. (11)
//   decode  e = m w + s + L, rounded to Q20                          Gau-LRQ, Eq. (12)
// v is Q20 and unit noise; the arithmetic is exact in Q27, so e - v is one of the integers L+1 ..
// L+w. Only the Q20 value leaves the decoder: an unrounded one could betray its layer.
#ifndef SOTTO_QUANTIZER_H_
#define SOTTO_QUANTIZER_H_

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

// The integers that encode one and the same v in coordinates first, first + 1, ..., each as
// Quantize() gives it.
//   m  [cells.size()]
Status QuantizeAll(const Dither& dither, uint32_t first, Span<const DitherCell> cells,
                   int32_t v_q20, Span<int32_t> m);

// True if v is encoded as m = 0 whatever layer a cell with dither t / 2^31 selects: while values
// are small against the noise, most need no layer to be encoded. Never true for kUniform. t < 2^31.
bool IsZeroInEveryLayer(DitherKind kind, uint32_t t, int32_t v_q20);

// The noisy value that m stands for: v plus the rounding error.
//   m  as a Quantize() of any value within the format's limit can give; the caller has checked it
// |*noisy_q20| < 2^30 + 2^24, so 2^32 of them add up in 64 bits. Returns kOk or kCryptoFailed.
Status Dequantize(const Dither& dither, uint32_t j, const DitherCell& cell, int32_t m,
                  int32_t* noisy_q20);

// The same of coordinates first, first + 1, ....
//   m, noisy_q20  [cells.size()]
Status DequantizeAll(const Dither& dither, uint32_t first, Span<const DitherCell> cells,
                     Span<const int32_t> m, Span<int32_t> noisy_q20);

}  // namespace sotto

#endif  // SOTTO_QUANTIZER_H_
