// `bq`: quantization, then binomial noise. Part of sotto::server/codec.
//
// cpSGD (Agarwal, Suresh, Yu, Kumar, McMahan, "cpSGD: Communication-efficient and
// differentially-private distributed SGD", 2018, the protocol pi_sk(Bin(m, p)) without rotation):
// each coordinate goes to one of its two neighbours among k levels spread evenly over [-X, X], at
// random so that the mean is the value, and Bin(m, 1/2) steps are added, less their mean m/2.
//
// Parameters: m = 64, the coins of one word; a step of sigma / 4, so that the noise's variance is
// m / 4 steps^2 = sigma^2, that of the other mechanisms; X = L steps, the least above the clipping
// bound C, as a coordinate may be as large as C. So k = 2 L + 1 with L = floor(4 C / sigma) + 1,
// and what is sent is an integer of [-L - 32, L + 32]. Nothing but the values depends on the
// update.
//
// Its epsilon: not accounted. The privacy of binomial noise is not that of the Gaussian of the same
// variance, and there is no accountant for it here that composes over rounds and counts sampling;
// so no figure is printed. Accuracy and bytes compare at the same variance, not at the same
// epsilon.
//
// Encoded update: the d integers plus L + 32, in as few bits as 2 L + 64 needs.
#ifndef SOTTO_CODEC_QUANTIZED_BINOMIAL_H_
#define SOTTO_CODEC_QUANTIZED_BINOMIAL_H_

#include "codec/baseline.h"

namespace sotto::server::baseline {

class QuantizedBinomial : public Baseline {
 public:
  // The task's clip_l2 / quantizer_scale, C / sigma, is in (0, 1024].
  explicit QuantizedBinomial(const TrainTask& task);

  size_t MaxSize(uint32_t coordinates) const override;
  std::vector<uint8_t> Encode(const Key& key, Span<const int32_t> values) const override;
  bool Decode(ByteSpan encoded, Span<int32_t> noisy) const override;

 private:
  int32_t offset_;  // L + 32
  int bits_;
};

}  // namespace sotto::server::baseline

#endif  // SOTTO_CODEC_QUANTIZED_BINOMIAL_H_
