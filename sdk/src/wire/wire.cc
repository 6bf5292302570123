#include "sotto/wire.h"

#include <type_traits>

#include "wire/nanopb_frame.h"
#include "wire/sotto.pb.h"

namespace sotto {
namespace {

static_assert(sotto_Coding_CODING_FIXED == static_cast<int>(Coding::kFixed));
static_assert(sotto_Coding_CODING_FLOAT32 == static_cast<int>(Coding::kFloat32));
static_assert(sotto_Coding_CODING_RANGE == static_cast<int>(Coding::kRange));
static_assert(sotto_Dither_DITHER_GAUSSIAN == static_cast<int>(DitherKind::kGaussian));
static_assert(sotto_Dither_DITHER_UNIFORM == static_cast<int>(DitherKind::kUniform));
static_assert(sotto_Clipping_CLIPPING_EVERY_STEP == static_cast<int>(Clipping::kEveryStep));
static_assert(sotto_Clipping_CLIPPING_AT_END == static_cast<int>(Clipping::kAtEnd));
static_assert(sotto_Batches_BATCHES_WITH_REPLACEMENT ==
              static_cast<int>(Batches::kWithReplacement));
static_assert(sotto_RatePower_RATE_POWER_HALF == static_cast<int>(RatePower::kHalf));
static_assert(sotto_RatePower_RATE_POWER_ONE == static_cast<int>(RatePower::kOne));
static_assert(sotto_GradientClipOf_GRADIENT_CLIP_OF_SAMPLE ==
              static_cast<int>(GradientClipOf::kSample));

constexpr uint8_t kLastErrorCode = static_cast<uint8_t>(ErrorCode::kBusy);

// Whether this program knows the values of all enums.
bool IsKnown(const TrainingOptions& t) {
  return (t.clipping == Clipping::kEveryStep || t.clipping == Clipping::kAtEnd) &&
         t.batches <= Batches::kWithReplacement && t.rate_power <= RatePower::kOne &&
         t.gradient_clip_of <= GradientClipOf::kSample;
}

// The limits of a message, the same for writing and reading. They include the limits of
// sotto.options, because nanopb does not check the size of views.
bool IsWithinLimits(const Request& r) {
  switch (r.kind) {
    case Request::Kind::kHello:
      return r.version != kProtocolVersion ||
             (IsValidDeviceId(r.device_id) && r.model_digest.size() == kSha256Size &&
              IsMaxFrame(r.max_frame) && r.receipt.size() <= kMaxReceiptSize);
    case Request::Kind::kGetModel:
      return r.offset % 4 == 0;
    case Request::Kind::kUpdateBegin:
      return r.job_id.size() == kJobIdSize && r.nonce.size() == kNonceSize &&
             UpdateFormat{r.coding, DitherKind::kGaussian, 0}.CanCarry(
                 r.clip_bit_q20, r.accuracy_q20, r.private_noise_q20);
    case Request::Kind::kUpdateChunk:
      return !r.bytes.empty();
    case Request::Kind::kNone:
      break;
  }
  return false;
}

bool IsWithinLimits(const Reply& r) {
  switch (r.kind) {
    case Reply::Kind::kTrain:
      return r.task.format.CanCarry(r.task.clip_bit_q20, r.task.accuracy_q20,
                                    r.task.private_noise_q20) &&
             IsKnown(r.task.training) && IsMaxFrame(r.max_frame) &&
             r.receipt.size() <= kMaxReceiptSize;
    case Reply::Kind::kModelChunk:
      return !r.bytes.empty() && r.bytes.size() % 4 == 0;
    case Reply::Kind::kError:
      return static_cast<uint8_t>(r.code) <= kLastErrorCode && r.bytes.size() <= kMaxModelNameSize;
    case Reply::Kind::kWait:
    case Reply::Kind::kDone:
    case Reply::Kind::kAck:
      return true;
  }
  return false;
}

// Reads an enum that nanopb has stored. nanopb stores any number that arrives, and C++ must not
// read an enum whose number is outside its range, so this copies the number first. A number that is
// too large becomes 255, which no enum has.
template <typename Ours, typename Generated>
Ours FromWire(const Generated& value) {
  std::underlying_type_t<Generated> number;
  static_assert(sizeof(number) == sizeof(value));
  __builtin_memcpy(&number, &value, sizeof(number));
  return static_cast<Ours>(number <= UINT8_MAX ? number : UINT8_MAX);
}

template <typename Generated, typename Ours>
Generated ToWire(Ours value) {
  return static_cast<Generated>(value);
}

sotto_Request ToWire(const Request& r) {
  sotto_Request wire{};
  auto& m = wire.message;
  switch (r.kind) {
    case Request::Kind::kHello:
      wire.which_message = sotto_Request_hello_tag;
      m.hello = {r.version,       View(r.device_id),         View(r.model_digest), r.max_frame,
                 View(r.receipt), r.abilities.largest_batch, r.abilities.features, r.hold_ms};
      break;
    case Request::Kind::kGetModel:
      wire.which_message = sotto_Request_get_model_tag;
      m.get_model = {r.offset};
      break;
    case Request::Kind::kUpdateBegin:
      wire.which_message = sotto_Request_update_begin_tag;
      m.update_begin = {View(r.job_id),
                        r.round,
                        r.attempt,
                        View(r.nonce),
                        ToWire<sotto_Coding>(r.coding),
                        r.clip_bit_q20,
                        r.private_noise_q20,
                        r.accuracy_q20};
      break;
    case Request::Kind::kUpdateChunk:
      wire.which_message = sotto_Request_update_chunk_tag;
      m.update_chunk = {r.offset, View(r.bytes), r.last};
      break;
    case Request::Kind::kNone:
      break;
  }
  return wire;
}

Request FromWire(const sotto_Request& wire) {
  Request r;
  const auto& m = wire.message;
  switch (wire.which_message) {
    case sotto_Request_hello_tag:
      r.kind = Request::Kind::kHello;
      r.version = m.hello.version;
      r.device_id = View(m.hello.device);
      r.model_digest = View(m.hello.model_digest);
      r.max_frame = m.hello.max_frame;
      r.receipt = View(m.hello.receipt);
      r.abilities = {m.hello.largest_batch, m.hello.features};
      r.hold_ms = m.hello.hold_ms;
      break;
    case sotto_Request_get_model_tag:
      r.kind = Request::Kind::kGetModel;
      r.offset = m.get_model.offset;
      break;
    case sotto_Request_update_begin_tag:
      r.kind = Request::Kind::kUpdateBegin;
      r.job_id = View(m.update_begin.job);
      r.round = m.update_begin.round;
      r.attempt = m.update_begin.attempt;
      r.nonce = View(m.update_begin.nonce);
      r.coding = FromWire<Coding>(m.update_begin.coding);
      r.clip_bit_q20 = m.update_begin.clip_bit;
      r.accuracy_q20 = m.update_begin.accuracy;
      r.private_noise_q20 = m.update_begin.private_noise;
      break;
    case sotto_Request_update_chunk_tag:
      r.kind = Request::Kind::kUpdateChunk;
      r.offset = m.update_chunk.offset;
      r.bytes = View(m.update_chunk.bytes);
      r.last = m.update_chunk.last;
      break;
  }
  return r;
}

sotto_Train ToWire(const TrainTask& task, uint32_t max_frame) {
  const TrainingOptions& t = task.training;
  sotto_Train wire{};
  wire.job = View(ByteSpan(task.job_id));
  wire.round = task.round;
  wire.attempt = task.attempt;
  wire.coding = ToWire<sotto_Coding>(task.format.coding);
  wire.dither = ToWire<sotto_Dither>(task.format.dither);
  wire.padding = task.format.padding;
  wire.quantizer_scale = task.quantizer_scale;
  wire.clip_l2 = t.clip_l2;
  wire.clipping = ToWire<sotto_Clipping>(t.clipping);
  wire.learning_rate = t.learning_rate;
  wire.local_epochs = t.local_epochs;
  wire.batch_size = t.batch_size;
  wire.weight_decay = t.weight_decay;
  wire.momentum = t.momentum;
  wire.local_steps = t.local_steps;
  wire.batches = ToWire<sotto_Batches>(t.batches);
  wire.rate_first = t.rate_first;
  wire.rate_power = ToWire<sotto_RatePower>(t.rate_power);
  wire.gradient_clip = t.gradient_clip;
  wire.gradient_clip_of = ToWire<sotto_GradientClipOf>(t.gradient_clip_of);
  wire.proximal = t.proximal;
  wire.max_frame = max_frame;
  wire.clip_bit = task.clip_bit_q20;
  wire.accuracy = task.accuracy_q20;
  wire.private_noise = task.private_noise_q20;
  return wire;
}

// False if the job id has another size.
bool FromWire(const sotto_Train& wire, TrainTask* task) {
  if (wire.job.size != kJobIdSize) return false;
  __builtin_memcpy(task->job_id, wire.job.data, kJobIdSize);
  task->round = wire.round;
  task->attempt = wire.attempt;
  task->format.coding = FromWire<Coding>(wire.coding);
  task->format.dither = FromWire<DitherKind>(wire.dither);
  task->format.padding = wire.padding;
  task->quantizer_scale = wire.quantizer_scale;
  task->private_noise_q20 = wire.private_noise;
  TrainingOptions& t = task->training;
  t.clip_l2 = wire.clip_l2;
  t.clipping = FromWire<Clipping>(wire.clipping);
  t.learning_rate = wire.learning_rate;
  t.local_epochs = wire.local_epochs;
  t.batch_size = wire.batch_size;
  t.weight_decay = wire.weight_decay;
  t.momentum = wire.momentum;
  t.local_steps = wire.local_steps;
  t.batches = FromWire<Batches>(wire.batches);
  t.rate_first = wire.rate_first;
  t.rate_power = FromWire<RatePower>(wire.rate_power);
  t.gradient_clip = wire.gradient_clip;
  t.gradient_clip_of = FromWire<GradientClipOf>(wire.gradient_clip_of);
  t.proximal = wire.proximal;
  task->clip_bit_q20 = wire.clip_bit;
  task->accuracy_q20 = wire.accuracy;
  return true;
}

sotto_Reply ToWire(const Reply& r) {
  sotto_Reply wire{};
  auto& m = wire.message;
  switch (r.kind) {
    case Reply::Kind::kWait:
      wire.which_message = sotto_Reply_wait_tag;
      m.wait = {r.wait_ms};
      break;
    case Reply::Kind::kTrain:
      wire.which_message = sotto_Reply_train_tag;
      m.train = ToWire(r.task, r.max_frame);
      m.train.receipt = View(r.receipt);
      break;
    case Reply::Kind::kDone:
      wire.which_message = sotto_Reply_done_tag;
      break;
    case Reply::Kind::kModelChunk:
      wire.which_message = sotto_Reply_chunk_tag;
      m.chunk = {View(r.bytes)};
      break;
    case Reply::Kind::kAck:
      wire.which_message = sotto_Reply_ack_tag;
      m.ack = {r.offset, r.complete};
      break;
    case Reply::Kind::kError:
      wire.which_message = sotto_Reply_error_tag;
      m.error = {static_cast<uint32_t>(r.code), r.final, r.wait_ms, View(r.bytes)};
      break;
  }
  return wire;
}

// False for an unknown message, and for a task whose job id has another size.
bool FromWire(const sotto_Reply& wire, Reply* r) {
  const auto& m = wire.message;
  switch (wire.which_message) {
    case sotto_Reply_wait_tag:
      r->kind = Reply::Kind::kWait;
      r->wait_ms = m.wait.wait_ms;
      return true;
    case sotto_Reply_train_tag:
      r->kind = Reply::Kind::kTrain;
      r->max_frame = m.train.max_frame;
      r->receipt = View(m.train.receipt);
      return FromWire(m.train, &r->task);
    case sotto_Reply_done_tag:
      r->kind = Reply::Kind::kDone;
      return true;
    case sotto_Reply_chunk_tag:
      r->kind = Reply::Kind::kModelChunk;
      r->bytes = View(m.chunk.bytes);
      return true;
    case sotto_Reply_ack_tag:
      r->kind = Reply::Kind::kAck;
      r->offset = m.ack.offset;
      r->complete = m.ack.complete;
      return true;
    case sotto_Reply_error_tag:
      r->kind = Reply::Kind::kError;
      r->code = KnownErrorCode(m.error.code);
      r->final = m.error.final;
      r->wait_ms = m.error.retry_after_ms;
      r->bytes = View(m.error.model);
      return true;
  }
  return false;
}

}  // namespace

ErrorCode KnownErrorCode(uint32_t code) {
  return code <= kLastErrorCode ? static_cast<ErrorCode>(code) : ErrorCode::kUnknown;
}

const char* ErrorCodeName(ErrorCode code) {
  constexpr const char* kNames[] = {"kUnknown",     "kVersion",      "kModelMismatch",
                                    "kNotSelected", "kWrongAttempt", "kMalformed",
                                    "kTooLarge",    "kConflict",     "kBusy"};
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == kLastErrorCode + 1, "one name a code");
  const auto number = static_cast<uint8_t>(code);
  return number <= kLastErrorCode ? kNames[number] : "unknown error code";
}

