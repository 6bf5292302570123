// The noise that a device adds to its own update, against the server. Part of sotto/lrq.
//
// Purpose. Gau-LRQ's noise protects the models that the server releases, but the server can remove
// it from an update. So in the trust mode `private-noise` a device adds its own noise.
//
// Guarantee against the server:
//   1. The device adds discrete Gaussian noise to the clipped integers v of its update
//      (update_scale.h) before it computes anything else from them. The scale, the code and its
//      length are functions of v plus noise.
//   2. Two updates of a device differ by at most 2 C in norm, so one update is a Gaussian mechanism
//      of multiplier z = deviation / (2 C).
//   3. Discrete noise protects no less than continuous noise (Canonne, Kamath, Steinke, "The
//      Discrete Gaussian for Differential Privacy", 2020, Proposition 5).
//   4. z follows from the task alone. The server asks for deviation, quantizer_scale and clip_l2,
//      and the device checks them (train_task.h, client.h).
//
// Seed. It is 32 bytes of the device's entropy, for one update, and stays secret: a party that
// knows the seed can remove the noise. The encoder passes over the update several times and
// does not store the noise: batch b of kDitherBatch coordinates is drawn from the ChaCha20 stream b
// under the seed, so a coordinate's noise is the same in every pass.
//
// Time: see discrete_gaussian.h. It does not depend on the update. One thread at a time.
#pragma once

#include <cstdint>

#include "sotto/crypto.h"
#include "sotto/dither.h"

namespace sotto {

// Within both limits a value leaves the format, and is clamped, only if its noise is beyond 14
// deviations. The probability that this happens in any of 2^24 coordinates is below 2^-115.
constexpr uint32_t kMaxPrivateNoiseQ20 = uint32_t{1} << 26;  // 64 quantizer scales
constexpr float kMaxPrivateClipInScales = 128.0f;            // clip_l2 / quantizer_scale

class PrivateNoise {
 public:
  PrivateNoise() = default;  // no noise

  //   seed           secret, and used for one update
  //   deviation_q20  in units of 2^-20 of Gau-LRQ's deviation; at most kMaxPrivateNoiseQ20. 0: none
  PrivateNoise(const Key& seed, uint32_t deviation_q20)
      : seed_(seed), deviation_q20_(deviation_q20) {}

  bool is_on() const { return deviation_q20_ != 0; }
  uint32_t deviation_q20() const { return deviation_q20_; }

  // The noise of coordinates first, first + 1, ...; zeros if there is none.
  //   first      a multiple of kDitherBatch
  //   noise_q20  [n]; a value beyond int32, 2^-700 likely, becomes the nearest
  // Returns kOk, kInvalidArgument or kCryptoFailed (noise unspecified).
  Status Generate(uint32_t first, Span<int32_t> noise_q20) const;

 private:
  Key seed_;
  uint32_t deviation_q20_ = 0;
};

// v plus noise, clamped to the format's limit. Clamping is a function of the noisy value alone, so
// it does not weaken the guarantee.
//   v_q20  at most kMaxPrivateClipInScales, as Q20, in magnitude
int32_t AddPrivateNoise(int32_t v_q20, int32_t noise_q20);

}  // namespace sotto
