// The base of the codecs that Gau-LRQ is compared with, in simulations only, never on a network.
// Also what these codecs are made of: random values and packed integers. Part of
// sotto::server/codec.
//
// A simulated device trains with the SDK, as for any codec. Its clipped update then goes through
// Encode() instead of the SDK's encoder, so the update is really encoded to bytes and decoded.
//
// Immutable unless a class says otherwise: any thread may call any method.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "codec/update_codec.h"
#include "sotto/messages.h"
#include "sotto/research/codec.h"
#include "sotto/span.h"

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

// Their randomness is RandomValues (sotto/research/codec.h), in floating point.

// Codes: integers of a fixed number of bits, packed into bytes, lowest bit first.

// The number of bits of the integer `largest`; at least 1.
int BitsFor(uint32_t largest);

// Bytes of `count` codes.
constexpr size_t CodesSize(size_t count, int bits) {
  return (count * static_cast<size_t>(bits) + 7) / 8;
}

// Appends the codes, each below 2^bits, to `out`. 1 <= bits <= 24. Zero bits fill the last byte.
void AppendCodes(Span<const uint32_t> codes, int bits, std::vector<uint8_t>* out);

// The inverse of AppendCodes(). Returns false unless `bytes` has exactly the size of the codes and
// ends with zero bits.
bool ReadCodes(ByteSpan bytes, int bits, Span<uint32_t> codes);

}  // namespace sotto::server::baseline
