// From a float32 update to clipped integers. Part of sotto/lrq.
//
// The quantizer works on v = update / quantizer_scale, as Q20. Under Gaussian dither
// quantizer_scale is the noise's deviation sigma, so v is in units of sigma.
//
// Clipping to the L2 norm C (Gau-LRQ, Eq. (10)) is done here, in integers: floats are split into
// mantissa and exponent, the factor is rounded down and every v is rounded toward zero. So the sum
// of squares of v is at most (C * 2^20 / quantizer_scale)^2, whatever rounding floating point did
// before. The sensitivity that the accountant uses is a theorem about these integers.
//
// The box. The format carries |v| <= kMaxValueQ20, 1,024 scales. If C is larger, the nearest value
// in the box [-kMaxValueQ20, kMaxValueQ20] replaces every v outside it. Let K(v) be v with every
// coordinate clamped so, and B = C * 2^20 / quantizer_scale.
//   Lemma 1. |K(v)| <= |v| <= B: no coordinate grows.
//   Lemma 2. Replacing a device's data moves K(v) by at most 2 B, adding or removing the device by
//     at most B. Proof: lemma 1, and the triangle inequality. So the sensitivities 2 C and C hold.
//   Lemma 3. |K(v) - K(v')| <= |v - v'|: the projection onto a convex set. So a smaller bound on
//     the difference of two clipped updates holds for K of them, too.
//   Lemma 4. If C is at most 1,024 quantizer_scale, then K(v) = v: the box contains the ball.
// The decoded value of a clamped coordinate is the end of the box plus the noise. The update loses
// the part outside the box; no guarantee depends on that part.
//
// The same bits on every CPU. The only state is the struct UpdateScale: safe in any thread.
#pragma once

#include <cstdint>

#include "sotto/span.h"
#include "sotto/status.h"

namespace sotto {

// The most parameters of a model.
constexpr uint32_t kMaxParameters = uint32_t{1} << 24;

// The largest clipping bound, in quantizer scales.
constexpr float kMaxClipInScales = 1048576.0f;

// Up to this clipping bound, in quantizer scales, every clipped update is in the box.
constexpr float kMaxClipInBox = 1024.0f;

struct UpdateScale {
  int32_t max_exponent = 1;  // biased binary32 exponent of the largest coordinate
  uint32_t multiplier = 0;   // |v| = floor(mantissa * multiplier / 2^shift)
  uint32_t shift = 63;
  int32_t max_value_q20 = 0;  // the largest |v|, at most kMaxValueQ20
  // Root mean square of v before the box, to about a percent; at most max_value_q20.
  int32_t rms_q20 = 0;
  bool clipped = false;  // the update's norm was above clip_l2
};

// Two passes over the update: largest exponent, then norm and largest value.
//   update           [d] float32, model units, 1 <= d <= kMaxParameters
//   clip_l2          C > 0, model units, a normal float
//   quantizer_scale  > 0, model units, a normal float; at least clip_l2 / kMaxClipInScales
// Returns kOk, kInvalidArgument, or kNotFinite if a coordinate is NaN or infinite.
Status ComputeUpdateScale(Span<const float> update, float clip_l2, float quantizer_scale,
                          UpdateScale* scale);

// One coordinate of the update that the scale was computed for: v in Q20, rounded toward zero and
// in the box. Rounding takes less than 2^-18 scales from |v| if clip_l2 is at most kMaxClipInBox
// quantizer_scale, less than 2^-8 scales in any case.
int32_t ScaleToQ20(float value, const UpdateScale& scale);

// ScaleToQ20() of several coordinates. v_q20: [values.size()]
void ScaleAllToQ20(Span<const float> values, const UpdateScale& scale, Span<int32_t> v_q20);

}  // namespace sotto
