// The codecs of other programs (sotto/research/codec.h), as the job has codecs. Part of
// sotto::server/codec.
//
// Immutable: any thread may call any method.
#pragma once

#include <memory>

#include "codec/baseline.h"
#include "sotto/research/codec.h"

namespace sotto::server::baseline {

class OwnUpdateCodec : public Baseline {
 public:
  OwnUpdateCodec(const OwnCodec& own, const TrainTask& task);

  size_t MaxSize(uint32_t coordinates) const override { return coder_->MaxSize(coordinates); }
  std::vector<uint8_t> Encode(const Key& key, Span<const int32_t> values) const override;
  bool Decode(ByteSpan encoded, Span<int32_t> noisy) const override;

 private:
  std::unique_ptr<const UpdateCoder> coder_;
};

}  // namespace sotto::server::baseline
