// The codec `qg`: Gaussian noise, then quantization to b bits. Part of sotto::server/codec.
//
// This is QG-SGD. Each device adds N(0, sigma^2) to its clipped update. Let y be the noisy update
// and R its largest magnitude. Each coordinate of y is rounded to one of its two neighbours among
// 2^b levels spread evenly over [-R, R], at random, so that the mean is y (Alistarh et al., "QSGD",
// 2017).
// Source: Yan, Li, Lan, Wu, Song, "Layered Randomized Quantization for Communication-Efficient and
// Privacy-Preserving Distributed Learning", Algorithm 2 and Lemma 6.
//
// b is the least number of bits for which neighbouring levels are at most 2 sigma sqrt(2 ln 2)
// apart, the narrowest cell of Gau-LRQ: b = ceil(log2(R / (sigma sqrt(2 ln 2)) + 1)). The paper
// uses the norm of the update without noise instead of R. Then b and the error would depend on the
// update in a way that the noise does not cover. Here everything that a device sends is computed
// from y.
//
// Epsilon: y is the noisy update of `float32`, and the rest is post-processing of y. So the
// statement in gaussian_float32.h applies: Gau-LRQ's figure if the noise were ideal, without a
// certificate. The quantization error adds to the noise: same epsilon, less accuracy.
//
// Encoded update: R as u32 little endian, Q20 in units of sigma, rounded up, at least 1; then the d
// levels, 0 .. 2^b - 1, b bits each.
//
// Immutable: any thread may call any method.
#pragma once

#include "codec/baseline.h"

namespace sotto::server::baseline {

class QuantizedGaussian : public Baseline {
 public:
  using Baseline::Baseline;

  size_t MaxSize(uint32_t coordinates) const override;
  std::vector<uint8_t> Encode(const Key& key, Span<const int32_t> values) const override;
  bool Decode(ByteSpan encoded, Span<int32_t> noisy) const override;

  // The part of Encode() after its random numbers are drawn, for other sources of random numbers.
  //   noisy  [d] the values plus noise, Q20; below 2^31 in magnitude
  //   coins  [d] in [0, 1): choose which of its two levels each value is rounded to
  static std::vector<uint8_t> EncodeNoisy(Span<const double> noisy, Span<const double> coins);
};

// b for a range R, Q20. 1 <= range_q20 < 2^31.
int QuantizerBits(uint32_t range_q20);

}  // namespace sotto::server::baseline
