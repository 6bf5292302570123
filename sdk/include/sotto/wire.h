// Encodes messages as frames of bytes, and decodes them. Part of sotto/wire.
//
// A frame is its length n as u16, little endian, then n bytes: one Request or Reply as a protocol
// buffer (sdk/src/wire/sotto.proto). server/PROTOCOL.md specifies every field. Frames travel inside
// TLS; nothing here protects them.
//
// Decoding copies nothing: byte fields of a decoded message point into the frame, so they are valid
// as long as the frame's memory. Any bytes may be decoded: bytes that are not a well-formed message
// within its limits are kMalformed, and the message is then unchanged. Unknown fields are skipped.
// Unknown values of an enumeration are refused, except that an unknown ErrorCode or WaitState
// becomes kUnknown.
// No heap. The functions keep no state: safe in any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/messages.h"

namespace sotto {

constexpr size_t kFrameHeaderSize = 2;

// Writes a whole frame, length included.
//   max_frame  the most bytes of the message, kMinMaxFrame to kMaxMaxFrame
//   out        kFrameHeaderSize + max_frame bytes always suffice; must not overlap the message's
//              spans. Unspecified after a failure.
//   size       bytes of the frame
// Returns kOk, kInvalidArgument if a field is outside its limits, or kBufferTooSmall if the message
// exceeds max_frame or the frame exceeds out.
Status EncodeRequest(const Request& request, uint32_t max_frame, MutableByteSpan out, size_t* size);
Status EncodeReply(const Reply& reply, uint32_t max_frame, MutableByteSpan out, size_t* size);

// Reads the message of one frame.
//   body  the frame without its length; byte fields of the message will point into it
// Returns kOk or kMalformed. A Hello of another protocol version is kOk: the server reads only its
// version and refuses it with ErrorCode::kVersion. DecodeReply() sets the fields of the reply's
// kind and leaves the others as they were.
Status DecodeRequest(ByteSpan body, Request* request);
Status DecodeReply(ByteSpan body, Reply* reply);

// Finds the frames in a stream of bytes. The caller's buffer holds one frame at a time:
//
//   FrameReader reader(buffer);
//   const size_t got = Receive(reader.missing());           // never more than this frame
//   if (reader.Received(got) != Status::kOk) hang up;
//   if (reader.complete()) { DecodeReply(reader.body(), &reply); ...; reader.Next(); }
//
// A length of 0 or above the buffer's size is kMalformed. The rest of the stream then has no
// meaning, and the reader stays in that state until Next(). One thread at a time.
class FrameReader {
 public:
  // buffer  [max_frame] for the body; the caller owns it; at most kMaxMaxFrame bytes are used
  explicit FrameReader(MutableByteSpan buffer) : buffer_(buffer) {}

  // The memory for the next bytes of the stream: the missing part of the length or the body. Empty
  // once the frame is complete or malformed.
  MutableByteSpan missing();

  // Tells the reader that the first `count` bytes of missing() are written. Returns kOk,
  // kInvalidArgument if count is above missing().size(), or kMalformed.
  Status Received(size_t count);

  // The same for bytes in another buffer of the caller: copies them. Stops at the frame's end:
  // *taken <= bytes.size(), the rest belongs to the next frame. Returns kOk or kMalformed.
  Status Feed(ByteSpan bytes, size_t* taken);

  bool complete() const { return !malformed_ && size_ != 0 && filled_ == size_; }

  // The complete frame's body; valid until Next().
  ByteSpan body() const { return {buffer_.data(), size_}; }

  // Forgets the frame; the next byte is the first byte of another frame.
  void Next();

 private:
  MutableByteSpan buffer_;
  uint8_t header_[kFrameHeaderSize] = {};
  size_t header_filled_ = 0;
  size_t size_ = 0;    // of the body, once the header is whole
  size_t filled_ = 0;  // bytes of the body
  bool malformed_ = false;
};

}  // namespace sotto
