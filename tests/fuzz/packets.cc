// Fuzzes frames and messages. A stream of bytes gives the same frames however it is cut. The bytes
// of a frame are refused, or are a message that is the same after encoding and decoding.
//
// Input: the sizes of two cuts (bytes), the stream.
#include <algorithm>
#include <vector>

#include "fuzz/input.h"
#include "sotto/wire.h"

namespace sotto::fuzz {
namespace {

using Bytes = std::vector<uint8_t>;

// Large enough for every message, so that the reader's own limit is met too.
constexpr size_t kBufferSize = 2048;

struct Frames {
  std::vector<Bytes> bodies;
  bool malformed = false;
};

// Feeds the stream in pieces of the sizes a and b in turn, and reads until it ends or loses its
// meaning.
Frames Split(ByteSpan stream, size_t a, size_t b) {
  Frames frames;
  Bytes buffer(kBufferSize);
  FrameReader reader({buffer.data(), buffer.size()});
  while (!stream.empty()) {
    size_t taken = 0;
    const Status status = reader.Feed(stream.first(std::min(a, stream.size())), &taken);
    Require(taken != 0 || status != Status::kOk, "a reader takes bytes or refuses the stream");
    if (status != Status::kOk) {
      Require(status == Status::kMalformed && reader.missing().empty(), "what is refused is over");
      frames.malformed = true;
      return frames;
    }
    stream = stream.subspan(taken);
    if (reader.complete()) {
      frames.bodies.emplace_back(reader.body().begin(), reader.body().end());
      reader.Next();
    }
    std::swap(a, b);
  }
  return frames;
}

Bytes Encoded(const Request& request) {
  Bytes frame(kFrameHeaderSize + kMaxMaxFrame);
  size_t size = 0;
  Require(EncodeRequest(request, kMaxMaxFrame, {frame.data(), frame.size()}, &size) == Status::kOk,
          "a request that was decoded can be encoded");
  frame.resize(size);
  return frame;
}

Bytes Encoded(const Reply& reply) {
  Bytes frame(kFrameHeaderSize + kMaxMaxFrame);
  size_t size = 0;
  Require(EncodeReply(reply, kMaxMaxFrame, {frame.data(), frame.size()}, &size) == Status::kOk,
          "a reply that was decoded can be encoded");
  frame.resize(size);
  return frame;
}

ByteSpan BodyOf(const Bytes& frame) {
  return ByteSpan(frame.data(), frame.size()).subspan(kFrameHeaderSize);
}

void CheckRequest(ByteSpan body) {
  Request request;
  if (DecodeRequest(body, &request) != Status::kOk) {
    Require(request.kind == Request::Kind::kNone, "a malformed request leaves the output alone");
    return;
  }
  // Of another version's Hello nothing but the version means anything.
  if (request.kind == Request::Kind::kHello && request.version != kProtocolVersion) return;
  const Bytes frame = Encoded(request);
  Request again;
  Require(DecodeRequest(BodyOf(frame), &again) == Status::kOk, "an encoded request decodes");
  Require(Encoded(again) == frame, "a request survives encoding");
}

void CheckReply(ByteSpan body) {
  Reply reply;
  if (DecodeReply(body, &reply) != Status::kOk) {
    Require(reply.kind == Reply::Kind::kError, "a malformed reply leaves the output alone");
    return;
  }
  const Bytes frame = Encoded(reply);
  Reply again;
  Require(DecodeReply(BodyOf(frame), &again) == Status::kOk, "an encoded reply decodes");
  Require(Encoded(again) == frame, "a reply survives encoding");
}

}  // namespace
}  // namespace sotto::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sotto::fuzz;
  Input input(data, size);
  const size_t a = size_t{1} + input.TakeByte();
  const size_t b = size_t{1} + input.TakeByte();
  const Frames frames = Split(input.rest(), a, b);
  const Frames whole = Split(input.rest(), size + 1, size + 1);
  Require(frames.bodies == whole.bodies && frames.malformed == whole.malformed,
          "frames do not depend on how the stream is cut");
  for (const Bytes& body : frames.bodies) {
    CheckRequest({body.data(), body.size()});
    CheckReply({body.data(), body.size()});
  }
  return 0;
}
