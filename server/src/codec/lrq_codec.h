// The codecs `gau-lrq` and `uniform-dither`: the SDK's codec. Part of sotto::server/codec.
//
// A device quantizes with a dither that it shares with the server (sdk/LRQ.md). The server
// regenerates the dither from the device's secret and subtracts it. With Gaussian dither, the
// remaining error is Gaussian noise, which gives the privacy. With uniform dither, the remaining
// error is a small rounding error, and there is no privacy.
//
// The bound on an update's norm is enforced (BoundOf()): an update is added only if it has the
// integers of an honest encoding of some update within the bound, and one of the clip bit's two
// values.
//
// Immutable: any thread may call any method.
#pragma once

#include <cstddef>

#include "codec/update_codec.h"
#include "sotto/messages.h"
#include "sotto/update_bound.h"

namespace sotto::server {

// The unit of the sum is 2^-20 times the task's quantizer_scale.
class LrqCodec : public UpdateCodec {
 public:
  explicit LrqCodec(const TrainTask& task) : task_(task) {}

  size_t MaxSize(uint32_t coordinates) const override;
  double SumUnit() const override;
  Verdict Add(const UpdateOrigin& origin, ByteSpan encoded, Accumulator& sum) const override;
  // In trust mode private-noise a zero update also carries private noise. Otherwise the variance of
  // the sum would reveal how many devices reported.
  void AddZeroUpdate(const Key& server_key, uint32_t number, Accumulator& sum) const override;

 private:
  TrainTask task_;
};

// The bound on the norm of an attempt's updates that the server enforces.
// sotto/update_bound.h says what the bound is and proves that it refuses no honest update;
// plans/private_noise.h derives the limit for updates with private noise.
//
// The task is valid and its coding is not kFloat32.
//   coordinates  of an encoded update, extra ones included
UpdateBound BoundOf(const TrainTask& task, size_t coordinates);

}  // namespace sotto::server
