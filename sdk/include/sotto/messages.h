// What a device and the server say to each other. Part of sotto/wire.
//
// Strict request and response; the device asks. These structs are the meaning of the messages; how
// they become bytes is sotto/wire.h's business, in one process they are passed as they are. Spans
// point to memory of whoever made the message.
#ifndef SOTTO_MESSAGES_H_
#define SOTTO_MESSAGES_H_

#include <cstdint>

#include "sotto/keys.h"
#include "sotto/train_task.h"

namespace sotto {

// Raised when an old peer would misread a message; fields that it may skip do not raise it.
constexpr uint32_t kProtocolVersion = 1;

// Bytes of the message in a frame, without the frame's length. Each side says what it takes; no
// frame exceeds the smaller of the two.
constexpr uint32_t kMinMaxFrame = 256;
constexpr uint32_t kDefaultMaxFrame = 1024;
constexpr uint32_t kMaxMaxFrame = 65535;

// The most bytes of a model or an update in a message that fits into max_frame, kMinMaxFrame <=
// max_frame <= kMaxMaxFrame: what remains beside tags, lengths and an offset, as whole float32.
constexpr uint32_t MaxChunkBytes(uint32_t max_frame) { return (max_frame - 16) / 4 * 4; }

// Why the server refuses. Values cross the wire: never renumber. What the device must do follows
// from Reply::final and Reply::wait_ms alone, so a code that it does not know does no harm.
enum class ErrorCode : uint8_t {
  kUnknown = 0,
  kVersion = 1,        // the server does not speak the version of Hello
  kModelMismatch = 2,  // the device's model is not the job's
  kNotSelected = 3,    // the device is not in the open round's cohort, or no longer
  kWrongAttempt = 4,   // job, round or attempt is not the open one, or nothing was announced
  kMalformed = 5,      // what no honest device sends; an update that does not decode
  kTooLarge = 6,       // an update of more bytes than any can have
  kConflict = 7,       // a second, different update after a complete one
  kBusy = 8,           // ask again later
};

// The name for logs, "kBusy" for example; "unknown error code" for a value outside the list.
const char* ErrorCodeName(ErrorCode code);

struct Request {
  enum class Kind : uint8_t { kNone, kHello, kGetModel, kUpdateBegin, kUpdateChunk };
  Kind kind = Kind::kNone;

  // kHello. Of another version than kProtocolVersion only the version means anything.
  uint32_t version = kProtocolVersion;
  ByteSpan device_id;
  ByteSpan model_digest;                  // [kSha256Size]
  uint32_t max_frame = kDefaultMaxFrame;  // what the device takes, kMinMaxFrame to kMaxMaxFrame

  // kGetModel: byte offset into the parameters, a multiple of 4.
  // kUpdateChunk: byte offset of `bytes` in the encoded update.
  uint32_t offset = 0;

  // kUpdateBegin
  uint32_t round = 0;
  uint32_t attempt = 0;
  ByteSpan job_id;  // [kJobIdSize]
  ByteSpan nonce;   // [kNonceSize]
  Coding coding = Coding::kRange;
  // As in the task: whoever does not know them sends 0.
  uint32_t clip_bit_q20 = 0;
  uint32_t private_noise_q20 = 0;

  // kUpdateChunk: encoded bytes, at least 1; valid until the reply has been given to the client.
  ByteSpan bytes;
  bool last = false;  // the update ends with these bytes
};

struct Reply {
  enum class Kind : uint8_t { kWait, kTrain, kDone, kModelChunk, kAck, kError };
  Kind kind = Kind::kError;

  uint32_t wait_ms = 0;  // kWait: poll again after this; kError, not final: retry after this

  // kTrain: a round that the device was drawn for
  TrainTask task;
  uint32_t max_frame = kDefaultMaxFrame;  // what the server takes, kMinMaxFrame to kMaxMaxFrame

  // kModelChunk: little-endian float32 parameters, a multiple of 4 bytes and not empty, from the
  // offset asked for.
  ByteSpan bytes;

  // kAck: bytes of the update that the server holds; complete once it holds all of them.
  uint32_t offset = 0;
  bool complete = false;

  // kError
  ErrorCode code = ErrorCode::kUnknown;
  bool final = false;  // true: give this round up
};

}  // namespace sotto

#endif  // SOTTO_MESSAGES_H_
