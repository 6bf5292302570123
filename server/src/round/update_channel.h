// A way from a device's update to the server's sum other than the SDK's codec: an interface, for
// mechanisms that are simulated for comparison. Part of sotto::server/round.
#ifndef SOTTO_ROUND_UPDATE_CHANNEL_H_
#define SOTTO_ROUND_UPDATE_CHANNEL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/crypto.h"
#include "sotto/span.h"

namespace sotto::server {

// Stateless: any thread may call any method.
class UpdateChannel {
 public:
  virtual ~UpdateChannel() = default;

  // No encoded update is longer.
  virtual size_t MaxSize(uint32_t coordinates) const = 0;

  // The device's side: adds noise and encodes.
  //   key     of this update alone; all of its randomness derives from it
  //   values  [d] Q20, units of the noise's deviation, clipped (sotto/update_scale.h)
  // Throws std::runtime_error if the randomness fails.
  virtual std::vector<uint8_t> Encode(const Key& key, Span<const int32_t> values) const = 0;

  // The server's side: the noisy values of one complete update.
  //   noisy  [d] Q20, the same unit; unspecified after a failure
  // False for bytes that Encode() cannot have written.
  virtual bool Decode(ByteSpan encoded, Span<int32_t> noisy) const = 0;
};

}  // namespace sotto::server

#endif  // SOTTO_ROUND_UPDATE_CHANNEL_H_
