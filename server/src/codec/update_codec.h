// How an update becomes bytes and comes back: one interface for all mechanisms. Part of
// sotto::server/codec.
//
// A codec serves one attempt: it knows the task that the attempt's devices were given. It keeps no
// other state, so any thread may call any method. The table of all codecs is codecs.h.
#ifndef SOTTO_CODEC_UPDATE_CODEC_H_
#define SOTTO_CODEC_UPDATE_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aggregate/accumulator.h"
#include "sotto/crypto.h"
#include "sotto/span.h"

namespace sotto::server {

// Where an update comes from. References and spans are valid during the call.
struct UpdateOrigin {
  ByteSpan device_id;
  const Key& secret;  // of that device
  ByteSpan nonce;     // [kNonceSize] what the device drew for this update
};

class UpdateCodec {
 public:
  virtual ~UpdateCodec() = default;

  // Bytes; no encoded update is longer.
  virtual size_t MaxSize(uint32_t coordinates) const = 0;

  // Model units of one unit of the sum.
  virtual double SumUnit() const = 0;

  // Decodes one complete update and adds it to the sum, all of it or nothing. False: no honest
  // device can have sent these bytes. The decoded values are wiped.
  virtual bool Add(const UpdateOrigin& origin, ByteSpan encoded, Accumulator& sum) const = 0;

  // Adds what a device whose update is zero would bring: the same noise, exactly. Nothing if the
  // codec has no noise.
  //   number  of this zero update in the attempt: the server's key and this number decide the noise
  // Throws std::runtime_error if a key or the noise fails.
  virtual void AddZeroUpdate(const Key& server_key, uint32_t number, Accumulator& sum) const = 0;

  // The device's side of a codec that no device speaks: adds noise and encodes.
  //   key     of this update alone; all of its randomness derives from it
  //   values  [d] Q20, units of the noise's deviation, clipped (sotto/update_scale.h)
  // Throws std::runtime_error if the randomness fails, and std::logic_error if devices encode
  // their updates themselves (CodecInfo::servable).
  virtual std::vector<uint8_t> Encode(const Key& key, Span<const int32_t> values) const;
};

}  // namespace sotto::server

#endif  // SOTTO_CODEC_UPDATE_CODEC_H_
