// The messages between a device and the server, as structs. Part of sotto/wire.
//
// The device sends a request, the server answers each request with one reply. sotto/wire.h encodes
// the structs as bytes; within one process they are passed without encoding. Spans point to memory
// of the message's maker, which must outlive the message. Plain data: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/keys.h"
#include "sotto/train_task.h"

namespace sotto {

// Raised when an old peer would misread a message; fields that it may skip do not raise it.
constexpr uint32_t kProtocolVersion = 1;

// Limits of a message in a frame, in bytes without the frame's length. Each side announces its own
// limit; no frame exceeds the smaller of the two.
constexpr uint32_t kMinMaxFrame = 256;
constexpr uint32_t kDefaultMaxFrame = 1024;
constexpr uint32_t kMaxMaxFrame = 65535;

// The most bytes of a model or an update in a message of at most max_frame bytes: whole float32,
// after room for tags, lengths and an offset. kMinMaxFrame <= max_frame <= kMaxMaxFrame.
constexpr uint32_t MaxChunkBytes(uint32_t max_frame) { return (max_frame - 16) / 4 * 4; }

// The longest time, ms, for which a server keeps a Hello open, whatever Request::hold_ms is.
constexpr uint32_t kMostHoldMs = 60000;

// The most bytes of a receipt: bytes that a server gives with a task, and that the device returns
// with its next Hello. Only the server interprets them.
constexpr size_t kMaxReceiptSize = 64;

// The most bytes of a model's name in a message.
constexpr size_t kMaxModelNameSize = 64;

// The most bytes of Request::differs. A device cuts it to the room in its frame.
constexpr size_t kMaxDifferenceSize = 160;

// The most bytes of a model's check (Model::check). The SDK's check has kModelCheckSize.
constexpr size_t kMaxModelCheckSize = 16;

// The most bytes of Reply::claims.
constexpr size_t kMaxClaimsSize = 128;

// Why the server refuses. Values cross the wire: never renumber. The device acts on Reply::final
// and Reply::wait_ms alone, so an unknown code does no harm.
enum class ErrorCode : uint8_t {
  kUnknown = 0,
  kVersion = 1,        // the server does not speak the version of Hello
  kModelMismatch = 2,  // the device's model is not the job's
  kNotSelected = 3,    // the device is not in the open round's cohort, or no longer
  kWrongAttempt = 4,   // job, round or attempt is not the open one, or nothing was announced
  kMalformed = 5,      // a message that no honest device sends; an update that does not decode
  kTooLarge = 6,       // an update longer than any valid one
  kConflict = 7,       // a second, different update after a complete one
  kBusy = 8,           // ask again later
  // The last words of a connection; the server closes it.
  kKeyRotated = 9,     // the device has another key now; this one is useless
  kKeyRevoked = 10,    // the device was revoked; it never takes part again
  kOtherMachine = 11,  // another machine has connected with this device's key
};

// The name for logs, "kBusy" for example; "unknown error code" for a value outside the list.
const char* ErrorCodeName(ErrorCode code);

// The event for which a waiting device waits. At any moment it is the same for all devices, so it
// does not reveal who was drawn. Values cross the wire: never renumber; an unknown one is kUnknown.
enum class WaitState : uint8_t {
  kUnknown = 0,  // the server does not say
  kRounds = 1,   // a job runs; the device may be drawn later
  kNoJob = 2,    // no job runs, the last one is over
  kPaused = 3,   // the job is paused
  kDevices = 4,  // too few devices are connected or registered for a round
};

// Features of a device, as bits: what a task may ask of it. They cross the wire: never renumber. A
// server ignores the bits that it does not know.
constexpr uint32_t kFeatureMomentum = 1 << 0;  // trains with TrainingOptions::momentum above 0
constexpr uint32_t kFeatureAccuracy = 1 << 1;  // evaluates on held-out samples, maybe none
// Trains with TrainingOptions::local_steps, batches and rate_power other than the defaults.
constexpr uint32_t kFeatureSchedule = 1 << 2;
constexpr uint32_t kFeatureProximal = 1 << 3;      // with TrainingOptions::proximal above 0
constexpr uint32_t kFeatureClipOfBatch = 1 << 4;   // with a gradient clip of batches
constexpr uint32_t kFeatureClipOfSample = 1 << 5;  // with a gradient clip of samples
constexpr uint32_t kFeatureClamping = 1 << 6;      // takes a TrainTask with NeedsClamping()
constexpr uint32_t kFeatureSalt = 1 << 7;          // encodes under the salt of Reply::salt
constexpr uint32_t kFeatureReportTime = 1 << 8;    // keeps to Reply::report_ms
constexpr uint32_t kFeatureOneLength = 1 << 9;     // takes a task with UpdateFormat::length
// Stays when a job is over: a server tells it to wait (WaitState::kNoJob), not that it is done.
constexpr uint32_t kFeatureStays = 1 << 10;
// After a kModelMismatch the device asks for the description of the job's model, and takes that
// model or states the difference: only then must the operator act.
constexpr uint32_t kFeatureDescription = 1 << 11;
// Takes a model as a difference from the model that it holds, the initial model or zeros.
constexpr uint32_t kFeatureDifferences = 1 << 12;
constexpr uint32_t kFeatureReleases = 1 << 13;  // wants to know of released models: Reply::release
constexpr uint32_t kFeatureClipByLayer = 1 << 14;  // with TrainingOptions::clip_by_layer
// Measures prediction errors, TrainTask::error_edges. Its max_frame is kMinMeasuringFrame at least:
// the edges make the task longer than the smallest frame.
constexpr uint32_t kFeatureErrors = 1 << 15;
constexpr uint32_t kMinMeasuringFrame = 512;

// Features of a server, as bits; they cross the wire: never renumber. The server remembers what a
// Hello of this connection has said: each later one says only what has changed, and hold_ms.
constexpr uint32_t kServerRemembersHello = 1 << 0;
// Tells a device with kFeatureReleases in each kWait which release is the newest: Reply::release.
constexpr uint32_t kServerNamesReleases = 1 << 1;

// From which model a download is a difference. Values cross the wire: never renumber.
enum class ModelBase : uint8_t {
  kHeld = 0,     // the model that the device holds, by Request::held
  kInitial = 1,  // InitialWeights() of weights_key
  kZeros = 2,
};

// ModelOffer::grid of the grid of 2^exponent, -20 <= exponent <= 0.
constexpr uint32_t kGridOffset = 21;
constexpr uint32_t kMostGrid = kGridOffset;

// A model that a device may download, and the form of the download. Parameters on a grid are
// multiples of 2^exponent, and the download is the code of a difference (model_difference.h).
// Without a grid it is the parameters as float32, little endian.
struct ModelOffer {
  // The model's check (ModelCheck() in model_difference.h), at most kMaxModelCheckSize bytes. The
  // device compares the download with it, and later sends it as Request::held. Empty: an old
  // server, which sends float32.
  ByteSpan check;
  uint32_t grid = 0;  // 0: float32; else exponent + kGridOffset, see model_difference.h
  ModelBase base = ModelBase::kHeld;
  ByteSpan weights_key;  // [32] of the job's initial model; empty: it has none
  uint32_t size = 0;     // bytes of the code, or of float32; 0: the base, on the grid if any
  uint32_t code = 0;     // names these bytes, for Request::code
};

// The abilities of a device, the same in every round, drawn or not. A server gives a task only to
// devices with the abilities that it needs, and tells the others to wait.
struct Abilities {
  uint32_t largest_batch = 0;  // samples in a mini-batch; 0: the device does not say, any
  uint32_t features = 0;       // kFeature... bits
};

struct Request {
  enum class Kind : uint8_t {
    kNone,
    kHello,
    kGetModel,
    kUpdateBegin,
    kUpdateChunk,
    kGetDescription,
    kGetRelease,
  };
  Kind kind = Kind::kNone;

