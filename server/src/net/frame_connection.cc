#include "net/frame_connection.h"

#include <algorithm>

namespace sotto::server {
namespace {

// The most bytes of input that TLS has not taken; a client that sends more is closed.
constexpr size_t kMaxInput = 65536;

struct StateRule {
  FrameConnection::State state;
  bool reads;                            // takes bytes from the network
  uint64_t ConnectionLimits::*patience;  // from entering the state; null: without limit
  const char* overdue;                   // why the connection is closed after that time
};

using State = FrameConnection::State;

// One row for each State, in the order of the enumeration.
constexpr StateRule kConnectionStates[] = {
    {State::kHandshake, true, &ConnectionLimits::handshake_timeout_ms, "no handshake in time"},
    {State::kRequest, true, &ConnectionLimits::request_timeout_ms, "no whole request in time"},
    {State::kAnswering, false, nullptr, ""},  // the server's own work always ends
    {State::kClosed, false, nullptr, ""},
};

const StateRule& RuleOf(State state) { return kConnectionStates[static_cast<int>(state)]; }

}  // namespace

FrameConnection::FrameConnection(TlsContext& tls, const ConnectionLimits& limits, uint64_t begin_ms)
    : limits_(limits) {
  Enter(State::kHandshake, begin_ms);
  if (Status s = tls_.Start(&tls, {TlsSend, TlsReceive, this}); s != Status::kOk) {
    Fail(std::string("TLS cannot start: ") + StatusName(s));
  }
}

void FrameConnection::Enter(State state, uint64_t now_ms) {
  state_ = state;
  const auto patience = RuleOf(state).patience;
  deadline_ms_ = patience == nullptr ? UINT64_MAX : now_ms + limits_.*patience;
}

bool FrameConnection::wants_input() const {
  const bool must_compute_first = state_ == State::kHandshake && !input_.empty();
  return RuleOf(state_).reads && !must_compute_first;
}

int FrameConnection::TlsSend(void* context, const uint8_t* bytes, size_t size) {
  auto* self = static_cast<FrameConnection*>(context);
  self->output_.insert(self->output_.end(), bytes, bytes + size);
  self->answered_ += size;
  return static_cast<int>(size);
}

int FrameConnection::TlsReceive(void* context, uint8_t* bytes, size_t size) {
  auto* self = static_cast<FrameConnection*>(context);
  const size_t count = self->TakeInput({bytes, size});
  if (count == 0) return self->peer_closed_ ? -1 : 0;
  return static_cast<int>(count);
}

// Moves up to out.size() bytes of the input.
size_t FrameConnection::TakeInput(MutableByteSpan out) {
  const bool is_kept = !input_.empty();
  const ByteSpan from =
      is_kept ? ByteSpan(input_.data(), input_.size()).subspan(input_taken_) : fresh_input_;
  const size_t count = std::min(out.size(), from.size());
  std::copy_n(from.data(), count, out.data());
  if (!is_kept) {
    fresh_input_ = fresh_input_.subspan(count);
    return count;
  }
  input_taken_ += count;
  if (input_taken_ == input_.size()) {
    input_ = std::vector<uint8_t>();
    input_taken_ = 0;
  }
  return count;
}

// What TLS has not taken yet outlives the caller's bytes.
void FrameConnection::KeepInput() {
  input_.insert(input_.end(), fresh_input_.begin(), fresh_input_.end());
  fresh_input_ = {};
  if (input_.size() - input_taken_ > kMaxInput) Fail("sent more than it may before an answer");
}

void FrameConnection::OnBytes(ByteSpan bytes, uint64_t now_ms) {
  if (state_ == State::kClosed) return;
  if (bytes.empty()) peer_closed_ = true;
  received_ += bytes.size();
  fresh_input_ = bytes;
  if (state_ != State::kHandshake) Advance(now_ms);
  KeepInput();
}

void FrameConnection::Advance(uint64_t now_ms) {
  if (state_ == State::kHandshake) FinishHandshake(now_ms);
  if (state_ == State::kRequest) ReadFrames(now_ms);
  if (state_ == State::kAnswering && peer_closed_ && input_.empty()) {
    Fail("left during an answer");
  }
}

void FrameConnection::FinishHandshake(uint64_t now_ms) {
  const Status status = tls_.Handshake();
  if (status == Status::kWouldBlock) return;
  if (status != Status::kOk) {
    handshake_failure_ = status;
    Fail(peer_closed_ ? "left during the handshake"
                      : std::string("TLS handshake failed: ") + StatusName(status));
    return;
  }
  const ByteSpan identity = tls_.peer_identity();
  device_.assign(reinterpret_cast<const char*>(identity.data()), identity.size());
  Enter(State::kRequest, now_ms);
}

void FrameConnection::ReadFrames(uint64_t now_ms) {
  bool in_frame = frame_ != nullptr;
  if (!in_frame) {
    frame_.reset(new uint8_t[limits_.max_frame]);
    reader_ = FrameReader({frame_.get(), limits_.max_frame});
  }
  while (!reader_.complete()) {
    size_t got = 0;
    const Status status = tls_.Read(reader_.missing(), &got);
    if (status == Status::kWouldBlock) {
      if (!in_frame) frame_.reset();
      return;
    }
    if (status != Status::kOk || got == 0) {
      Fail("left");
      return;
    }
    in_frame = true;
    if (reader_.Received(got) != Status::kOk) {
      Fail("sent a frame with an impossible length");
      return;
    }
  }
  message_.assign(reader_.body().begin(), reader_.body().end());
  frame_.reset();
  OnFrame({message_.data(), message_.size()});
  Enter(State::kAnswering, now_ms);
}

// The output grows as needed, so TLS never blocks here.
bool FrameConnection::Write(ByteSpan frame) {
  for (size_t done = 0; done < frame.size();) {
    size_t written = 0;
    if (tls_.Write(frame.subspan(done), &written) != Status::kOk) {
      Fail("TLS failed while answering");
      return false;
    }
    done += written;
  }
  return true;
}

void FrameConnection::SayLastFrame(ByteSpan frame, const std::string& why) {
  if (state_ == State::kHandshake || state_ == State::kClosed) return;
  if (Write(frame)) Fail(why);
}

void FrameConnection::RespondFrame(ByteSpan frame, uint64_t now_ms) {
  if (state_ != State::kAnswering || !Write(frame)) return;
  message_ = std::vector<uint8_t>();
  Enter(State::kRequest, now_ms);
  Advance(now_ms);
}

ByteSpan FrameConnection::output() const {
  return {output_.data() + output_sent_, output_.size() - output_sent_};
}

void FrameConnection::Sent(size_t count) {
  output_sent_ += count;
  if (output_sent_ < output_.size()) return;
  output_ = std::vector<uint8_t>();
  output_sent_ = 0;
}

void FrameConnection::OnTime(uint64_t now_ms) {
  if (now_ms >= deadline_ms_) Fail(RuleOf(state_).overdue);
}

void FrameConnection::Fail(const std::string& reason) {
  if (state_ == State::kClosed) return;
  if (state_ != State::kHandshake) (void)tls_.Close();
  state_ = State::kClosed;
  frame_.reset();
  deadline_ms_ = UINT64_MAX;
  close_reason_ = reason;
}

}  // namespace sotto::server
