#include "net/peer_connection.h"

#include <algorithm>
#include <vector>

#include "sotto/bytes.h"
#include "sotto/peer_wire.h"

namespace sotto::server {
namespace {

// The most bytes of a reply besides the part of a publication in it.
constexpr size_t kMostBesides = 512;

}  // namespace

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
