// The codec `none`: exact updates, little-endian float32, WITHOUT privacy. Part of
// sotto::server/codec.
//
// Immutable: any thread may call any method.
#pragma once

#include "codec/update_codec.h"
#include "sotto/messages.h"

namespace sotto::server {

// The unit of the sum is 2^-40 times the smallest power of two above the clipping bound.
//
// The norm is enforced: an update that is longer than clip_l2 by more than a part in 1024 is scaled
// to clip_l2, and none is refused for its norm. An honest update exceeds clip_l2 by the rounding of
// a device's float arithmetic, far below that part, and is added as it is.
class ExactCodec : public UpdateCodec {
 public:
  explicit ExactCodec(const TrainTask& task);

  size_t MaxSize(uint32_t coordinates) const override { return size_t{4} * coordinates; }
  double SumUnit() const override { return unit_; }
  // kMalformed for a NaN or an infinity.
  Verdict Add(const UpdateOrigin& origin, ByteSpan encoded, Accumulator& sum) const override;
  void AddZeroUpdate(const Key&, uint32_t, Accumulator&) const override {}

 private:
  bool Decode(ByteSpan encoded, std::vector<int64_t>* values) const;

  double clip_l2_;
  double unit_;
};

}  // namespace sotto::server
