#include "sotto/client.h"

namespace sotto {
namespace {

constexpr size_t kMinChunk = 16;
constexpr uint32_t kMaxBatch = 65535;  // of a task
// A server closes a connection that does not follow "at once" within 10 s (server/PROTOCOL.md).
constexpr uint32_t kMostRestMs = 8000;

// Whether the client can work at all: with a velocity of another size it works without momentum.
bool IsOfModel(const ModelInfo& model, const ClientBuffers& b) {
  return b.writer.write != nullptr && b.base.size() == model.parameters &&
         b.update.size() == model.trained();
}

// Of a batch, by the indices alone.
uint32_t MostSamples(const LocalRoundBuffers& b) {
  const size_t indices = b.indices.size();
  return indices < kMaxBatch ? static_cast<uint32_t>(indices) : kMaxBatch;
}

// That the model and these buffers have.
uint32_t FeaturesOf(const ModelInfo& model, const LocalRoundBuffers& b) {
  uint32_t features = kFeatureSchedule | kFeatureClamping | kFeatureSalt | kFeatureReportTime |
                      kFeatureOneLength | kFeatureDifferences | kFeatureClipByLayer;
  if (model.has_momentum && b.velocity.size() == model.trained()) features |= kFeatureMomentum;
  if (!model.has_gradient_options) return features;
  const bool has_gradient = b.gradient.size() == model.trained();
  const bool needs_none = model.gradient_for == GradientClipOf::kSample;  // for batches
  if (has_gradient || needs_none) features |= kFeatureClipOfBatch;
  if (has_gradient || !needs_none) features |= kFeatureClipOfSample;
  return features | kFeatureProximal;
}

}  // namespace

Client::Client(const ClientConfig& config, const ClientBuffers& buffers)
    : config_(config), buffers_(buffers), round_(config.engine, buffers.words) {}

Status Client::Check(const ClientConfig& config, const ClientBuffers& buffers,
                     size_t* bytes_needed) {
  if (Status s = config.Validate(); s != Status::kOk) return s;
  const ModelInfo& model = *config.model;
  const uint32_t batch = MostSamples(buffers);
  const size_t vectors[] = {buffers.velocity.size(), buffers.gradient.size()};
  if (!IsOfModel(model, buffers) || batch == 0) return Status::kInvalidArgument;
  for (const size_t size : vectors) {
    if (size != 0 && size != model.trained()) return Status::kInvalidArgument;
  }
  const size_t floats = model.training_floats(model, batch);
  *bytes_needed = sizeof(float) * floats;
  const bool fits = buffers.scratch.size() >= floats && buffers.chunk.size() >= kMinChunk;
  return fits ? Status::kOk : Status::kBufferTooSmall;
}

Abilities Client::AbilitiesOf(const ModelInfo& model, const LocalRoundBuffers& buffers) {
  uint32_t batch = MostSamples(buffers);
  while (batch > 0 && model.training_floats(model, batch) > buffers.scratch.size()) --batch;
  return {batch, FeaturesOf(model, buffers)};
}

Status ClientConfig::Validate() const {
  if (Status s = LocalDevice::Validate(); s != Status::kOk) return s;
  if (port.now_ms == nullptr) return Status::kInvalidArgument;
  if (max_frame < kMinMaxFrame || max_frame > kMaxMaxFrame) return Status::kInvalidArgument;
  const bool can_limit = ledger.is_there() && min_private_noise_q20 != 0;
  return most_private_updates == 0 || can_limit ? Status::kOk : Status::kInvalidArgument;
}

void Client::EndRound() {
  round_.Wipe();
  state_ = resume_ = State::kHello;
  awaiting_reply_ = false;
  report_at_ms_ = bytes_at_ms_ = train_until_ms_ = 0;
}

void Client::GiveUp() { IsInFetch() ? EndFetch() : EndRound(); }

void Client::Wait(uint32_t ms) {
  wait_pending_ = true;
  wait_ms_ = ms;
}

// Whether the last Hello was kept open for most of the time that the device had offered. The time
// on the way counts, too: it is time in which the device did not ask.
bool Client::WasHeld() const {
  if (request_.kind != Request::Kind::kHello || config_.hold_ms == 0) return false;
  const uint32_t hold_ms = config_.hold_ms < kMostHoldMs ? config_.hold_ms : kMostHoldMs;
  return NowMs() - asked_ms_ >= hold_ms - hold_ms / 4;
}

// After each answer that asks for patience: no server makes the device spin. A server that states
// what the device waits for says "at once" whenever that changes. So the wait does not grow if the
// server held the Hello for as long as the last wait, and a device that keeps its link never waits
// until the server thinks that it has left.
void Client::WaitAsAsked(uint32_t asked_ms) {
  const bool may_ask_at_once = WasHeld();
  const bool keeps_link = config_.hold_ms != 0;
  const bool was_kept =
      keeps_link && request_.kind == Request::Kind::kHello && NowMs() - asked_ms_ >= wait_ms_;
  if (may_ask_at_once || was_kept) pace_.Forget();
  uint32_t wait_ms = may_ask_at_once ? asked_ms : pace_.WaitMs(asked_ms);
  const bool is_own_choice = asked_ms < RetryPace::kAtOnceMs;
  if (keeps_link && is_own_choice && wait_ms > kMostRestMs) wait_ms = kMostRestMs;
  Wait(wait_ms);
}

// The server would give the same answer to each further Hello of this round: nobody spins.
void Client::Refuse() {
  is_refused_ = true;
  Wait(kRefusedWaitMs);
}

// Of a task that has just come.
void Client::SetReportTime(uint32_t report_ms) {
  if (report_ms == 0) return;
  report_at_ms_ = NowMs() + report_ms;
  train_until_ms_ = report_at_ms_ - report_ms / 4;
  bytes_at_ms_ = report_at_ms_ + report_ms / 8;
}

// Whether the update, or its first bytes, must not leave yet; wait_ms_ then says for how long. A
// caller that was away, or woke early, may be told several times.
bool Client::IsBeforeReport() {
  const bool is_begin = state_ == State::kUploadBegin;
  if (report_at_ms_ == 0 || !(is_begin || state_ == State::kUpload)) return false;
  const uint64_t until_ms = is_begin ? report_at_ms_ : bytes_at_ms_;
  const uint64_t now_ms = NowMs();
  if (now_ms >= until_ms) return false;
  wait_ms_ = static_cast<uint32_t>(until_ms - now_ms);
  return true;
}

void Client::OnLinkLost() {
  // A server tells each new link at once what the device waits for: that says nothing of the last.
  if (awaiting_reply_ && request_.kind == Request::Kind::kHello) pace_.Forget();
  awaiting_reply_ = has_said_hello_ = false;
  server_features_ = 0;
  if (IsInFetch()) fetch_began_ ? LeaveFetch() : EndFetch();
  if (state_ == State::kHello || state_ == State::kDone) return;
  // For an upload, UpdateBegin asks the server again how many bytes it holds.
  resume_ = state_ == State::kUpload ? State::kUploadBegin : state_;
  state_ = State::kHello;
}

Status Client::Step(Progress* progress) {
  if (awaiting_reply_) return Status::kWrongState;
  if (is_fetching_) StepTowardsFetch();
  if (state_ == State::kDone) {
    *progress = Progress::kDone;
    return Status::kOk;
  }
  if (wait_pending_ || IsBeforeReport()) {
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
    if (awaiting_reply_) asked_ms_ = NowMs();
    *progress = Progress::kSend;
  }
  if (status != Status::kOk) {
    GiveUp();
    *progress = Progress::kAgain;
  }
  return status;
}

Status Client::StepTrain() {
  bool done = false;
  const bool is_late = train_until_ms_ != 0 && NowMs() >= train_until_ms_;
  const Status status = is_late ? round_.GiveUpTraining(&done) : round_.Step(&done);
  if (status != Status::kOk) return status;
  if (!done) return Status::kOk;
  state_ = State::kUploadBegin;
  return ChargeUpdate();
}

Status Client::LoadSpending() {
  return config_.ledger.is_there() ? config_.ledger.load(config_.ledger.store, &spent_)
                                   : Status::kOk;
}

// Before anything of the update can leave: its first byte needs a request, and so a later Step().
// Another object may have charged the record since the task was taken.
Status Client::ChargeUpdate() {
  if (task_.private_noise_q20 == 0 || !config_.ledger.is_there()) return Status::kOk;
  if (Status s = LoadSpending(); s != Status::kOk) return s;
  if (!IsWithinLimit(task_)) {
    Refuse();
    return Status::kPeerRefused;
  }
  return config_.ledger.charge(config_.ledger.store, task_, &spent_);
}

bool Client::IsWithinLimit(const TrainTask& task) const {
  const uint32_t limit = config_.most_private_updates;
  return limit == 0 || task.private_noise_q20 == 0 || spent_.updates < limit;
}

Status Client::PrepareRequest(Request* request) {
  switch (state_) {
    case State::kHello:
      return PrepareHello(request);
    case State::kAskRelease:
      return PrepareGetRelease(request);
    case State::kDownload:
    case State::kFetchRelease:
      download_.PrepareRequest(request);
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
  if (Status s = LoadSpending(); s != Status::kOk) return s;
  const ModelInfo& model = *config_.model;
  if (!IsOfModel(model, buffers_)) return Status::kInvalidArgument;
  PrepareWholeHello(request);
  const bool has_room = request->abilities.largest_batch > 0 && buffers_.chunk.size() >= kMinChunk;
  if (!has_room) return Status::kBufferTooSmall;
  const bool may_be_short = (server_features_ & kServerRemembersHello) != 0;
  if (!may_be_short) return ModelDigest(model, model_digest_);
  PrepareShortHello(request);
  return Status::kOk;
}

void Client::PrepareWholeHello(Request* request) {
  request->kind = Request::Kind::kHello;
  request->abilities = AbilitiesOf(*config_.model, buffers_);
  if (config_.CanEvaluate(buffers_.scratch)) request->abilities.features |= kFeatureAccuracy;
  const bool takes_edges = config_.max_frame >= kMinMeasuringFrame;
  if (takes_edges && config_.CanMeasure()) request->abilities.features |= kFeatureErrors;
  if (config_.stays) request->abilities.features |= kFeatureStays;
  if (config_.wants_news) request->abilities.features |= kFeatureReleases;
  request->device_id = config_.device_id;
  request->model_digest = model_digest_;
  request->max_frame = config_.max_frame;
  request->receipt = receipt();
  request->hold_ms = HoldMs();
  request->held = held_.check();
}

// What has changed since the last Hello of this connection. That the device no longer holds a model
// cannot be said there.
void Client::PrepareShortHello(Request* request) const {
  *request = Request();
  request->kind = Request::Kind::kHello;
  request->version = 0;
  request->max_frame = 0;
  request->hold_ms = HoldMs();
  if (!has_said_receipt_) request->receipt = receipt();
  if (!has_said_held_) request->held = held_.check();
}

Status Client::PrepareGetRelease(Request* request) const {
  if (Status s = config_.Validate(); s != Status::kOk) return s;
  if (!IsOfModel(*config_.model, buffers_)) return Status::kInvalidArgument;
  request->kind = Request::Kind::kGetRelease;
  request->held = held_.check();
  return Status::kOk;
}

void Client::PrepareUploadBegin(Request* request) const {
  request->kind = Request::Kind::kUpdateBegin;
  request->job_id = task_.job_id;
  request->round = task_.round;
  request->attempt = task_.attempt;
  request->nonce = round_.nonce();
  request->coding = task_.format.coding;
  request->clip_bit_q20 = task_.clip_bit_q20;
  request->accuracy_q20 = task_.accuracy_q20;
  request->private_noise_q20 = task_.private_noise_q20;
}

Status Client::PrepareChunk(Request* request) {
  size_t written = 0;
  request->offset = round_.position();
  if (Status s = round_.Read(buffers_.chunk.first(chunk_size_), &written, &request->last);
      s != Status::kOk) {
    return s;
  }
  if (written == 0) return Status::kMalformed;  // the server holds all and asks for more
  request->kind = Request::Kind::kUpdateChunk;
  request->bytes = {buffers_.chunk.data(), written};
  return Status::kOk;
}

Status Client::OnReply(const Reply& reply) {
  if (!awaiting_reply_) return Status::kWrongState;
  awaiting_reply_ = false;
  const Status status = HandleReply(reply);
  if (status != Status::kOk) GiveUp();
  return status;
}

Status Client::HandleReply(const Reply& reply) {
  is_refused_ = false;
  if (reply.kind == Reply::Kind::kError) return OnError(reply);
  switch (state_) {
    case State::kHello:
      return OnHelloReply(reply);
    case State::kDownload:
    case State::kFetchRelease:
      if (reply.kind == Reply::Kind::kModelChunk) return OnModelChunk(reply.bytes);
      break;
    case State::kUploadBegin:
    case State::kUpload:
      if (reply.kind == Reply::Kind::kAck) return OnAck(reply);
      break;
    case State::kAskRelease:
      if (reply.kind == Reply::Kind::kRelease) return OnRelease(reply);
      break;
    case State::kTrain:
    case State::kDone:
      break;
  }
  return Status::kMalformed;
}

Status Client::OnError(const Reply& reply) {
  error_code_ = reply.code;
  // A server that does not remember what a short Hello leaves out: the next one says it.
  const bool is_short_hello = request_.kind == Request::Kind::kHello && request_.version == 0;
  if (is_short_hello &&
      (reply.code == ErrorCode::kVersion || reply.code == ErrorCode::kMalformed)) {
    WaitAsAsked(reply.wait_ms);
    OnLinkLost();
    return Status::kOk;
  }
  const bool is_old_key =
      reply.code == ErrorCode::kKeyRotated || reply.code == ErrorCode::kKeyRevoked;
  if (IsInFetch()) return OnErrorOfFetch(reply, is_old_key);
  // The server knows the device's model all the same, and may have released one of its kind.
  has_said_hello_ = has_said_hello_ || reply.code == ErrorCode::kModelMismatch;
  if (is_old_key || reply.code == ErrorCode::kVersion || reply.code == ErrorCode::kModelMismatch) {
    Refuse();
  }
  if (reply.final || is_old_key) return Status::kPeerRefused;
  WaitAsAsked(reply.wait_ms);
  OnLinkLost();  // the client no longer knows which bytes the server holds
  return Status::kOk;
}

Status Client::OnHelloReply(const Reply& reply) {
  has_said_hello_ = true;
  if (reply.kind == Reply::Kind::kTrain || reply.kind == Reply::Kind::kWait) {
    server_features_ |= reply.server_features;  // said once a connection, after a whole Hello
    has_said_receipt_ = has_said_held_ = true;
  }
  if (reply.kind == Reply::Kind::kTrain) return OnTask(reply);
  if (reply.kind == Reply::Kind::kWait) {
    newest_release_ = reply.release;
    EndRound();
    WaitAsAsked(reply.wait_ms);
    return Status::kOk;
  }
  if (reply.kind != Reply::Kind::kDone) return Status::kMalformed;
  EndRound();
  state_ = State::kDone;
  return Status::kOk;
}

bool Client::IsSameAttempt(const TrainTask& task) const {
  return __builtin_memcmp(task.job_id, task_.job_id, sizeof(task.job_id)) == 0 &&
         task.round == task_.round && task.attempt == task_.attempt;
}

// Each session may have another server with smaller frames, so the size is computed for each.
Status Client::SetChunkSize(uint32_t server_max_frame) {
  if (server_max_frame < kMinMaxFrame) return Status::kMalformed;
  const size_t most =
      MaxChunkBytes(server_max_frame < config_.max_frame ? server_max_frame : config_.max_frame);
  const auto room = static_cast<uint32_t>(buffers_.chunk.size());
  chunk_size_ = room < most ? room : most;
  return Status::kOk;
}

void Client::RestoreReceipt(ByteSpan receipt) {
  if (receipt.empty() || receipt.size() > kMaxReceiptSize) return;
  const bool is_same = receipt.size() == receipt_size_ &&
                       __builtin_memcmp(receipt_, receipt.data(), receipt.size()) == 0;
  if (is_same) return;
  __builtin_memcpy(receipt_, receipt.data(), receipt.size());
  receipt_size_ = receipt.size();
  has_said_receipt_ = false;
}

Status Client::OnTask(const Reply& reply) {
  const TrainTask& task = reply.task;
  RestoreReceipt(reply.receipt);
  if (Status s = SetChunkSize(reply.max_frame); s != Status::kOk) return s;
  if (resume_ != State::kHello && IsSameAttempt(task)) {
    state_ = resume_;
    resume_ = State::kHello;
    const bool is_other = state_ == State::kDownload && !download_.IsOf(reply.model);
    return is_other ? BeginDownload(reply.model) : Status::kOk;
  }
  EndRound();
  if (has_sent_ && IsSameAttempt(task)) {  // nothing is left to do in it: nobody spins
    WaitAsAsked(0);
    return Status::kOk;
  }
  if (Status s = task.Validate(); s != Status::kOk) {
    Wait(kRefusedWaitMs);  // until the round is over the server would give it again
    return s;
  }
  if (!IsPrivateEnough(task) || !IsWithinLimit(task)) {
    Refuse();
    return Status::kPeerRefused;
  }
  task_ = task;
  const ByteSpan edges = task.error_edges.bytes();
  if (!edges.empty()) __builtin_memcpy(error_edges_, edges.data(), edges.size());
  task_.error_edges = ErrorEdges(ByteSpan(error_edges_).first(edges.size()));
  has_sent_ = false;
  SetReportTime(reply.report_ms);
  state_ = State::kDownload;
  return BeginDownload(reply.model);
}

bool Client::IsPrivateEnough(const TrainTask& task) const {
  if (!task.is_private() && !config_.allow_training_without_privacy) return false;
  const uint32_t limit = config_.min_private_noise_q20;
  return limit == 0 || task.HasPrivateNoise(limit);
}

Status Client::OnAck(const Reply& reply) {
  if (reply.complete) {
    pace_.Forget();
    EndRound();
    has_sent_ = true;
    return Status::kOk;
  }
  const bool is_begin = state_ == State::kUploadBegin;
  state_ = State::kUpload;
  if (is_begin) {
    if (Status s = round_.SetSalt(reply.salt); s != Status::kOk) return s;
  } else if (reply.offset <= request_.offset) {
    WaitAsAsked(0);  // the upload is stuck
  }
  // With a report time the update is encoded before the wait for its first bytes.
  const bool encodes = is_begin && report_at_ms_ != 0;
  // After a chunk that arrived whole, the position already equals the server's count.
  if (reply.offset == round_.position() && !encodes) return Status::kOk;
  const Status status = round_.Seek(reply.offset);
  return status == Status::kInvalidArgument ? Status::kMalformed : status;
}

}  // namespace sotto
