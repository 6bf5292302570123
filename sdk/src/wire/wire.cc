#include "sotto/wire.h"

#include "wire/fields.h"
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
static_assert(sotto_ModelBase_MODEL_BASE_INITIAL == static_cast<int>(ModelBase::kInitial));
static_assert(sotto_ModelBase_MODEL_BASE_ZEROS == static_cast<int>(ModelBase::kZeros));
static_assert(sotto_GradientClipOf_GRADIENT_CLIP_OF_SAMPLE ==
              static_cast<int>(GradientClipOf::kSample));
static_assert(sotto_ClipByLayer_CLIP_BY_LAYER_SIZE == static_cast<int>(ClipByLayer::kSize));

constexpr uint8_t kLastErrorCode = static_cast<uint8_t>(ErrorCode::kOtherMachine);
constexpr uint8_t kLastWaitState = static_cast<uint8_t>(WaitState::kDevices);

// Whether this program knows the values of all enums.
bool IsKnown(const TrainingOptions& t) {
  return (t.clipping == Clipping::kEveryStep || t.clipping == Clipping::kAtEnd) &&
         t.batches <= Batches::kWithReplacement && t.rate_power <= RatePower::kOne &&
         t.gradient_clip_of <= GradientClipOf::kSample && t.clip_by_layer <= ClipByLayer::kSize;
}

// Without a check there is no offer.
bool IsWithinLimits(const ModelOffer& m) {
  const bool is_there = !m.check.empty();
  if (!is_there) return m.grid == 0 && m.size == 0 && m.code == 0 && m.weights_key.empty();
  const bool has_key = m.weights_key.size() == sizeof(Key::bytes);
  return m.check.size() <= kMaxModelCheckSize && m.grid <= kMostGrid &&
         m.base <= ModelBase::kZeros && (has_key || m.weights_key.empty()) &&
         (has_key || m.base != ModelBase::kInitial);
}

// Of another version than ours nothing is known. A later Hello of a connection has no version.
bool IsHelloWithinLimits(const Request& r) {
  if (r.version != kProtocolVersion && r.version != 0) return true;
  const bool has_room = r.receipt.size() <= kMaxReceiptSize &&
                        r.differs.size() <= kMaxDifferenceSize &&
                        r.held.size() <= kMaxModelCheckSize;
  return has_room &&
         (r.version == 0 || (IsValidDeviceId(r.device_id) && r.model_digest.size() == kSha256Size &&
                             IsMaxFrame(r.max_frame)));
}

// The limits of a message, the same for writing and reading. They include the limits of
// sotto.options, because nanopb does not check the size of views.
bool IsWithinLimits(const Request& r) {
  switch (r.kind) {
    case Request::Kind::kHello:
      return IsHelloWithinLimits(r);
    case Request::Kind::kGetDescription:
      return true;
    case Request::Kind::kGetModel:
      return r.code != 0 || r.offset % 4 == 0;
    case Request::Kind::kGetRelease:
      return r.held.size() <= kMaxModelCheckSize &&
             (r.model_digest.empty() || r.model_digest.size() == kSha256Size);
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
             IsKnown(r.task.training) && r.task.error_edges.IsValid() && IsMaxFrame(r.max_frame) &&
             r.receipt.size() <= kMaxReceiptSize && IsWithinLimits(r.model);
    case Reply::Kind::kModelChunk:
      return !r.bytes.empty();
    case Reply::Kind::kRelease:
      return r.job_id.size() == kJobIdSize && r.claims.size() <= kMaxClaimsSize &&
             (r.threshold == 0.0f || IsPositiveNormal(r.threshold)) && !r.model.check.empty() &&
             IsWithinLimits(r.model);
    case Reply::Kind::kError:
      return static_cast<uint8_t>(r.code) <= kLastErrorCode && r.bytes.size() <= kMaxModelNameSize;
    case Reply::Kind::kDescriptionChunk:
      return !r.bytes.empty() && r.bytes.size() <= r.size;
    case Reply::Kind::kWait:
      return static_cast<uint8_t>(r.state) <= kLastWaitState;
    case Reply::Kind::kDone:
    case Reply::Kind::kAck:
      return true;
  }
  return false;
}

// What follows has a function for each direction in one: see fields.h.

