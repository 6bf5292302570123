#include "sotto/frame_link.h"

#include "frames/frame_format.h"

namespace sotto {
namespace {

using frame::Head;
using frame::Kind;

constexpr uint32_t kLongestPauseMs = 600000;

// From a to b, counted forwards modulo 4096.
uint16_t Distance(uint16_t a, uint16_t b) {
  return static_cast<uint16_t>((b - a) & frame::kNumbers);
}

uint16_t Plus(uint16_t number, uint32_t count) {
  return static_cast<uint16_t>((number + count) & frame::kNumbers);
}

// The lowest `count` bits, 0 to 32.
uint32_t Low(uint32_t count) { return count < 32 ? (1u << count) - 1 : ~0u; }

// Shifts by 0 to 32 bits.
uint32_t ShiftRight(uint32_t bits, uint32_t count) { return count < 32 ? bits >> count : 0; }

uint32_t LowestBit(uint32_t bits) { return static_cast<uint32_t>(__builtin_ctz(bits)); }

uint32_t HighestBit(uint32_t bits) { return 31 - static_cast<uint32_t>(__builtin_clz(bits)); }

}  // namespace

namespace frame {

bool LoadOpening(ByteSpan body, Opening* opening) {
  if (body.size() < kOpenSize) return false;
  opening->version = body[0];
  opening->max_frame = body[1];
  opening->window = body[2];
  opening->nonce = LoadU32Le(body.data() + 3);
  return opening->version == kVersion && opening->max_frame >= kSmallestFrame &&
         opening->max_frame <= kLargestFrame && opening->window >= 1 &&
         opening->window <= kLargestWindow;
}

}  // namespace frame

Status FrameLinkConfig::Validate() const {
  const bool sizes = max_frame >= kSmallestFrame && max_frame <= kLargestFrame && window >= 1 &&
                     window <= kLargestWindow && (window & (window - 1)) == 0;
  const bool pauses = shortest_pause_ms >= 1 && shortest_pause_ms <= first_pause_ms &&
                      first_pause_ms <= longest_pause_ms && longest_pause_ms <= kLongestPauseMs;
  return sizes && pauses && tries >= 1 ? Status::kOk : Status::kInvalidArgument;
}

FrameLink::FrameLink(const FrameLinkConfig& config, MutableByteSpan memory)
    : config_(config), memory_(memory) {}

Status FrameLink::Open(uint32_t nonce, uint64_t) {
  if (Status s = config_.Validate(); s != Status::kOk) return s;
  if (memory_.size() < FrameLinkBytes(config_.max_frame, config_.window)) {
    return Status::kBufferTooSmall;
  }
  Reset(State::kOpening);
  is_acceptor_ = false;
  nonce_ = nonce;
  chance_ = nonce;
  return Status::kOk;
}

void FrameLink::Reset(State state) {
  state_ = state;
  connection_ = 0;
  base_ = sent_ = end_ = limit_ = 0;
  acknowledged_ = due_ = 0;
  turn_ = tries_ = 0;
  is_waiting_ = false;
  mean_8_ = deviation_4_ = 0;
  read_ = next_ = 0;
  arrived_ = 0;
  read_bytes_ = 0;
  has_ack_ = false;
  gone_ = 0;
  counts_ = {};
}

// Both sides know each other. The time there and back, if it is known, stays.
void FrameLink::Begin(const Peer& peer) {
  state_ = State::kOpen;
  connection_ = peer.connection;
  frame_ = peer.max_frame < config_.max_frame ? peer.max_frame : config_.max_frame;
  limit_ = peer.window;
}

void FrameLink::Close() {
  if (state_ == State::kOpen) {
    state_ = State::kClosing;
  } else if (state_ != State::kClosing) {
    Drop();
  }
}

void FrameLink::Drop() { Reset(State::kClosed); }

// The bytes that have arrived can still be read.
void FrameLink::Lose() {
  const bool is_done = state_ == State::kClosing && base_ == end_;
  state_ = is_done ? State::kClosed : State::kLost;
  connection_ = 0;
  has_ack_ = false;
}

// The bytes of the stream.

uint8_t* FrameLink::SendSlot(uint16_t number) const {
  return memory_.data() + (number & (config_.window - 1u)) * slot_size();
}

uint8_t* FrameLink::ReceiveSlot(uint16_t number) const {
  return SendSlot(number) + config_.window * slot_size();
}

// A segment that was never sent takes more bytes until it is full.
int FrameLink::Send(const uint8_t* bytes, size_t size) {
  if (state_ == State::kOpening) return 0;
  if (state_ != State::kOpen) return -1;
  const size_t most = frame_ - size_t{kFrameLinkHeader};
  size_t taken = 0;
  while (taken < size) {
    const bool may_grow = end_ != sent_ && SendSlot(Plus(end_, frame::kNumbers))[0] < most;
    if (!may_grow) {
      if (Distance(base_, end_) == config_.window) break;
      SendSlot(end_)[0] = 0;
      end_ = Plus(end_, 1);
    }
    uint8_t* const slot = SendSlot(Plus(end_, frame::kNumbers));
    while (taken < size && slot[0] < most) slot[1 + slot[0]++] = bytes[taken++];
  }
  return static_cast<int>(taken);
}

int FrameLink::Receive(uint8_t* out, size_t size) {
  size_t taken = 0;
  while (taken < size && read_ != next_) {
    const uint8_t* const slot = ReceiveSlot(read_);
    while (taken < size && read_bytes_ < slot[0]) out[taken++] = slot[1 + read_bytes_++];
    if (read_bytes_ < slot[0]) break;
    // The other side may be waiting for room.
    has_ack_ = has_ack_ || (connection_ != 0 && Room() == 0);
    read_ = Plus(read_, 1);
    read_bytes_ = 0;
  }
  return taken > 0 || is_live() ? static_cast<int>(taken) : -1;
}

uint8_t FrameLink::Room() const {
  return static_cast<uint8_t>(config_.window - Distance(read_, next_));
}

// Turns.

// Whether nothing is outstanding, or the answer is overdue.
bool FrameLink::MaySend(uint64_t now_ms) {
  if (!is_waiting_) return true;
  if (now_ms < deadline_ms_) return false;
  is_waiting_ = false;
  if (tries_ < config_.tries) {
    ++tries_;
    return true;
  }
  Lose();
  return false;
}

uint32_t FrameLink::PauseMs() {
  const uint32_t measured_ms = (mean_8_ >> 3) + deviation_4_;
  uint32_t pause_ms = mean_8_ == 0 ? config_.first_pause_ms : measured_ms;
  if (pause_ms < config_.shortest_pause_ms) pause_ms = config_.shortest_pause_ms;
  for (uint8_t i = 0; i < tries_ && pause_ms < config_.longest_pause_ms; ++i) {
    pause_ms += (pause_ms + 1) / 2;
  }
  if (pause_ms > config_.longest_pause_ms) pause_ms = config_.longest_pause_ms;
  chance_ = chance_ * 1664525u + 1013904223u;           // Numerical Recipes, 7.1
  return pause_ms + pause_ms * (chance_ >> 24) / 1024;  // at most 600,000 * 255: within 32 bits
}

void FrameLink::AwaitAnswer(uint64_t now_ms) {
  is_waiting_ = true;
  measures_ = true;
  asked_ms_ = now_ms;
  deadline_ms_ = now_ms + PauseMs();
}

// The mean of the times there and back, and their deviation: RFC 6298, section 2. The number of the
// turn says which frame was answered, so repeated ones count, too.
void FrameLink::Answered(uint64_t now_ms, uint8_t turn) {
  if (!is_waiting_ || turn != turn_) return;
  is_waiting_ = false;
  tries_ = 0;
  if (!measures_) return;
  const uint64_t passed_ms = now_ms - asked_ms_;
  const auto time_ms =
      static_cast<uint32_t>(passed_ms < kLongestPauseMs ? passed_ms : kLongestPauseMs);
  if (mean_8_ == 0) {
    mean_8_ = time_ms * 8 + 1;
    deviation_4_ = time_ms * 2;
    return;
  }
  const uint32_t mean_ms = mean_8_ >> 3;
  const uint32_t off_ms = time_ms > mean_ms ? time_ms - mean_ms : mean_ms - time_ms;
  deviation_4_ = deviation_4_ - (deviation_4_ >> 2) + off_ms;
  mean_8_ = mean_8_ - mean_ms + time_ms;
  if (mean_8_ == 0) mean_8_ = 1;
}

// Frames to send.

size_t FrameLink::NextFrame(uint64_t now_ms, uint8_t* out) {
  size_t size = 0;
  if (gone_ != 0 || has_ack_) {
    size = MakeReply(out);
  } else if (state_ == State::kOpening) {
    size = NextOpen(now_ms, out);
  } else if (state_ == State::kOpen || state_ == State::kClosing) {
    size = NextSegment(now_ms, out);
  }
  if (size > 0) ++counts_.sent;
  return size;
}

uint32_t FrameLink::WaitMs(uint64_t now_ms) const {
  if (gone_ != 0 || has_ack_) return 0;
  if (!is_live()) return kNever;
  if (is_waiting_) return now_ms < deadline_ms_ ? static_cast<uint32_t>(deadline_ms_ - now_ms) : 0;
  return state_ != State::kOpen || base_ != end_ ? 0 : kNever;
}

// Of this side; returns its size.
size_t FrameLink::MakeHead(Kind kind, uint16_t connection, uint16_t number, uint8_t turn,
                           uint8_t* out) const {
  Head head;
  head.kind = kind;
  head.from_acceptor = is_acceptor_;
  head.connection = connection;
  head.number = number;
  head.turn = turn;
  frame::StoreHead(head, out);
  return frame::kHeadSize;
}

void FrameLink::NextTurn() { turn_ = static_cast<uint8_t>((turn_ + 1) & frame::kTurns); }

size_t FrameLink::MakeReply(uint8_t* out) {
  if (gone_ == 0) return MakeAck(out);
  const size_t size = MakeHead(Kind::kControl, gone_, frame::kGone, turn_, out);
  gone_ = 0;
  return size;
}

size_t FrameLink::MakeAck(uint8_t* out) {
  has_ack_ = false;
  size_t size = MakeHead(Kind::kAnswer, connection_, next_, ack_turn_, out);
  out[size++] = Room();
  for (uint32_t rest = arrived_ >> 1; rest != 0; rest >>= 8)
    out[size++] = static_cast<uint8_t>(rest);
  return size;
}

size_t FrameLink::NextOpen(uint64_t now_ms, uint8_t* out) {
  if (!MaySend(now_ms)) return 0;
  NextTurn();
  if (tries_ > 0) ++counts_.repeated;
  const size_t size = MakeHead(Kind::kControl, 0, frame::kOpen, turn_, out);
  frame::Opening opening;
  opening.max_frame = config_.max_frame;
  opening.window = config_.window;
  opening.nonce = nonce_;
  frame::StoreOpening(opening, out + size);
  AwaitAnswer(now_ms);
  return size + frame::kOpenSize;
}

// Segments that were sent and are not acknowledged.
uint32_t FrameLink::Outstanding() const { return Low(Distance(base_, sent_)) & ~acknowledged_; }

// Those that the other side lacks and has room for. A limit behind base_ is no room.
uint32_t FrameLink::DueSegments() const {
  const uint16_t room = Distance(base_, limit_);
  const uint16_t filled = Distance(base_, end_);
  const uint32_t most = room > kLargestWindow ? 0 : room < filled ? room : filled;
  return (Low(most) & ~acknowledged_) | Outstanding();
}

bool FrameLink::IsBlocked() const { return base_ != end_ && DueSegments() == 0; }

size_t FrameLink::NextSegment(uint64_t now_ms, uint8_t* out) {
  if (due_ == 0) {
    if (!MaySend(now_ms)) return 0;
    // Most often the last frame or its answer was lost: the answer to it says what else is missing.
    const uint32_t outstanding = Outstanding();
    due_ = tries_ > 0 && outstanding != 0 ? 1u << HighestBit(outstanding) : DueSegments();
    if (due_ == 0) return NextWithoutBytes(now_ms, out);
    NextTurn();
    ++counts_.turns;
  }
  return MakeSegment(now_ms, out);
}

// Asks for room or closes, or there is nothing to say.
size_t FrameLink::NextWithoutBytes(uint64_t now_ms, uint8_t* out) {
  const bool is_closing = state_ == State::kClosing && base_ == end_;
  if (!is_closing && !IsBlocked()) return 0;
  NextTurn();
  AwaitAnswer(now_ms);
  if (is_closing) return MakeHead(Kind::kControl, connection_, frame::kClose, turn_, out);
  ++counts_.turns;
  return MakeHead(Kind::kAsk, connection_, sent_, turn_, out);
}

size_t FrameLink::MakeSegment(uint64_t now_ms, uint8_t* out) {
  const uint32_t i = LowestBit(due_);
  due_ &= due_ - 1;
  const uint16_t number = Plus(base_, i);
  const size_t size =
      MakeHead(due_ == 0 ? Kind::kAsk : Kind::kData, connection_, number, turn_, out);
  const uint8_t* const slot = SendSlot(number);
  __builtin_memcpy(out + size, slot + 1, slot[0]);
  if (i < Distance(base_, sent_)) {
    ++counts_.repeated;
  } else {
    sent_ = Plus(number, 1);
  }
  if (due_ == 0) AwaitAnswer(now_ms);
  return size + slot[0];
}

// Frames that arrive.

void FrameLink::OnFrame(ByteSpan frame, uint64_t now_ms) {
  if (frame.size() < frame::kHeadSize) return;
  const Head head = frame::LoadHead(frame.data());
  if (head.from_acceptor == is_acceptor_) return;  // an echo of this side's own
  const ByteSpan body = frame.subspan(frame::kHeadSize);
  if (head.kind == Kind::kControl) {
    OnControl(head.number, head.connection, head.turn, body, now_ms);
  } else if (head.connection != connection_ || connection_ == 0) {
    if (head.kind != Kind::kAnswer) OnStranger(head.connection);
  } else if (head.kind == Kind::kAnswer) {
    ++counts_.received;
    OnAck(head.number, head.turn, body, now_ms);
  } else {
    ++counts_.received;
    OnSegment(head.number, head.turn, head.kind == Kind::kAsk, body);
  }
}

// The other side has not noticed yet that this connection is over.
void FrameLink::OnStranger(uint16_t connection) { gone_ = connection; }

void FrameLink::OnSegment(uint16_t number, uint8_t turn, bool asks, ByteSpan bytes) {
  const uint16_t ahead = Distance(next_, number);
  if (!bytes.empty() && bytes.size() < slot_size() && ahead < Room() &&
      (arrived_ >> ahead & 1) == 0) {
    uint8_t* const slot = ReceiveSlot(number);
    slot[0] = static_cast<uint8_t>(bytes.size());
    __builtin_memcpy(slot + 1, bytes.data(), bytes.size());
    arrived_ |= 1u << ahead;
    while ((arrived_ & 1) != 0) {
      arrived_ >>= 1;
      next_ = Plus(next_, 1);
    }
  }
  if (!asks) return;
  has_ack_ = true;
  ack_turn_ = turn;
}

// What an answer says stays true: an old one can be used, too.
void FrameLink::OnAck(uint16_t number, uint8_t turn, ByteSpan body, uint64_t now_ms) {
  const uint16_t ahead = Distance(base_, number);
  if (body.empty() || ahead > Distance(base_, sent_)) return;
  uint32_t bits = 0;
  for (size_t i = 1; i < body.size() && i <= 4; ++i) {
    bits |= static_cast<uint32_t>(body[i]) << (8 * (i - 1));
  }
  base_ = number;
  acknowledged_ = ShiftRight(acknowledged_, ahead) | bits << 1;
  acknowledged_ &= Low(Distance(base_, sent_));
  due_ = ShiftRight(due_, ahead) & ~acknowledged_;
  const uint16_t limit = Plus(number, body[0] < kLargestWindow ? body[0] : kLargestWindow);
  const bool is_current = turn == turn_;
  if (is_current || Distance(base_, limit) > Distance(base_, limit_)) limit_ = limit;
  Answered(now_ms, turn);
  if (base_ == sent_ && !IsBlocked()) is_waiting_ = false;
  if (IsBlocked() && !is_waiting_ && due_ == 0) {
    AwaitAnswer(now_ms);
    deadline_ms_ = now_ms + config_.longest_pause_ms;
    measures_ = false;
  }
}

void FrameLink::OnControl(uint16_t control, uint16_t connection, uint8_t turn, ByteSpan body,
                          uint64_t now_ms) {
  if (control == frame::kAccept) return OnAccept(connection, turn, body, now_ms);
  if (control != frame::kClose && control != frame::kGone) return;
  if (connection == connection_ && connection != 0) {
    const bool is_closed = control == frame::kClose;
    Lose();
    if (is_closed && state_ == State::kLost) state_ = State::kEnded;
  }
  if (control == frame::kClose && connection != 0) OnStranger(connection);
}

void FrameLink::OnAccept(uint16_t connection, uint8_t turn, ByteSpan body, uint64_t now_ms) {
  frame::Opening opening;
  if (state_ != State::kOpening || connection == 0) return;
  if (!frame::LoadOpening(body, &opening) || opening.nonce != nonce_) return;
  Answered(now_ms, turn);
  is_waiting_ = false;
  tries_ = 0;
  Begin({connection, opening.max_frame, opening.window});
}

}  // namespace sotto
