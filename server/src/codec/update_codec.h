// How an update is encoded, decoded and added up: the interface of all codecs. Part of
// sotto::server/codec.
//
// A codec serves one attempt and holds the task of the attempt's devices. It keeps no other state,
// so any thread may call any method. The table of all codecs is in codecs.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aggregate/accumulator.h"
#include "sotto/bytes.h"
#include "sotto/crypto.h"
#include "sotto/span.h"

namespace sotto::server {

// The origin of an update. References and spans are valid during the call.
struct UpdateOrigin {
  ByteSpan device_id;
  const Key& secret;   // of that device
  ByteSpan nonce;      // [kNonceSize] drawn by the device for this update
  ByteSpan salt = {};  // [kSaltSize] that the device got for it; empty: none
};

// What became of an update.
enum class Verdict {
  kAdded,
  kMalformed,    // no honest device can have sent these bytes
  kBeyondBound,  // well formed, but no update within the task's bounds has these values
};

class UpdateCodec {
 public:
  virtual ~UpdateCodec() = default;

  // The largest size of an encoded update, bytes.
  virtual size_t MaxSize(uint32_t coordinates) const = 0;

  // Model units per unit of the sum.
  virtual double SumUnit() const = 0;

  // Decodes one complete update, judges it, and adds it to the sum: all of it, or nothing unless
  // the verdict is kAdded. The sum therefore never holds a coordinate of an update that was refused
  // or not yet judged. Each call holds the one update that it decodes; the decoded values are
  // wiped. An added update is one that a device with an update of norm at most clip_l2 can send;
  // what a codec promises instead is said at its class.
  virtual Verdict Add(const UpdateOrigin& origin, ByteSpan encoded, Accumulator& sum) const = 0;

  // Adds the update of a device whose values are all zero: exactly the same noise. A job does not
  // call this for a codec without noise.
  //   number  of this zero update in the attempt; the noise derives from it and from the server's
  //           key
  // Throws std::runtime_error if a key or the noise fails.
  virtual void AddZeroUpdate(const Key& server_key, uint32_t number, Accumulator& sum) const = 0;

  // The device's side of a codec that devices do not implement: adds noise and encodes.
  //   key     of this update alone; all of its randomness derives from it
  //   values  [d] Q20, units of the noise's deviation, clipped (sotto/update_scale.h)
  // Throws std::runtime_error if the randomness fails, and std::logic_error if devices encode
  // their updates themselves (CodecInfo::servable).
  virtual std::vector<uint8_t> Encode(const Key& key, Span<const int32_t> values) const;
};

// Memory for one decoded update, wiped by the destructor. One thread at a time.
class SecretValues {
 public:
  explicit SecretValues(size_t count) : values_(count) {}
  SecretValues(const SecretValues&) = delete;
  SecretValues& operator=(const SecretValues&) = delete;
  ~SecretValues() { SecureWipe(values_.data(), values_.size() * sizeof(values_[0])); }

  Span<int32_t> view() { return {values_.data(), values_.size()}; }

 private:
  std::vector<int32_t> values_;
};

}  // namespace sotto::server
