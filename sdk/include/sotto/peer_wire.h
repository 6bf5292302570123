// Encodes the messages of nodes without a server as frames of bytes, and decodes them.
// Part of sotto/wire.
//
// Frames are as in sotto/wire.h, which finds them in a stream (FrameReader); a frame's body is
// one PeerRequest or PeerReply as a protocol buffer (sdk/src/wire/peer.proto).
// server/PEER_PROTOCOL.md specifies every field. Frames travel inside TLS; nothing here protects
// them.
//
// Decoding copies nothing but a pair key: byte fields of a decoded message point into the frame.
// Any bytes may be decoded: bytes that are not a well-formed message within its limits are
// kMalformed, and the message is then unchanged. Unknown fields are skipped, an unknown ErrorCode
// becomes kUnknown. No heap. The functions keep no state: safe in any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/peer_messages.h"
#include "sotto/wire.h"

namespace sotto {

// The most bytes of a publication in one kStage, and in one kChunk, of at most max_frame bytes.
// kMinMaxFrame <= max_frame <= kMaxMaxFrame.
constexpr uint32_t MaxStageBytes(uint32_t max_frame) { return max_frame - 80; }
constexpr uint32_t MaxPublicationChunkBytes(uint32_t max_frame) { return max_frame - 16; }

// Writes a whole frame, length included. Parameters and statuses as EncodeRequest() of wire.h.
//
// Limits besides those in peer_messages.h: a job's id, a digest and a pair key have exactly their
// size; an address has printable ASCII without spaces; a publication named in a request, and one
// of version 1 or later in a reply, has at least kPublicationHeaderSize bytes; version 0 is named
// by zeros alone, and in replies only; the parent comes before the head.
Status EncodePeerRequest(const PeerRequest& request, uint32_t max_frame, MutableByteSpan out,
                         size_t* size);
Status EncodePeerReply(const PeerReply& reply, uint32_t max_frame, MutableByteSpan out,
                       size_t* size);

// Reads the message of one frame.
//   body  the frame without its length; byte fields of the message will point into it
// Returns kOk or kMalformed. A kJoin or kGreet of another protocol version is kOk: the other side
// reads only its version and refuses it with ErrorCode::kVersion. DecodePeerReply() sets the fields
// of the reply's kind and leaves the others as they were.
Status DecodePeerRequest(ByteSpan body, PeerRequest* request);
Status DecodePeerReply(ByteSpan body, PeerReply* reply);

}  // namespace sotto
