// The codec `float32`: the update plus Gaussian noise, as floats. Part of sotto::server/codec.
//
// This is Gau-SGD, the uncompressed mechanism that Gau-LRQ is compared with. Each device adds N(0,
// sigma^2) to each coordinate of its clipped update and sends the coordinate in 4 bytes,
// little-endian binary32.
// Source: Yan, Li, Lan, Wu, Song, "Layered Randomized Quantization for Communication-Efficient and
// Privacy-Preserving Distributed Learning", Section VII.
//
// Epsilon: with the same sigma and plan it would equal Gau-LRQ's epsilon if the noise were ideal.
// The noise is drawn and added in floating point, and nothing here bounds what floating point leaks
// (Mironov, "On Significance of the Least Significant Bits for Differential Privacy", 2012). There
// is no certificate, so the figure is for comparison and no guarantee.
//
// Immutable: any thread may call any method.
#pragma once

#include "codec/baseline.h"

namespace sotto::server::baseline {

class GaussianFloat32 : public Baseline {
 public:
  using Baseline::Baseline;

  size_t MaxSize(uint32_t coordinates) const override { return size_t{4} * coordinates; }
  std::vector<uint8_t> Encode(const Key& key, Span<const int32_t> values) const override;
  bool Decode(ByteSpan encoded, Span<int32_t> noisy) const override;
};

}  // namespace sotto::server::baseline