  // kHello. If the version is not kProtocolVersion, the other fields mean nothing. Version 0 is a
  // later Hello of a connection to a server with kServerRemembersHello: fields that it leaves out
  // are as before, except for hold_ms and differs, which each Hello repeats.
  uint32_t version = kProtocolVersion;
  ByteSpan device_id;
  ByteSpan model_digest;  // [kSha256Size]; kGetRelease: empty: as the last Hello said
  uint32_t max_frame = kDefaultMaxFrame;  // the device's limit, kMinMaxFrame to kMaxMaxFrame
  ByteSpan receipt;  // the last one that the device got, at most kMaxReceiptSize; empty: none
  Abilities abilities;
  // Milliseconds for which the device waits for the answer: a server without work may hold the
  // answer until it has work, kMostHoldMs at most. 0: the device wants an answer at once.
  uint32_t hold_ms = 0;
  // How the device's model differs from the job's, in words for people, after a kModelMismatch: at
  // most kMaxDifferenceSize bytes that may hold anything. Empty: the device does not say.
  ByteSpan differs;
  // kHello, kGetRelease: the check of the model that the device holds, at most kMaxModelCheckSize
  // bytes; empty: none.
  ByteSpan held;

  // kGetModel: ModelOffer::code; 0: the open round's model as float32.
  uint32_t code = 0;

