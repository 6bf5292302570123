#include "sotto/client.h"

#include "sotto/bytes.h"
#include "sotto/num.h"
#include "sotto/quantizer.h"

namespace sotto {
namespace {

constexpr size_t kMinChunk = 16;

bool BuffersFit(const ModelInfo& model, const ClientBuffers& b) {
  return b.base.size() == model.parameters && b.parameters.size() == model.parameters &&
         b.chunk.size() >= kMinChunk;
}

}  // namespace

Status ClientConfig::Validate() const {
  if (model == nullptr || !IsValidDeviceId(device_id)) return Status::kInvalidArgument;
  if (samples.read == nullptr || samples.count == 0) return Status::kInvalidArgument;
  if (port.entropy == nullptr || port.now_ms == nullptr) return Status::kInvalidArgument;
  if (max_frame < kMinMaxFrame || max_frame > kMaxMaxFrame) return Status::kInvalidArgument;
  return Status::kOk;
}

Client::~Client() { EndRound(); }

void Client::EndRound() {
  trainer_.Wipe();
  encoder_.Wipe();
  SecureWipe(nonce_, sizeof(nonce_));
  noise_seed_ = Key();
  state_ = resume_ = State::kHello;
  awaiting_reply_ = false;
  offset_ = 0;
}

void Client::Wait(uint32_t ms) {
  wait_pending_ = true;
  wait_ms_ = ms;
}

void Client::OnLinkLost() {
  awaiting_reply_ = false;
  if (state_ == State::kHello || state_ == State::kDone) return;
  // The server says anew how much of an upload it holds.
  resume_ = state_ == State::kUpload ? State::kUploadBegin : state_;
  state_ = State::kHello;
}

Status Client::Step(Progress* progress) {
  if (awaiting_reply_) return Status::kWrongState;
  if (state_ == State::kDone) {
    *progress = Progress::kDone;
    return Status::kOk;
  }
  if (wait_pending_) {
    wait_pending_ = false;
    *progress = Progress::kWait;
    return Status::kOk;
  }
  Status status = Status::kOk;
  if (state_ == State::kTrain) {
    status = StepTrain();
    *progress = Progress::kAgain;
  } else {
    request_ = Request();
    status = PrepareRequest(&request_);
    awaiting_reply_ = status == Status::kOk;
    *progress = Progress::kSend;
  }
  if (status != Status::kOk) {
    EndRound();
    *progress = Progress::kAgain;
  }
  return status;
}

Status Client::StepTrain() {
  bool done = false;
  const Status status = trainer_.Step(&done);
  if (status == Status::kNotFinite && task_.private_noise_q20 != 0) return EncodeNothing();
  if (status != Status::kOk) return status;
  return done ? BeginEncoding() : Status::kOk;
}

Status Client::PrepareRequest(Request* request) {
  switch (state_) {
    case State::kHello:
      return PrepareHello(request);
    case State::kDownload:
      request->kind = Request::Kind::kGetModel;
      request->offset = offset_;
      return Status::kOk;
    case State::kUploadBegin:
      PrepareUploadBegin(request);
      return Status::kOk;
    case State::kUpload:
      return PrepareChunk(request);
    case State::kTrain:
    case State::kDone:
      break;
  }
  return Status::kWrongState;
}

Status Client::PrepareHello(Request* request) {
  if (Status s = config_.Validate(); s != Status::kOk) return s;
  if (!BuffersFit(*config_.model, buffers_)) return Status::kInvalidArgument;
  if (Status s = ModelDigest(*config_.model, model_digest_); s != Status::kOk) return s;
  request->kind = Request::Kind::kHello;
  request->device_id = config_.device_id;
  request->model_digest = model_digest_;
  request->max_frame = config_.max_frame;
  return Status::kOk;
}

void Client::PrepareUploadBegin(Request* request) const {
  request->kind = Request::Kind::kUpdateBegin;
  request->job_id = task_.job_id;
  request->round = task_.round;
  request->attempt = task_.attempt;
  request->nonce = nonce_;
  request->coding = task_.format.coding;
  request->clip_bit_q20 = task_.clip_bit_q20;
  request->private_noise_q20 = task_.private_noise_q20;
}

Status Client::PrepareChunk(Request* request) {
  size_t written = 0;
  if (Status s = ReadUpdate(buffers_.chunk.first(chunk_size_), &written, &request->last);
      s != Status::kOk) {
    return s;
  }
  if (written == 0) return Status::kMalformed;  // the server holds all and asks for more
  request->kind = Request::Kind::kUpdateChunk;
  request->offset = offset_;
  request->bytes = {buffers_.chunk.data(), written};
  return Status::kOk;
}

Status Client::OnReply(const Reply& reply) {
  if (!awaiting_reply_) return Status::kWrongState;
  awaiting_reply_ = false;
  const Status status = HandleReply(reply);
  if (status != Status::kOk) EndRound();
  return status;
}

Status Client::HandleReply(const Reply& reply) {
  if (reply.kind == Reply::Kind::kError) {
    error_code_ = reply.code;
    if (reply.final) return Status::kPeerRefused;
    Wait(reply.wait_ms);
    OnLinkLost();  // nothing is known of what the server holds
    return Status::kOk;
  }
  switch (state_) {
    case State::kHello:
      if (reply.kind == Reply::Kind::kTrain) return OnTask(reply);
      if (reply.kind == Reply::Kind::kWait) {
        EndRound();
        Wait(reply.wait_ms);
        return Status::kOk;
      }
      if (reply.kind == Reply::Kind::kDone) {
        EndRound();
        state_ = State::kDone;
        return Status::kOk;
      }
      break;
    case State::kDownload:
      if (reply.kind == Reply::Kind::kModelChunk) return OnModelChunk(reply.bytes);
      break;
    case State::kUploadBegin:
    case State::kUpload:
      if (reply.kind == Reply::Kind::kAck) return OnAck(reply);
      break;
    case State::kTrain:
    case State::kDone:
      break;
  }
  return Status::kMalformed;
}

bool Client::IsSameAttempt(const TrainTask& task) const {
  return __builtin_memcmp(task.job_id, task_.job_id, sizeof(task.job_id)) == 0 &&
         task.round == task_.round && task.attempt == task_.attempt;
}

// Each session has its own server, whose frames may be smaller than the last one's.
Status Client::SetChunkSize(uint32_t server_max_frame) {
  if (server_max_frame < kMinMaxFrame) return Status::kMalformed;
  const size_t most =
      MaxChunkBytes(server_max_frame < config_.max_frame ? server_max_frame : config_.max_frame);
  const auto room = static_cast<uint32_t>(buffers_.chunk.size());
  chunk_size_ = room < most ? room : most;
  return Status::kOk;
}

Status Client::OnTask(const Reply& reply) {
  const TrainTask& task = reply.task;
  if (Status s = SetChunkSize(reply.max_frame); s != Status::kOk) return s;
  if (resume_ != State::kHello && IsSameAttempt(task)) {
    state_ = resume_;
    resume_ = State::kHello;
    return Status::kOk;
  }
  EndRound();
  if (Status s = task.training.Validate(); s != Status::kOk) return s;
  if (!task.format.IsValid()) return Status::kMalformed;
  const bool is_noisy = task.format.coding != Coding::kFloat32;
  if (is_noisy && !(task.training.clip_l2 <= 1024.0f * task.unit)) return Status::kMalformed;
  const uint32_t most_clip_bit = is_noisy ? static_cast<uint32_t>(kMaxValueQ20) : 0;
  if (task.clip_bit_q20 > most_clip_bit) return Status::kMalformed;
  if (Status s = CheckPrivacy(task); s != Status::kOk) return s;
  task_ = task;
  state_ = State::kDownload;
  return Status::kOk;
}

Status Client::CheckPrivacy(const TrainTask& task) const {
  if (!task.is_private() && !config_.allow_training_without_privacy) return Status::kPeerRefused;
  if (task.private_noise_q20 != 0) {
    const bool is_in_reach = task.private_noise_q20 <= kMaxPrivateNoiseQ20 &&
                             task.training.clip_l2 <= kMaxPrivateClipInUnits * task.unit;
    if (!task.is_private() || !is_in_reach || task.clip_bit_q20 != 0) return Status::kMalformed;
  }
  const uint32_t limit = config_.min_private_noise_q20;
  return limit == 0 || task.HasPrivateNoise(limit) ? Status::kOk : Status::kPeerRefused;
}

Status Client::OnModelChunk(ByteSpan bytes) {
  const uint32_t total = config_.model->parameters * 4;
  if (bytes.empty() || bytes.size() % 4 != 0 || bytes.size() > total - offset_) {
    return Status::kMalformed;
  }
  for (size_t i = 0; i < bytes.size(); i += 4) {
    const float value = FloatFromBits(LoadU32Le(bytes.data() + i));
    if (!IsFinite(value)) return Status::kNotFinite;
    buffers_.base[(offset_ + i) / 4] = value;
  }
  offset_ += static_cast<uint32_t>(bytes.size());
  return offset_ == total ? BeginTraining() : Status::kOk;
}

UpdateIdentity Client::Identity() const {
  return {task_.job_id, config_.device_id, task_.round, task_.attempt, nonce_};
}

// A nonce that no reset, restored backup or second server can repeat: see keys.h. With it, in one
// draw, the seed of the private noise if there is any.
Status Client::DrawNonceAndSeed() {
  uint8_t drawn[kNonceSize + kKeySize];
  WipeOnExit wipe(drawn);
  const size_t size = task_.private_noise_q20 == 0 ? kNonceSize : sizeof(drawn);
  const Port& port = config_.port;
  if (Status s = port.entropy(port.context, {drawn, size}); s != Status::kOk) return s;
  __builtin_memcpy(nonce_, drawn, kNonceSize);
  if (size > kNonceSize) __builtin_memcpy(noise_seed_.bytes, drawn + kNonceSize, kKeySize);
  return Status::kOk;
}

Status Client::BeginTraining() {
  if (Status s = DrawNonceAndSeed(); s != Status::kOk) return s;
  Key order_key;
  if (Status s = DeriveOrderKey(config_.secret, Identity(), &order_key); s != Status::kOk) return s;
  state_ = State::kTrain;
  return trainer_.Begin(*config_.model, task_.training, config_.samples, order_key, buffers_.base,
                        buffers_.parameters, buffers_.scratch, buffers_.indices);
}

// Whether training diverges depends on the data, and an untrusted server may choose options for
// which it does: that a report is missing would tell it. So the update is one of zeros, and noise.
Status Client::EncodeNothing() {
  __builtin_memcpy(buffers_.parameters.data(), buffers_.base.data(),
                   buffers_.base.size() * sizeof(float));
  return BeginEncoding();
}

Status Client::BeginEncoding() {
  // From here on `parameters` holds the update, until the server has all of it.
  for (size_t i = 0; i < buffers_.parameters.size(); ++i) {
    buffers_.parameters[i] -= buffers_.base[i];
  }
  offset_ = 0;
  state_ = State::kUploadBegin;
  if (task_.format.coding == Coding::kFloat32) return Status::kOk;
  Key round_key;
  if (Status s = DeriveRoundKey(config_.secret, Identity(), &round_key); s != Status::kOk) return s;
  const PrivateNoise noise(noise_seed_, task_.private_noise_q20);
  noise_seed_ = Key();
  if (noise.is_on()) ++private_updates_;
  const auto clip_bit = static_cast<int32_t>(task_.clip_bit_q20);
  return encoder_.Begin(round_key, task_.format, buffers_.parameters, task_.training.clip_l2,
                        task_.unit, trainer_.clipped() ? -clip_bit : clip_bit, noise);
}

// The next ReadUpdate() starts at this byte.
Status Client::SeekUpdate(uint32_t offset) {
  if (task_.format.coding != Coding::kFloat32) {
    const Status status = encoder_.Seek(offset);
    return status == Status::kInvalidArgument ? Status::kMalformed : status;
  }
  const bool is_inside = offset % 4 == 0 && offset < 4 * buffers_.parameters.size();
  return is_inside ? Status::kOk : Status::kMalformed;
}

// The bytes of the update from offset_ on; for a Gau-LRQ update the encoder stands there.
Status Client::ReadUpdate(MutableByteSpan out, size_t* written, bool* is_last) {
  if (task_.format.coding != Coding::kFloat32) {
    const Status status = encoder_.Read(out, written);
    *is_last = encoder_.is_done();
    return status;
  }
  const size_t left = 4 * buffers_.parameters.size() - offset_;
  const size_t count = left < out.size() ? left : out.size() / 4 * 4;
  for (size_t i = 0; i < count; i += 4) {
    StoreU32Le(FloatBits(buffers_.parameters[(offset_ + i) / 4]), out.data() + i);
  }
  *written = count;
  *is_last = count == left;
  return Status::kOk;
}

Status Client::OnAck(const Reply& reply) {
  if (reply.complete) {
    EndRound();
    return Status::kOk;
  }
  // A chunk that arrived whole leaves the encoder where the server's count is.
  const bool in_step = state_ == State::kUpload && reply.offset == offset_ + request_.bytes.size();
  offset_ = reply.offset;
  state_ = State::kUpload;
  return in_step ? Status::kOk : SeekUpdate(offset_);
}

}  // namespace sotto
