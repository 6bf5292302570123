#include "net/connection.h"

#include <algorithm>

namespace sotto::server {
namespace {

// The most bytes of input that TLS has not taken; a peer that sends more is closed.
constexpr size_t kMaxInput = 65536;

struct StateRule {
  Connection::State state;
  bool reads;                            // takes bytes from the network
  uint64_t ConnectionLimits::*patience;  // from entering the state; null: without limit
  const char* overdue;                   // why the connection is closed after that time
};

using State = Connection::State;

// One row for each State, in the order of the enumeration.
constexpr StateRule kConnectionStates[] = {
    {State::kHandshake, true, &ConnectionLimits::handshake_timeout_ms, "no handshake in time"},
    {State::kRequest, true, &ConnectionLimits::request_timeout_ms, "no whole request in time"},
    {State::kAnswering, false, nullptr, ""},  // the server's own work always ends
    {State::kClosed, false, nullptr, ""},
};

const StateRule& RuleOf(State state) { return kConnectionStates[static_cast<int>(state)]; }

}  // namespace

Connection::Connection(TlsContext& tls, const ConnectionLimits& limits, uint64_t begin_ms)
    : limits_(limits), frame_(limits.max_frame), reader_({frame_.data(), frame_.size()}) {
  Enter(State::kHandshake, begin_ms);
  if (Status s = tls_.Start(&tls, {TlsSend, TlsReceive, this}); s != Status::kOk) {
    Fail(std::string("TLS cannot start: ") + StatusName(s));
  }
}

void Connection::Enter(State state, uint64_t now_ms) {
  state_ = state;
  const auto patience = RuleOf(state).patience;
  deadline_ms_ = patience == nullptr ? UINT64_MAX : now_ms + limits_.*patience;
}

bool Connection::wants_input() const {
  const bool must_compute_first = state_ == State::kHandshake && !input_.empty();
  return RuleOf(state_).reads && !must_compute_first;
}

int Connection::TlsSend(void* context, const uint8_t* bytes, size_t size) {
  auto* self = static_cast<Connection*>(context);
  self->output_.insert(self->output_.end(), bytes, bytes + size);
  return static_cast<int>(size);
}

int Connection::TlsReceive(void* context, uint8_t* bytes, size_t size) {
  auto* self = static_cast<Connection*>(context);
  const size_t there = self->input_.size() - self->input_taken_;
  if (there == 0) return self->peer_closed_ ? -1 : 0;
  const size_t count = std::min(size, there);
  std::copy_n(self->input_.data() + self->input_taken_, count, bytes);
  self->input_taken_ += count;
  if (self->input_taken_ == self->input_.size()) {
    self->input_.clear();
    self->input_taken_ = 0;
  }
  return static_cast<int>(count);
}

void Connection::OnBytes(ByteSpan bytes, uint64_t now_ms) {
  if (state_ == State::kClosed) return;
  if (bytes.empty()) peer_closed_ = true;
  input_.insert(input_.end(), bytes.begin(), bytes.end());
  if (input_.size() - input_taken_ > kMaxInput) {
    Fail("sent more than it may before an answer");
    return;
  }
  if (state_ != State::kHandshake) Advance(now_ms);
}

void Connection::Advance(uint64_t now_ms) {
  if (state_ == State::kHandshake) FinishHandshake(now_ms);
  if (state_ == State::kRequest) ReadFrames(now_ms);
  if (state_ == State::kAnswering && peer_closed_ && input_.empty()) Fail("left during an answer");
}

void Connection::FinishHandshake(uint64_t now_ms) {
  const Status status = tls_.Handshake();
  if (status == Status::kWouldBlock) return;
  if (status != Status::kOk) {
    Fail(peer_closed_ ? "left during the handshake"
                      : std::string("TLS handshake failed: ") + StatusName(status));
    return;
  }
  const ByteSpan identity = tls_.peer_identity();
  device_.assign(reinterpret_cast<const char*>(identity.data()), identity.size());
  Enter(State::kRequest, now_ms);
}

void Connection::ReadFrames(uint64_t now_ms) {
  while (state_ == State::kRequest) {
    const MutableByteSpan missing = reader_.missing();
    size_t got = 0;
    const Status status = tls_.Read(missing, &got);
    if (status == Status::kWouldBlock) return;
    if (status != Status::kOk || got == 0) {
      Fail("left");
      return;
    }
    if (reader_.Received(got) != Status::kOk) {
      Fail("sent a frame with an impossible length");
      return;
    }
    if (reader_.complete()) OnFrame(reader_.body(), now_ms);
  }
}

void Connection::OnFrame(ByteSpan frame, uint64_t now_ms) {
  if (DecodeRequest(frame, &request_) != Status::kOk) request_ = {};
  if (request_.kind == Request::Kind::kHello && request_.version == kProtocolVersion) {
    max_frame_ = std::min(limits_.max_frame, request_.max_frame);
  }
  Enter(State::kAnswering, now_ms);
}

void Connection::Respond(const Reply& reply, uint64_t now_ms) {
  if (state_ != State::kAnswering) return;
  Reply fitting = reply;
  if (reply.kind == Reply::Kind::kModelChunk) {
    fitting.bytes = reply.bytes.first(
        std::min(reply.bytes.size(), static_cast<size_t>(MaxChunkBytes(max_frame_))));
  }
  fitting.max_frame = limits_.max_frame;
  std::vector<uint8_t> bytes(kFrameHeaderSize + max_frame_);
  size_t size = 0;
  if (EncodeReply(fitting, max_frame_, {bytes.data(), bytes.size()}, &size) != Status::kOk) {
    Fail("the answer does not fit the peer's frame");
    return;
  }
  // The output grows as needed, so TLS never blocks here.
  for (size_t done = 0; done < size;) {
    size_t written = 0;
    if (tls_.Write({bytes.data() + done, size - done}, &written) != Status::kOk) {
      Fail("TLS failed while answering");
      return;
    }
    done += written;
  }
  reader_.Next();
  Enter(State::kRequest, now_ms);
  Advance(now_ms);
}

ByteSpan Connection::output() const {
  return {output_.data() + output_sent_, output_.size() - output_sent_};
}

void Connection::Sent(size_t count, uint64_t) {
  output_sent_ += count;
  if (output_sent_ < output_.size()) return;
  output_.clear();
  output_sent_ = 0;
}

void Connection::OnTime(uint64_t now_ms) {
  if (now_ms >= deadline_ms_) Fail(RuleOf(state_).overdue);
}

void Connection::Fail(const std::string& reason) {
  if (state_ == State::kClosed) return;
  if (state_ != State::kHandshake) (void)tls_.Close();
  state_ = State::kClosed;
  deadline_ms_ = UINT64_MAX;
  close_reason_ = reason;
}

}  // namespace sotto::server
