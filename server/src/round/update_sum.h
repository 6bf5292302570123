// The noisy sum of the updates of one attempt. Part of sotto::server/round.
//
// An update is decoded straight into it and forgotten: what single devices sent is never kept. It
// is topped up to the noise of the plan before anybody reads it.
#ifndef SOTTO_ROUND_UPDATE_SUM_H_
#define SOTTO_ROUND_UPDATE_SUM_H_

#include <cstdint>
#include <memory>

#include "aggregate/accumulator.h"
#include "round/devices.h"
#include "round/job_config.h"
#include "sotto/messages.h"

namespace sotto::server {

class UpdateSum {
 public:
  // An empty sum.
  //   task  what the attempt asks of each of its devices
  UpdateSum(const JobConfig& config, const TrainTask& task);

  const UpdateCodec& codec() const { return *codec_; }

  // No encoded update is longer, bytes.
  size_t MaxUpdateSize() const;

  // Decodes one complete update and adds it, all of it or nothing; false: no honest device can have
  // sent it. Any number of threads may add at a time.
  //   nonce  [kNonceSize] what the device drew for this update
  bool Add(const Device& owner, ByteSpan nonce, ByteSpan encoded);

  // Adds `missing` zero updates under keys of the server's own, on `threads` threads.
  // Throws std::runtime_error if a key or the noise fails.
  void TopUp(uint32_t missing, const Key& server_key, int threads);

  // [config.coordinates()] in units of codec().SumUnit(). Not while others add.
  Span<const int64_t> sums() const { return sum_.sums(); }

 private:
  std::unique_ptr<const UpdateCodec> codec_;
  Accumulator sum_;
};

}  // namespace sotto::server

#endif  // SOTTO_ROUND_UPDATE_SUM_H_