  // kGetModel: byte offset into the code, or into the float32 parameters: then a multiple of 4.
  // kUpdateChunk: byte offset of `bytes` in the encoded update.
  // kGetDescription: byte offset into the description of the job's model.
  uint32_t offset = 0;

  // kUpdateBegin
  uint32_t round = 0;
  uint32_t attempt = 0;
  ByteSpan job_id;  // [kJobIdSize]
  ByteSpan nonce;   // [kNonceSize]
  Coding coding = Coding::kRange;
  // The values of the task; a device that does not know these fields sends 0.
  uint32_t clip_bit_q20 = 0;
  uint32_t accuracy_q20 = 0;
  uint32_t private_noise_q20 = 0;

  // kUpdateChunk: encoded bytes, at least 1; valid until the reply has been given to the client.
  ByteSpan bytes;
  bool last = false;  // the update ends with these bytes
};

struct Reply {
  enum class Kind : uint8_t {
    kWait,
    kTrain,
    kDone,
    kModelChunk,
    kAck,
    kError,
    kDescriptionChunk,
    kRelease,
  };
  Kind kind = Kind::kError;

  uint32_t wait_ms = 0;  // kWait: poll again after this; kError, not final: retry after this
  WaitState state = WaitState::kUnknown;  // kWait: what the device waits for
  uint32_t server_features = 0;           // kWait, kTrain: bits, kServerRemembersHello and so on
  // kWait: another number for each answer that kGetRelease would get; 0: nothing is released, or
  // the server does not say (kServerNamesReleases).
  uint32_t release = 0;

  // kTrain: a round for which the device was drawn
  TrainTask task;
  uint32_t max_frame = kDefaultMaxFrame;  // the server's limit, kMinMaxFrame to kMaxMaxFrame
  ByteSpan receipt;  // to be returned with Hello, at most kMaxReceiptSize; empty: none
  // The report time, in milliseconds after this reply: the device announces its update then and not
  // before, with zeros if its training is not finished (client.h). 0: there is none, and the device
  // announces its update as soon as it is made.
  uint32_t report_ms = 0;

  // kTrain: the round's model. kRelease: the newest released one.
  ModelOffer model;
  // kRelease: the job of that model, the number of its released rounds, whether it is over, and its
  // privacy claims, a text for people: at most kMaxClaimsSize bytes that may hold anything.
  ByteSpan job_id;  // [kJobIdSize]
  uint32_t rounds = 0;
  ByteSpan claims;
  // kRelease: the prediction error above which a sample is an anomaly, positive and
  // normal; 0: the model has none.
  float threshold = 0.0f;

  // kModelChunk: bytes of the code, or of the little-endian float32 parameters (then a multiple of
  // 4), not empty, from the offset asked for.
  // kDescriptionChunk: bytes of the description, from the offset asked for, at least 1.
  // kError, with kModelMismatch: the name of the job's model, for people, at most kMaxModelNameSize
  // bytes that may hold anything; empty: the server does not say. A view like all others: copy it
  // before the next message arrives in its buffer.
  ByteSpan bytes;

  // kAck: bytes of the update that the server holds; complete once it holds all of them.
  uint32_t offset = 0;
  bool complete = false;
  // kAck, to UpdateBegin: part of the round key (keys.h), the same whenever this update is
  // announced. A device without kFeatureSalt gets none.
  Salt salt;

  uint32_t size = 0;  // kDescriptionChunk: bytes of the whole description

  // kError
  ErrorCode code = ErrorCode::kUnknown;
  bool final = false;  // true: give this round up; kRelease: the job is over
};

}  // namespace sotto
