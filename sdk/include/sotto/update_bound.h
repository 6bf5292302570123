// The bound that a decoder enforces on an update's norm, in integers. Part of sotto/lrq.
//
// Problem. An encoder clips its update, but a decoder cannot see the encoded values v. It sees only
// the integers m, and it knows every cell. So it knows the interval that held each v.
//
// Notation. w, s and v are as in quantizer.h, s the exact offset. I_j(m) is the set of the
// integers v with Quantize(v) = m in coordinate j, and D_j(m) = min |v| over I_j(m): the distance
// from zero to the cell. S = floor((clip_l2 / quantizer_scale * 2^20)^2), of the two float32 values
// exactly. The test: the sum of D_j(m_j)^2 over an update's coordinates is at most S.
//
//   Lemma 1. I_j(m) = {v : (m - 1) w + s <= 128 v < m w + s}. Hence D_j(m) is
//     ceil(((m - 1) w + s) / 128) for m >= 1, else max(0, floor(-(m w + s) / 128) + 1) if
//     m w + s <= 0, else 0. Proof: Quantize() is floor((128 v + w - s) / w); 0 <= s < w; the least
//     integer not below x / 128 is ceil(x / 128), and -v > -x / 128 is v < x / 128.
//   Lemma 2. The encoder's integers satisfy sum v_j^2 <= S. Proof: ScaleToQ20() is floor(a_j F) in
//     magnitude, or less where the box clamps it. The a_j are the aligned magnitudes, integers. F
//     is at most (C * 2^20 / scale) / N, where N >= sqrt(sum a_j^2): the norm is rounded up, each
//     quotient down. If the update is not clipped, F is smaller still. So sum v_j^2 <= F^2 sum
//     a_j^2 <= (C * 2^20 / scale)^2, and a sum of integers is at most the floor. No step of this
//     proof uses a float operation.
//   Lemma 3. The test refuses no honest update. Proof: both codes carry m_j = Quantize(v_j), so
//     v_j is in I_j(m_j) and D_j(m_j)^2 <= v_j^2. Add up, and use lemma 2.
//   Lemma 4. An update that the test accepts has the integers of an honest encoding: let v_j be the
//     element of I_j(m_j) that is nearest to zero. Then sum v_j^2 <= S, and v_j encodes to m_j. So
//     a sender of any bytes can choose only a v of the bounded norm, with knowledge of the dither.
//     (server/PRIVACY.md says how much that choice gives.)
//   Lemma 5. Nothing overflows. S is at most 2^80, because a task's clip_l2 is at most 2^20
//     quantizer_scale. Before the test a decoder checks that some |v| <= 2^30 encodes to
//     m. So D_j(m) <= 2^30 and D_j(m)^2 <= 2^60. At most 2^24 + 1 squares add up to less than 2^85
//     in a Wide. The edges (m - 1) w + s and m w + s are within 2^37 + 2 * 2^31 of zero: Q27 in
//     int64.
//
// The extra coordinates (update_codec.h) are tested separately. The clip bit must have the m of one
// of its two values. The accuracy must have an m between the m of its two ends; Quantize() rises
// with v, so a v between the ends encodes to each of them. With private noise v carries noise that
// has no bound, so the limit is a quantile: the decoder chooses max_squares_q40
// (server/src/codec/lrq_codec.h).
//
// Pure functions, safe in any thread. Time depends on the integers m, which came over the wire.
#pragma once

#include <cstdint>

#include "sotto/dither.h"
#include "sotto/num.h"
#include "sotto/span.h"
#include "sotto/status.h"

namespace sotto {

// The conditions of a decoder on the integers of an update.
struct UpdateBound {
  Wide max_squares_q40;  // on the sum of squared distances, Q40, extra coordinates left out
  // The extra coordinates, the last ones of the update, in this order. 0: there is none.
  uint32_t clip_bit_q20 = 0;  // magnitude
  uint32_t accuracy_q20 = 0;  // largest magnitude

  uint32_t extras() const { return (clip_bit_q20 == 0 ? 0 : 1) + (accuracy_q20 == 0 ? 0 : 1); }
};

// S, exactly. Both arguments are positive and normal, clip_l2 at most kMaxClipInScales
// quantizer_scale (TrainTask::Validate() demands it).
Wide MaxSquaresQ40(float clip_l2, float quantizer_scale);

// Adds the squared distances D_j(m_j)^2 of coordinates first, first + 1, ... to *squares.
//   m  [cells.size()] such that some |v| <= kMaxValueQ20 encodes to m
// Returns kOk or kCryptoFailed (squares unspecified).
Status AddSquaredDistances(const Dither& dither, uint32_t first, Span<const DitherCell> cells,
                           Span<const int32_t> m, Wide* squares);

// Whether coordinate j's integer m is the one of +clip_bit_q20 or of -clip_bit_q20. Returns kOk,
// kOutOfRange if it is neither, or kCryptoFailed.
//   clip_bit_q20  at most kMaxValueQ20
Status CheckClipBit(const Dither& dither, uint32_t j, const DitherCell& cell, int32_t m,
                    uint32_t clip_bit_q20);

// Whether coordinate j's integer m is the one of a value in [-accuracy_q20, accuracy_q20]. Returns
// as CheckClipBit().
//   accuracy_q20  at most kMaxValueQ20
Status CheckAccuracy(const Dither& dither, uint32_t j, const DitherCell& cell, int32_t m,
                     uint32_t accuracy_q20);

}  // namespace sotto
