// The task of a device in one round. Part of sotto/local.
//
// A server sends the task in a message (messages.h). A program that runs a round without a server
// fills in the task itself. Plain data: threads may share a task that does not change.
#pragma once

#include <cstdint>

#include "sotto/bytes.h"
#include "sotto/keys.h"
#include "sotto/num.h"
#include "sotto/private_noise.h"
#include "sotto/train.h"
#include "sotto/update_format.h"
#include "sotto/update_scale.h"

namespace sotto {

// The most edges of a histogram of prediction errors.
constexpr uint32_t kMaxErrorEdges = 16;

// The upper ends of the bins of such a histogram, finite and rising; the last bin has none. A view
// of the bytes of a message: float32, little endian.
class ErrorEdges {
 public:
  ErrorEdges() = default;  // there is no histogram
  //   bytes  of at most kMaxErrorEdges; outlives the object
  explicit ErrorEdges(ByteSpan bytes) : bytes_(bytes) {}

  uint32_t count() const { return static_cast<uint32_t>(bytes_.size() / sizeof(float)); }
  uint32_t bins() const { return count() + 1; }
  float operator[](uint32_t i) const {
    return FloatFromBits(LoadU32Le(bytes_.data() + sizeof(float) * i));
  }
  // The first bin whose edge the error does not exceed; the last bin for NaN.
  uint32_t BinOf(float error) const;
  // Whether the edges are finite and rising.
  bool IsValid() const;
  ByteSpan bytes() const { return bytes_; }

 private:
  ByteSpan bytes_;
};

struct TrainTask {
  uint8_t job_id[kJobIdSize] = {};
  uint32_t round = 0;
  uint32_t attempt = 0;
  // How the update is encoded.
  UpdateFormat format;
  // Model units of one unit of the quantizer; positive and normal. Under Gaussian dither it is the
  // noise's deviation sigma. clip_l2 is at most kMaxClipInScales times this (update_scale.h).
  float quantizer_scale = 0.0f;
  TrainingOptions training;
  // Adaptive clipping: the update has one extra coordinate, the clip bit. It is clip_bit_q20 / 2^20
  // if local training was never clipped, else minus that (LocalTrainer::clipped()). At most
  // kMaxValueQ20; 0: there is none. Never with Coding::kFloat32.
  uint32_t clip_bit_q20 = 0;
  // Evaluation on devices: the update has one more coordinate behind the clip bit, the accuracy of
  // the round's model on this device's held-out samples. With k of n samples right it is
  // (2 k - n) / n * accuracy_q20 / 2^20, and 0 if n is 0. At most kMaxValueQ20; 0: there is none.
  // Never with Coding::kFloat32.
  uint32_t accuracy_q20 = 0;
  // Deviation of the noise that the device adds to its own update, in units of 2^-20
  // quantizer_scale (private_noise.h); 0: none. At most kMaxPrivateNoiseQ20. Needs Gaussian dither,
  // no extra coordinate, and clip_l2 at most kMaxPrivateClipInScales times quantizer_scale.
  uint32_t private_noise_q20 = 0;
  // With edges the device measures instead of training. Its update is clip_l2 times the histogram
  // of its prediction errors with the round's model: one coordinate a bin, then zeros. The bins add
  // up to 1, so the L2 norm is at most clip_l2. Never with accuracy_q20.
  ErrorEdges error_edges;

  // Decides which tasks a device takes; server and device both call it. Returns kOk,
  // kInvalidArgument for training options out of range, or kMalformed for anything else that the
  // comments above exclude. Ignores quantizer_scale under Coding::kFloat32.
  Status Validate() const;

  // Whether clipped updates may have coordinates beyond the box, to which the encoder clamps them
  // (update_scale.h). Without the quantizer there is no box.
  bool NeedsClamping() const {
    return format.coding != Coding::kFloat32 && training.clip_l2 > kMaxClipInBox * quantizer_scale;
  }

  // Noise multiplier of one update against the server: the deviation of the private noise divided
  // by the sensitivity 2 clip_l2 (replace-one adjacency). 0: no protection from the server. For a
  // server and for logs; a board compares by HasPrivateNoise(), without binary64.
  double private_noise_multiplier() const {
    return static_cast<double>(private_noise_q20) * static_cast<double>(quantizer_scale) /
           (0x1p21 * static_cast<double>(training.clip_l2));
  }

  // Whether private_noise_multiplier() >= limit_q20 / 2^20, decided in integers. clip_l2 and
  // quantizer_scale are positive and finite.
  bool HasPrivateNoise(uint32_t limit_q20) const {
    return IsProductAtLeast(private_noise_q20, quantizer_scale, uint64_t{2} * limit_q20,
                            training.clip_l2);
  }

  // True if the update is encoded with Gaussian dither. The server, which has the key, has no
  // epsilon: private_noise_multiplier(), not this function, tells about privacy from the server.
  bool is_private() const {
    return format.coding != Coding::kFloat32 && format.dither == DitherKind::kGaussian;
  }
};

// A limit on the multiplier z of private noise, for HasPrivateNoise(): z in Q20, rounded down, but
// at least 2^-20 for z > 0. A z that is 4096 or more, negative or not a number gives the largest
// limit, 2^32 - 1.
constexpr uint32_t PrivateNoiseLimitQ20(double z) {
  if (z == 0.0) return 0;
  if (z > 0.0 && z < 0x1p-20) return 1;
  return z > 0.0 && z < 4096.0 ? static_cast<uint32_t>(z * 0x1p20) : 0xffffffff;
}

}  // namespace sotto
