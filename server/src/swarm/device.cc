#include "swarm/device.h"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "aggregate/dither_engine.h"
#include "base/bytes.h"
#include "sotto/key_labels.h"
#include "sotto/posix/check.h"
#include "sotto/posix/port.h"
#include "sotto/posix/run_key.h"

namespace sotto::server {
namespace {

constexpr uint32_t kMaxBatchSize = 1024;
constexpr uint64_t kFirstBackOffMs = 500;
constexpr uint64_t kLastBackOffMs = 30000;
constexpr double kAwayMs = 2000;  // of a device that dropped out
constexpr uint64_t kHandshakeTimeoutMs = 20000;
constexpr uint64_t kReplyTimeoutMs = 60000;

// A device without samples never calls them.
Status NoSample(void*, uint32_t, Span<float>, uint32_t*) { return Status::kOutOfRange; }
Status NoVector(void*, uint32_t, Span<float>, Span<float>) { return Status::kOutOfRange; }

const HeldOut& NothingHeldOut() {
  static const HeldOut kNone = MakeHeldOut({0, NoSample, nullptr, NoVector});
  return kNone;
}

}  // namespace

SharedMemory::SharedMemory(const ModelInfo& model)
    : base_(model.parameters),
      scratch_(model.training_floats(model, kMaxBatchSize)),
      indices_(kMaxBatchSize),
      velocity_(model.has_momentum ? model.parameters : 0),
      gradient_(model.has_gradient_options ? model.parameters : 0) {}

ClientBuffers SharedMemory::With(Span<float> own, Span<float> update, MutableByteSpan chunk,
                                 Span<uint64_t> words) {
  const Span<float> base = own.empty() ? Span<float>(base_.data(), base_.size()) : own;
  return {{base,
           update,
           {scratch_.data(), scratch_.size()},
           {indices_.data(), indices_.size()},
           {velocity_.data(), velocity_.size()},
           {gradient_.data(), gradient_.size()}},
          WriterTo(base),
          chunk,
          words,
          {}};
}

const std::vector<float>* DecodedModels::Find(ByteSpan check) const {
  for (const auto& [known, model] : models_) {
    if (std::equal(known.begin(), known.end(), check.begin(), check.end())) return &model;
  }
  return nullptr;
}

void DecodedModels::Keep(ByteSpan check, const std::vector<float>& model) {
  constexpr size_t kMost = 2;  // the attempt under way, and a device that is late
  models_.emplace_front(Check(check.begin(), check.end()), model);
  if (models_.size() > kMost) models_.pop_back();
}

SwarmDevice::SwarmDevice(Surroundings& around, const Device& identity, uint32_t index)
    : around_(around),
      identity_(identity),
      index_(index),
      jitter_(posix::DeriveKey(around.options.seed, key_label::kDropout, index), 1),
      base_(around.options.float32 ? 0 : around.model.parameters),
      update_(around.model.parameters),
      chunk_(MaxChunkBytes(around.options.max_frame)),
      words_(kMaxDitherBatch),
      send_(kFrameHeaderSize + around.options.max_frame),
      receive_(around.options.max_frame),
      client_(MakeConfig(),
              around.memory.With({base_.data(), base_.size()}, {update_.data(), update_.size()},
                                 {chunk_.data(), chunk_.size()}, {words_.data(), words_.size()})),
      link_({send_.data(), send_.size()}, {receive_.data(), receive_.size()}),
      back_off_ms_(kFirstBackOffMs),
      in_rate_(around.options.faults.slow_bytes_s),
      out_rate_(around.options.faults.slow_bytes_s) {
  uv_timer_init(around.loop, &timer_);
  timer_.data = this;
}

ClientConfig SwarmDevice::MakeConfig() {
  ClientConfig config;
  config.model = &around_.model;
  config.device_id = BytesOf(identity_.id);
  config.secret = identity_.secret;
  config.samples = {0, NoSample, nullptr, NoVector};
  config.held_out = &NothingHeldOut();
  if (around_.samples) {
    share_.emplace(*around_.samples->data, around_.samples->partition.DeviceSamples(index_));
    config.samples = share_->source();
  }
  config.port = posix::SystemPort();
  config.allow_training_without_privacy = true;
  config.max_frame = around_.options.max_frame;
  config.hold_ms = around_.options.hold_ms;
  config.engine = FastEngine();
  return config;
}

void SwarmDevice::Start() { Run(); }

// Takes the device as far as it can go now.
void SwarmDevice::Run() {
  try {
    while (Advance()) {
    }
  } catch (...) {
    around_.on_failure();
  }
}

// One step. False: the device waits for time or for its link, or has ended.
bool SwarmDevice::Advance() {
  switch (state_) {
    case State::kThinking:
      return Think();
    case State::kConnecting:
      return FinishConnect();
    case State::kTalking:
      return Talk();
    case State::kPaused:
    case State::kEnded:
      break;
  }
  return false;
}

// The client's next step, up to a request.
bool SwarmDevice::Think() {
  if (fetch_) {
    state_ = State::kTalking;
    deadline_ms_ = now_ms() + kReplyTimeoutMs;
    return true;
  }
  Client::Progress progress = Client::Progress::kAgain;
  while (progress == Client::Progress::kAgain) {
    posix::Check(client_.Step(&progress), "a step of a device");
  }
  if (progress == Client::Progress::kDone) {
    around_.figures.Count(&SwarmCounts::told_done);
    End();
    return false;
  }
  if (progress == Client::Progress::kWait) {
    Pause(client_.wait_ms());
    return false;
  }
  if (client_.request().kind == Request::Kind::kUpdateChunk) {
    if (std::exchange(fate_.drops_out, false)) {
      HangUp();
      return false;
    }
    if (std::exchange(fate_.is_corrupt, false)) {
      around_.figures.Count(&SwarmCounts::corrupted);
      uint8_t& byte = chunk_[fate_.at % client_.request().bytes.size()];
      byte = static_cast<uint8_t>(~byte);
    }
  }
  if (!stream_.is_open()) return Connect();
  state_ = State::kTalking;
  deadline_ms_ = now_ms() + kReplyTimeoutMs;
  return true;
}

bool SwarmDevice::Connect() {
  const SwarmOptions& options = around_.options;
  const std::string from = options.addresses == 0 ? "" : LocalAddress(index_ % options.addresses);
  state_ = State::kConnecting;
  deadline_ms_ = now_ms() + kHandshakeTimeoutMs;
  if (stream_.BeginConnect(options.address, options.port, from) != Status::kOk) {
    LoseLink();
    return false;
  }
  posix::Check(link_.Begin(posix::SystemPort(), BytesOf(identity_.id), identity_.secret,
                           {Send, Receive, this}),
               "starting TLS");
  poll_ = new uv_poll_t{};
  poll_->data = this;
  uv_poll_init_socket(around_.loop, poll_, stream_.descriptor());
  Watch(UV_WRITABLE);
  return false;
}

bool SwarmDevice::FinishConnect() {
  Watch(0);  // a failure closes the socket
  if (stream_.FinishConnect() != Status::kOk) {
    LoseLink();
    return false;
  }
  is_connected_ = true;
  around_.figures.OnConnected();
  state_ = State::kTalking;
  return true;
}

// Without what older devices do not say.
Request SwarmDevice::NextRequest() const {
  if (fetch_) {
    Request get;
    get.kind = Request::Kind::kGetModel;
    get.code = fetch_->code;
    get.offset = fetch_->offset;
    return get;
  }
  Request request = client_.request();
  if (!around_.options.float32) return request;
  request.abilities.features &= ~kFeatureDifferences;
  request.held = {};
  return request;
}

bool SwarmDevice::Talk() {
  is_throttled_ = false;
  Reply reply;
  const bool was_authenticated = link_.is_authenticated();
  const Status status = link_.Exchange(NextRequest(), &reply);
  if (!was_authenticated && link_.is_authenticated()) {
    around_.figures.Count(&SwarmCounts::handshakes);
    deadline_ms_ = now_ms() + kReplyTimeoutMs;
  }
  if (status == Status::kWouldBlock) {
    WaitForLink();
    return false;
  }
  if (reply.kind == Reply::Kind::kTrain) cost_ = {};
  cost_.bytes_up += bytes_out_;
  cost_.bytes_down += bytes_in_;
  ++cost_.turns;
  around_.figures.OnTraffic(std::exchange(bytes_in_, 0), std::exchange(bytes_out_, 0));
  if (status != Status::kOk) {
    LoseLink();
    return false;
  }
  if (!fetch_) return TakeReply(reply);
  OnFetched(reply);
  return Rest();
}

// The client holds the offered model at once, and the device downloads it beside the client.
void SwarmDevice::UseDecoded(const ModelOffer& offer) {
  offered_.assign(offer.check.begin(), offer.check.end());
  if (base_.empty() || offer.size == 0) return;
  const std::vector<float>* model = around_.decoded.Find(offer.check);
  if (model == nullptr) return;
  base_ = *model;
  client_.RestoreModel(offer.check);
  fetch_ = Fetch{offer.code, offer.size};
}

void SwarmDevice::KeepDecoded() {
  const ByteSpan check(offered_.data(), offered_.size());
  if (!base_.empty() && around_.decoded.Find(check) == nullptr) around_.decoded.Keep(check, base_);
}

// An error ends the download; the client learns of it with its upload.
void SwarmDevice::OnFetched(const Reply& reply) {
  const size_t size = reply.kind == Reply::Kind::kModelChunk ? reply.bytes.size() : 0;
  fetch_->offset += static_cast<uint32_t>(size);
  fetch_->missing -= static_cast<uint32_t>(std::min<size_t>(size, fetch_->missing));
  if (size == 0 || fetch_->missing == 0) fetch_.reset();
}

bool SwarmDevice::TakeReply(const Reply& reply) {
  back_off_ms_ = kFirstBackOffMs;
  if (reply.kind == Reply::Kind::kTrain &&
      task_ != Figures::Task{reply.task.round, reply.task.attempt}) {
    UseDecoded(reply.model);
  }
  const Client::State before = client_.state();
  const Status status = client_.OnReply(reply);
  if (fetch_) client_.RestoreModel({offered_.data(), offered_.size()});  // news for the server
  const bool is_decoded =
      before == Client::State::kDownload && client_.state() == Client::State::kTrain;
  if (is_decoded) KeepDecoded();
  if (reply.kind == Reply::Kind::kError && reply.final) {
    OnFinalError(before, reply);
    return false;
  }
  posix::Check(status, "the server's reply");
  if (reply.kind == Reply::Kind::kTrain) OnTask();
  if (reply.kind == Reply::Kind::kAck && reply.complete) {
    around_.figures.OnAccepted(CurrentTask(), cost_, task_began_ns_, uv_hrtime());
  }
  Train();
  return Rest();
}

// Before the next request.
bool SwarmDevice::Rest() {
  state_ = State::kThinking;
  if (around_.options.faults.latency_ms <= 0) return true;
  Pause(Jittered(around_.options.faults.latency_ms, jitter_.NextU32()));
  return false;
}

// The server gives a device that was cut off the same attempt again.
void SwarmDevice::OnTask() {
  const Figures::Task task = CurrentTask();
  if (task_ == task) return;
  task_ = task;
  task_began_ns_ = uv_hrtime();
  fate_ = FateOf(around_.options.faults, around_.options.seed, index_, task.first, task.second);
  around_.figures.OnTask(task, task_began_ns_);
}

// The client has given the round up.
void SwarmDevice::OnFinalError(Client::State during, const Reply& reply) {
  if (during == Client::State::kHello) {
    around_.figures.Count(&SwarmCounts::refused);
    End();
    return;
  }
  const bool is_late =
      reply.code == ErrorCode::kNotSelected || reply.code == ErrorCode::kWrongAttempt;
  around_.figures.Count(is_late ? &SwarmCounts::late : &SwarmCounts::rejected);
  BackOff();
}

// The whole training at once: see SharedMemory.
void SwarmDevice::Train() {
  Client::Progress progress = Client::Progress::kAgain;
  while (client_.state() == Client::State::kTrain) {
    posix::Check(client_.Step(&progress), "a training");
  }
}

void SwarmDevice::Pause(uint64_t ms) {
  state_ = State::kPaused;
  uv_timer_start(
      &timer_,
      [](uv_timer_t* timer) {
        auto* self = static_cast<SwarmDevice*>(timer->data);
        if (self->state_ == State::kPaused) self->state_ = State::kThinking;
        self->Run();
      },
      ms, 0);
}

// As sotto-client does.
void SwarmDevice::BackOff() {
  Pause(Jittered(static_cast<double>(back_off_ms_), jitter_.NextU32()));
  back_off_ms_ = std::min(2 * back_off_ms_, kLastBackOffMs);
}

// In the middle of a round; the device comes back later.
void SwarmDevice::HangUp() {
  around_.figures.Count(&SwarmCounts::dropped);
  CloseLink();
  client_.OnLinkLost();
  Pause(Jittered(kAwayMs, jitter_.NextU32()));
}

void SwarmDevice::LoseLink() {
  around_.figures.Count(!is_connected_             ? &SwarmCounts::failed_connects
                        : link_.is_authenticated() ? &SwarmCounts::lost_links
                                                   : &SwarmCounts::failed_handshakes);
  CloseLink();
  client_.OnLinkLost();
  // A server whose job is done tells those that ask for some seconds, and ends.
  if (around_.figures.Counts().told_done > 0) {
    End();
  } else {
    BackOff();
  }
}

void SwarmDevice::CloseLink() {
  fetch_.reset();
  if (poll_ != nullptr) {
    uv_close(reinterpret_cast<uv_handle_t*>(poll_),
             [](uv_handle_t* handle) { delete reinterpret_cast<uv_poll_t*>(handle); });
    poll_ = nullptr;
    watched_ = 0;
  }
  if (is_connected_) {
    link_.Close();
    around_.figures.OnTraffic(std::exchange(bytes_in_, 0), std::exchange(bytes_out_, 0));
    around_.figures.OnDisconnected();
  }
  is_connected_ = false;
  stream_.Close();
}

void SwarmDevice::End() {
  CloseLink();
  state_ = State::kEnded;
}

void SwarmDevice::Stop() {
  End();
  uv_close(reinterpret_cast<uv_handle_t*>(&timer_), nullptr);
}

void SwarmDevice::OnTick() {
  const bool waits = state_ == State::kConnecting || state_ == State::kTalking;
  if (waits && now_ms() >= deadline_ms_) LoseLink();
}

void SwarmDevice::WaitForLink() {
  if (!is_throttled_) {
    Watch(link_.wants_write() ? UV_READABLE | UV_WRITABLE : UV_READABLE);
    return;
  }
  Watch(0);
  const uint64_t pause_ms = std::max(in_rate_.PauseMs(), out_rate_.PauseMs());
  uv_timer_start(
      &timer_, [](uv_timer_t* timer) { static_cast<SwarmDevice*>(timer->data)->Run(); },
      std::max<uint64_t>(pause_ms, 1), 0);
}

void SwarmDevice::Watch(int events) {
  if (events == watched_) return;
  watched_ = events;
  if (events == 0) {
    uv_poll_stop(poll_);
    return;
  }
  uv_poll_start(poll_, events, [](uv_poll_t* poll, int status, int) {
    auto* self = static_cast<SwarmDevice*>(poll->data);
    if (status < 0) self->watched_ = 0;  // libuv has stopped
    const bool waits = self->state_ == State::kConnecting || self->state_ == State::kTalking;
    if (waits) {
      self->Run();
    } else {
      self->Watch(0);  // the server has hung up: the next request notices it
    }
  });
}

// Moves bytes at the rate of their direction. Returns what `move` does: how many were moved.
template <class Move>
int SwarmDevice::Moved(size_t size, ByteRate& rate, uint64_t& moved, Move move) {
  const size_t allowed = rate.Allowed(size, now_ms());
  is_throttled_ = allowed == 0;
  if (allowed == 0) return 0;
  const int count = move(allowed);
  if (count > 0) {
    rate.Took(static_cast<size_t>(count));
    moved += static_cast<uint64_t>(count);
  }
  return count;
}

int SwarmDevice::Send(void* context, const uint8_t* bytes, size_t size) {
  auto* self = static_cast<SwarmDevice*>(context);
  return self->Moved(size, self->out_rate_, self->bytes_out_, [&](size_t allowed) {
    return self->stream_.Send({bytes, allowed});
  });
}

int SwarmDevice::Receive(void* context, uint8_t* out, size_t size) {
  auto* self = static_cast<SwarmDevice*>(context);
  return self->Moved(size, self->in_rate_, self->bytes_in_, [&](size_t allowed) {
    return self->stream_.Receive({out, allowed});
  });
}

}  // namespace sotto::server