// False for an unknown message.
template <class Way, class Wire, class Ours>
bool RequestFields(Way& way, Wire& wire, Ours& r) {
  using Kind = Request::Kind;
  auto& m = wire.message;
  if (way.Is(wire, sotto_Request_hello_tag, r, Kind::kHello)) {
    way(m.hello.version, r.version);
    way(m.hello.device, r.device_id);
    way(m.hello.model_digest, r.model_digest);
    way(m.hello.max_frame, r.max_frame);
    way(m.hello.receipt, r.receipt);
    way(m.hello.largest_batch, r.abilities.largest_batch);
    way(m.hello.features, r.abilities.features);
    way(m.hello.hold_ms, r.hold_ms);
    way(m.hello.differs, r.differs);
    way(m.hello.held, r.held);
  } else if (way.Is(wire, sotto_Request_get_model_tag, r, Kind::kGetModel)) {
    way(m.get_model.offset, r.offset);
    way(m.get_model.code, r.code);
  } else if (way.Is(wire, sotto_Request_update_begin_tag, r, Kind::kUpdateBegin)) {
    way(m.update_begin.job, r.job_id);
    way(m.update_begin.round, r.round);
    way(m.update_begin.attempt, r.attempt);
    way(m.update_begin.nonce, r.nonce);
    way(m.update_begin.coding, r.coding);
    way(m.update_begin.clip_bit, r.clip_bit_q20);
    way(m.update_begin.private_noise, r.private_noise_q20);
    way(m.update_begin.accuracy, r.accuracy_q20);
  } else if (way.Is(wire, sotto_Request_update_chunk_tag, r, Kind::kUpdateChunk)) {
    way(m.update_chunk.offset, r.offset);
    way(m.update_chunk.bytes, r.bytes);
    way(m.update_chunk.last, r.last);
  } else if (way.Is(wire, sotto_Request_get_description_tag, r, Kind::kGetDescription)) {
    way(m.get_description.offset, r.offset);
  } else if (way.Is(wire, sotto_Request_get_release_tag, r, Kind::kGetRelease)) {
    way(m.get_release.held, r.held);
    way(m.get_release.model_digest, r.model_digest);
  } else {
    return false;
  }
  return true;
}

template <class Way, class Wire, class Ours>
void TrainFields(Way& way, Wire& wire, Ours& task) {
  way(wire.job, task.job_id);
  way(wire.round, task.round);
  way(wire.attempt, task.attempt);
  way(wire.coding, task.format.coding);
  way(wire.dither, task.format.dither);
  way(wire.padding, task.format.padding);
  way(wire.length, task.format.length);
  way(wire.quantizer_scale, task.quantizer_scale);
  auto& t = task.training;
  way(wire.clip_l2, t.clip_l2);
  way(wire.clipping, t.clipping);
  way(wire.learning_rate, t.learning_rate);
  way(wire.local_epochs, t.local_epochs);
  way(wire.batch_size, t.batch_size);
  way(wire.weight_decay, t.weight_decay);
  way(wire.momentum, t.momentum);
  way(wire.local_steps, t.local_steps);
  way(wire.batches, t.batches);
  way(wire.rate_first, t.rate_first);
  way(wire.rate_power, t.rate_power);
  way(wire.gradient_clip, t.gradient_clip);
  way(wire.gradient_clip_of, t.gradient_clip_of);
  way(wire.proximal, t.proximal);
  way(wire.clip_by_layer, t.clip_by_layer);
  way(wire.clip_bit, task.clip_bit_q20);
  way(wire.accuracy, task.accuracy_q20);
  way(wire.private_noise, task.private_noise_q20);
  way(wire.error_edges, task.error_edges);
}

template <class Way, class Wire, class Ours>
void ModelFields(Way& way, Wire& wire, Ours& model) {
  way(wire.check, model.check);
  way(wire.grid, model.grid);
  way(wire.base, model.base);
  way(wire.weights_key, model.weights_key);
  way(wire.size, model.size);
  way(wire.code, model.code);
}

