// Apart from secure_link.cc, so that a device without a peer links none of its messages.
#include "sotto/peer_wire.h"
#include "sotto/secure_link.h"

namespace sotto {

Status SecureLink::Exchange(const PeerRequest& request, PeerReply* reply) {
  if (Status s = Handshake(); s != Status::kOk) return s;
  if (state_ == State::kIdle) {
    const Status s = EncodePeerRequest(request, max_frame(), send_, &size_);
    if (s != Status::kOk) return s;
  }
  ByteSpan body;
  if (Status s = ExchangeFrame({send_.data(), size_}, &body); s != Status::kOk) return s;
  return DecodePeerReply(body, reply);
}

}  // namespace sotto