Status EncodeRequest(const Request& request, uint32_t max_frame, MutableByteSpan out,
                     size_t* size) {
  if (!IsWithinLimits(request)) return Status::kInvalidArgument;
  const sotto_Request wire = ToWire(request);
  return EncodeFrame(sotto_Request_fields, &wire, max_frame, out, size);
}

Status EncodeReply(const Reply& reply, uint32_t max_frame, MutableByteSpan out, size_t* size) {
  if (!IsWithinLimits(reply)) return Status::kInvalidArgument;
  const sotto_Reply wire = ToWire(reply);
  return EncodeFrame(sotto_Reply_fields, &wire, max_frame, out, size);
}

Status DecodeRequest(ByteSpan body, Request* request) {
  sotto_Request wire{};
  if (!DecodeFrame(body, sotto_Request_fields, &wire)) return Status::kMalformed;
  const Request result = FromWire(wire);
  if (!IsWithinLimits(result)) return Status::kMalformed;
  *request = result;
  return Status::kOk;
}

Status DecodeReply(ByteSpan body, Reply* reply) {
  sotto_Reply wire{};
  // A copy, and not a new Reply, whose image would take as many bytes of flash as a Reply has.
  Reply result = *reply;
  if (!DecodeFrame(body, sotto_Reply_fields, &wire) || !FromWire(wire, &result)) {
    return Status::kMalformed;
  }
  if (!IsWithinLimits(result)) return Status::kMalformed;
  *reply = result;
  return Status::kOk;
}

}  // namespace sotto
