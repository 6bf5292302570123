#include "net/connection.h"

#include <algorithm>
#include <vector>

#include "sotto/bytes.h"
#include "sotto/peer_wire.h"
#include "sotto/wire.h"

namespace sotto::server {
namespace {

// The most bytes of a reply besides the part of a model, or of a publication, in it.
constexpr size_t kMostBesides = 512;

}  // namespace

void Connection::OnFrame(ByteSpan body) {
  if (DecodeRequest(body, &request_) != Status::kOk) request_ = {};
  if (request_.kind == Request::Kind::kHello && request_.version == kProtocolVersion) {
    max_frame_ = std::min(limits().max_frame, request_.max_frame);
  }
}

void Connection::Respond(const Reply& reply, uint64_t now_ms) {
  if (state() != State::kAnswering) return;
  Reply fitting = reply;
  if (reply.kind == Reply::Kind::kModelChunk || reply.kind == Reply::Kind::kDescriptionChunk) {
    fitting.bytes = reply.bytes.first(
        std::min(reply.bytes.size(), static_cast<size_t>(MaxChunkBytes(max_frame_))));
  }
  fitting.max_frame = limits().max_frame;
  const size_t most = std::min<size_t>(max_frame_, fitting.bytes.size() + kMostBesides);
  std::vector<uint8_t> bytes(kFrameHeaderSize + most);
  size_t size = 0;
  if (EncodeReply(fitting, max_frame_, {bytes.data(), bytes.size()}, &size) != Status::kOk) {
    Fail("the answer does not fit the client's frame");
    return;
  }
  request_ = {};
  RespondFrame({bytes.data(), size}, now_ms);
}

void Connection::SayLast(const Reply& reply, const std::string& why) {
  uint8_t bytes[kFrameHeaderSize + kMinMaxFrame];
  size_t size = 0;
  const bool fits = EncodeReply(reply, kMinMaxFrame, bytes, &size) == Status::kOk;
  SayLastFrame({bytes, fits ? size : 0}, why);
}

void PeerConnection::OnFrame(ByteSpan body) {
  if (DecodePeerRequest(body, &request_) != Status::kOk) request_ = {};
}

void PeerConnection::Respond(const PeerReply& reply, uint32_t max_frame, uint64_t now_ms) {
  if (state() != State::kAnswering) return;
  const size_t most = std::min<size_t>(max_frame, reply.bytes.size() + kMostBesides);
  std::vector<uint8_t> bytes(kFrameHeaderSize + most);
  size_t size = 0;
  if (EncodePeerReply(reply, max_frame, {bytes.data(), bytes.size()}, &size) != Status::kOk) {
    Fail("the answer does not fit the node's frame");
    return;
  }
  request_ = {};
  RespondFrame({bytes.data(), size}, now_ms);
  SecureWipe(bytes.data(), bytes.size());  // it may hold a pair key
}

}  // namespace sotto::server