template <class Way, class Wire, class Ours>
bool ReplyFields(Way& way, Wire& wire, Ours& r) {
  using Kind = Reply::Kind;
  auto& m = wire.message;
  if (way.Is(wire, sotto_Reply_wait_tag, r, Kind::kWait)) {
    way(m.wait.wait_ms, r.wait_ms);
    way(m.wait.state, r.state);
    way(m.wait.server_features, r.server_features);
    way(m.wait.release, r.release);
  } else if (way.Is(wire, sotto_Reply_train_tag, r, Kind::kTrain)) {
    TrainFields(way, m.train, r.task);
    way(m.train.max_frame, r.max_frame);
    way(m.train.receipt, r.receipt);
    way(m.train.report_ms, r.report_ms);
    way(m.train.server_features, r.server_features);
    way.Has(m.train.has_model, !r.model.check.empty());
    ModelFields(way, m.train.model, r.model);
  } else if (way.Is(wire, sotto_Reply_chunk_tag, r, Kind::kModelChunk)) {
    way(m.chunk.bytes, r.bytes);
  } else if (way.Is(wire, sotto_Reply_ack_tag, r, Kind::kAck)) {
    way(m.ack.offset, r.offset);
    way(m.ack.complete, r.complete);
    way(m.ack.salt, r.salt);
  } else if (way.Is(wire, sotto_Reply_error_tag, r, Kind::kError)) {
    way(m.error.code, r.code);
    way(m.error.final, r.final);
    way(m.error.retry_after_ms, r.wait_ms);
    way(m.error.model, r.bytes);
  } else if (way.Is(wire, sotto_Reply_description_chunk_tag, r, Kind::kDescriptionChunk)) {
    way(m.description_chunk.bytes, r.bytes);
    way(m.description_chunk.size, r.size);
  } else if (way.Is(wire, sotto_Reply_release_tag, r, Kind::kRelease)) {
    way.Has(m.release.has_model, true);
    ModelFields(way, m.release.model, r.model);
    way(m.release.job, r.job_id);
    way(m.release.rounds, r.rounds);
    way(m.release.final, r.final);
    way(m.release.claims, r.claims);
    way(m.release.threshold, r.threshold);
  } else {
    return way.Is(wire, sotto_Reply_done_tag, r, Kind::kDone);
  }
  return true;
}

}  // namespace

ErrorCode KnownErrorCode(uint32_t code) {
  return code <= kLastErrorCode ? static_cast<ErrorCode>(code) : ErrorCode::kUnknown;
}

WaitState KnownWaitState(uint32_t state) {
  return state <= kLastWaitState ? static_cast<WaitState>(state) : WaitState::kUnknown;
}

const char* ErrorCodeName(ErrorCode code) {
  constexpr const char* kNames[] = {
      "kUnknown",  "kVersion",  "kModelMismatch", "kNotSelected", "kWrongAttempt", "kMalformed",
      "kTooLarge", "kConflict", "kBusy",          "kKeyRotated",  "kKeyRevoked",   "kOtherMachine"};
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == kLastErrorCode + 1, "one name a code");
  const auto number = static_cast<uint8_t>(code);
  return number <= kLastErrorCode ? kNames[number] : "unknown error code";
}

Status EncodeRequest(const Request& request, uint32_t max_frame, MutableByteSpan out,
                     size_t* size) {
  if (!IsWithinLimits(request)) return Status::kInvalidArgument;
  sotto_Request wire{};
  Packing way;
  RequestFields(way, wire, request);
  return EncodeFrame(sotto_Request_fields, &wire, max_frame, out, size);
}

Status EncodeReply(const Reply& reply, uint32_t max_frame, MutableByteSpan out, size_t* size) {
  if (!IsWithinLimits(reply)) return Status::kInvalidArgument;
  sotto_Reply wire{};
  Packing way;
  ReplyFields(way, wire, reply);
  return EncodeFrame(sotto_Reply_fields, &wire, max_frame, out, size);
}

Status DecodeRequest(ByteSpan body, Request* request) {
  sotto_Request wire{};
  Unpacking way;
  Request result;
  if (!DecodeFrame(body, sotto_Request_fields, &wire) || !RequestFields(way, wire, result) ||
      !way.is_valid() || !IsWithinLimits(result)) {
    return Status::kMalformed;
  }
  *request = result;
  return Status::kOk;
}

Status DecodeReply(ByteSpan body, Reply* reply) {
  sotto_Reply wire{};
  Unpacking way;
  // A copy, and not a new Reply, whose image would take as many bytes of flash as a Reply has.
  Reply result = *reply;
  if (!DecodeFrame(body, sotto_Reply_fields, &wire) || !ReplyFields(way, wire, result) ||
      !way.is_valid() || !IsWithinLimits(result)) {
    return Status::kMalformed;
  }
  *reply = result;
  return Status::kOk;
}

}  // namespace sotto
