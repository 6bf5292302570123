// The base of the codecs that Gau-LRQ is compared with, in simulations only, never on a network.
// Part of sotto::server/codec.
//
// A simulated device trains with the SDK, as for any codec. Its clipped update then goes through
// Encode() instead of the SDK's encoder, so the update is really encoded to bytes and decoded.
//
// Immutable: any thread may call any method.
#pragma once

#include "codec/update_codec.h"
#include "sotto/messages.h"

namespace sotto::server::baseline {

// The common part of all baselines: an update is decoded without the device's secret, to Q20 in
// units of the noise's deviation.
class Baseline : public UpdateCodec {
 public:
  explicit Baseline(const TrainTask& task) : task_(task) {}

  double SumUnit() const override;
  Verdict Add(const UpdateOrigin& origin, ByteSpan encoded, Accumulator& sum) const override;
  void AddZeroUpdate(const Key& server_key, uint32_t number, Accumulator& sum) const override;

  std::vector<uint8_t> Encode(const Key& key, Span<const int32_t> values) const override = 0;

  // The noisy values of one complete update.
  //   noisy  [d] Q20, units of the noise's deviation; unspecified after a failure
  // Returns false for bytes that Encode() cannot have written.
  virtual bool Decode(ByteSpan encoded, Span<int32_t> noisy) const = 0;

 protected:
  const TrainTask& task() const { return task_; }

  // Deviation of the noise, model units.
  double noise_sigma() const { return static_cast<double>(task_.quantizer_scale); }

 private:
  TrainTask task_;
};

}  // namespace sotto::server::baseline
