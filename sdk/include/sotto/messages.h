// What a device and the server say to each other. Part of sotto/client.
//
// Strict request and response; the device asks. These structs are the meaning of the messages; how
// they are framed as bytes is the link's business, in one process there is no framing at all.
#ifndef SOTTO_MESSAGES_H_
#define SOTTO_MESSAGES_H_

#include <cstdint>

#include "sotto/keys.h"
#include "sotto/train.h"
#include "sotto/update_codec.h"

namespace sotto {

// A round that the device was drawn for.
struct TrainTask {
  uint8_t job_id[kJobIdSize] = {};
  uint32_t round = 0;
  uint32_t attempt = 0;
  // How the update is encoded. The unit is the noise deviation sigma for Gaussian dither.
  Coding coding = Coding::kFixed;
  DitherKind dither = DitherKind::kGaussian;
  float unit = 0.0f;
  TrainingOptions training;

  // True if the update leaves the device under Gaussian noise.
  bool is_private() const { return coding != Coding::kFloat32 && dither == DitherKind::kGaussian; }
};

struct Request {
  enum class Kind : uint8_t { kNone, kHello, kGetModel, kUpdateBegin, kUpdateChunk };
  Kind kind = Kind::kNone;

  // kHello
  ByteSpan device_id;
  ByteSpan model_digest;  // [kSha256Size]

  // kGetModel: byte offset into the parameters, a multiple of 4.
  // kUpdateChunk: byte offset of `bytes` in the encoded update.
  uint32_t offset = 0;

  // kUpdateBegin
  uint32_t round = 0;
  uint32_t attempt = 0;
  ByteSpan job_id;  // [kJobIdSize]
  ByteSpan nonce;   // [kNonceSize]
  Coding coding = Coding::kFixed;
  uint32_t update_size = 0;  // bytes of the encoded update

  // kUpdateChunk: encoded bytes, valid until the reply has been given to the client.
  ByteSpan bytes;
};

struct Reply {
  enum class Kind : uint8_t { kWait, kTrain, kDone, kModelChunk, kAck, kError };
  Kind kind = Kind::kError;

  uint32_t wait_ms = 0;  // kWait: poll again after this; kError: retry after this
  TrainTask task;        // kTrain

  // kModelChunk: little-endian float32 parameters, a multiple of 4 bytes, from the offset asked
  // for.
  ByteSpan bytes;

  // kAck: bytes of the update that the server holds; complete once it holds all of them.
  uint32_t offset = 0;
  bool complete = false;

  // kError
  bool final = false;  // true: give this round up
};

}  // namespace sotto

#endif  // SOTTO_MESSAGES_H_
