// The codec `bq`: quantization, then binomial noise. Part of sotto::server/codec.
//
// This is cpSGD. Each coordinate is rounded to one of its two neighbours among k levels spread
// evenly over [-X, X], at random, so that the mean is the value. Then Bin(m, 1/2) - m/2 steps are
// added.
// Source: Agarwal, Suresh, Yu, Kumar, McMahan, "cpSGD: Communication-efficient and
// differentially-private distributed SGD", 2018, the protocol pi_sk(Bin(m, p)) without rotation.
//
// Parameters:
// - m = 64, the coins of one word.
// - The step is sigma / 4. The noise's variance is then m / 4 steps^2 = sigma^2, as in the other
//   mechanisms.
// - X = L steps, the least multiple of the step above the clipping bound C, since a coordinate may
//   be as large as C. So L = floor(4 C / sigma) + 1 and k = 2 L + 1.
// - A device sends integers in [-L - 32, L + 32]. Only their values depend on the update.
//
// Epsilon: not accounted. Binomial noise does not give the privacy of Gaussian noise of the same
// variance. There is no accountant for it here that composes over rounds and counts sampling, so no
// figure is printed. Accuracy and bytes compare at the same variance, not at the same epsilon.
//
// Encoded update: the d integers plus L + 32, each in the least number of bits that holds 2 L + 64.
//
// Immutable: any thread may call any method.
#pragma once

#include "codec/baseline.h"

namespace sotto::server::baseline {

class QuantizedBinomial : public Baseline {
 public:
  // C / sigma, the task's clip_l2 / quantizer_scale, must be in (0, 1024].
  explicit QuantizedBinomial(const TrainTask& task);

  size_t MaxSize(uint32_t coordinates) const override;
  std::vector<uint8_t> Encode(const Key& key, Span<const int32_t> values) const override;
  bool Decode(ByteSpan encoded, Span<int32_t> noisy) const override;

 private:
  int32_t offset_;  // L + 32
  int bits_;
};

}  // namespace sotto::server::baseline
