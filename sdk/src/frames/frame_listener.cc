#include "sotto/frame_listener.h"

#include "frames/frame_format.h"

namespace sotto {

using frame::Head;
using frame::Kind;

FrameListener::FrameListener(FrameLink* link, uint32_t random)
    : link_(link), last_(static_cast<uint16_t>(random & frame::kConnections)) {}

Status FrameListener::Start() {
  const Status status = link_->Open(0, 0);
  if (status == Status::kOk) link_->Reset(FrameLink::State::kClosed);
  link_->is_acceptor_ = true;
  return status;
}

bool FrameListener::OnFrame(ByteSpan frame, uint64_t now_ms) {
  if (frame.size() < frame::kHeadSize) return false;
  const Head head = frame::LoadHead(frame.data());
  if (head.from_acceptor) return false;
  if (head.kind == Kind::kControl && head.number == frame::kOpen) {
    OnOpen(head.turn, frame.subspan(frame::kHeadSize));
    return false;
  }
  const bool is_first = candidate_.connection != 0 && head.connection == candidate_.connection &&
                        (head.kind == Kind::kData || head.kind == Kind::kAsk);
  if (is_first) {
    link_->Reset(FrameLink::State::kClosed);
    link_->chance_ = candidate_nonce_ ^ 1;  // not the pauses of the other side
    link_->Begin(candidate_);
    current_ = candidate_;
    current_nonce_ = candidate_nonce_;
    candidate_ = {};
  }
  link_->OnFrame(frame, now_ms);
  return is_first;
}

// A copy of an Open() gets the same answer.
void FrameListener::OnOpen(uint8_t turn, ByteSpan body) {
  frame::Opening opening;
  if (!frame::LoadOpening(body, &opening)) return;
  const bool is_current = link_->connection_ != 0 && link_->connection_ == current_.connection &&
                          opening.nonce == current_nonce_;
  const bool is_candidate = candidate_.connection != 0 && opening.nonce == candidate_nonce_;
  if (!is_current && !is_candidate) {
    do {
      last_ = static_cast<uint16_t>((last_ + 1) & frame::kConnections);
    } while (last_ == 0 || last_ == link_->connection_);
    candidate_ = {last_, opening.max_frame, opening.window};
    candidate_nonce_ = opening.nonce;
  }
  owes_accept_ = true;
  accepted_ = is_current ? current_.connection : candidate_.connection;
  accepted_nonce_ = opening.nonce;
  accepted_turn_ = turn;
}

size_t FrameListener::NextFrame(uint64_t now_ms, uint8_t* out) {
  if (!owes_accept_) return link_->NextFrame(now_ms, out);
  owes_accept_ = false;
  const size_t size =
      link_->MakeHead(Kind::kControl, accepted_, frame::kAccept, accepted_turn_, out);
  frame::Opening opening;
  opening.max_frame = link_->config().max_frame;
  opening.window = link_->config().window;
  opening.nonce = accepted_nonce_;
  frame::StoreOpening(opening, out + size);
  return size + frame::kOpenSize;
}

}  // namespace sotto
