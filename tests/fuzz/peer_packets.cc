// Fuzzes what nodes without a server read from each other: messages and publications. Bytes are
// refused and leave the output alone, or are what is the same after encoding and decoding; of a
// publication even the same bytes.
//
// Input: which (0 a request, 1 a reply, 2 a publication; modulo 3), parameters (byte), the bytes.
#include <vector>

#include "fuzz/input.h"
#include "sotto/peer_wire.h"
#include "sotto/publication.h"

namespace sotto::fuzz {
namespace {

using Bytes = std::vector<uint8_t>;

Status Encode(const PeerRequest& r, MutableByteSpan out, size_t* size) {
  return EncodePeerRequest(r, kMaxMaxFrame, out, size);
}
Status Encode(const PeerReply& r, MutableByteSpan out, size_t* size) {
  return EncodePeerReply(r, kMaxMaxFrame, out, size);
}
Status Decode(ByteSpan body, PeerRequest* r) { return DecodePeerRequest(body, r); }
Status Decode(ByteSpan body, PeerReply* r) { return DecodePeerReply(body, r); }

bool IsOfAnotherVersion(const PeerRequest& r) {
  const bool greets = r.kind == PeerRequest::Kind::kJoin || r.kind == PeerRequest::Kind::kGreet;
  return greets && r.version != kPeerProtocolVersion;
}
bool IsOfAnotherVersion(const PeerReply&) { return false; }

template <typename Message>
Bytes Encoded(const Message& message) {
  Bytes frame(kFrameHeaderSize + kMaxMaxFrame);
  size_t size = 0;
  Require(Encode(message, {frame.data(), frame.size()}, &size) == Status::kOk,
          "a message that was decoded can be encoded");
  frame.resize(size);
  return frame;
}

template <typename Message>
void CheckMessage(ByteSpan body) {
  Message message;
  const auto kind = message.kind;
  if (Decode(body, &message) != Status::kOk) {
    Require(message.kind == kind, "a malformed message leaves the output alone");
    return;
  }
  // Of another version's nothing but the version means anything.
  if (IsOfAnotherVersion(message)) return;
  const Bytes frame = Encoded(message);
  Message again;
  const ByteSpan again_body = ByteSpan(frame.data(), frame.size()).subspan(kFrameHeaderSize);
  Require(Decode(again_body, &again) == Status::kOk, "an encoded message decodes");
  Require(Encoded(again) == frame, "a message survives encoding");
}

void CheckPublication(ByteSpan bytes, size_t parameters) {
  constexpr float kMost = 8.0f;
  std::vector<float> values(parameters);
  const Span<float> span(values.data(), values.size());
  PublicationHeader header;
  if (DecodePublication(bytes, kMost, &header, span) != Status::kOk) return;
  for (const float value : values) {
    Require(value >= -kMost && value <= kMost, "a decoded parameter is within its range");
  }
  Bytes again(MaxPublicationBytes(parameters));
  size_t size = 0;
  Require(EncodePublication(header, span, {again.data(), again.size()}, &size) == Status::kOk,
          "a publication that was decoded can be encoded");
  again.resize(size);
  Require(again == Bytes(bytes.begin(), bytes.end()), "a publication has one form");
}

}  // namespace
}  // namespace sotto::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sotto;
  using namespace sotto::fuzz;
  Input input(data, size);
  const uint8_t which = input.TakeByte();
  const size_t parameters = input.TakeByte();
  switch (which % 3) {
    case 0:
      CheckMessage<PeerRequest>(input.rest());
      break;
    case 1:
      CheckMessage<PeerReply>(input.rest());
      break;
    default:
      CheckPublication(input.rest(), parameters);
  }
  return 0;
}
