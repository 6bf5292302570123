// Frames through nanopb, for every kind of message. Part of sotto/wire; private to the SDK.
#pragma once

#include <pb.h>

#include "sotto/messages.h"
#include "wire/bytes_field.h"

namespace sotto {

inline bool IsMaxFrame(uint32_t max_frame) {
  return max_frame >= kMinMaxFrame && max_frame <= kMaxMaxFrame;
}

inline sotto_bytes_t View(ByteSpan bytes) { return {bytes.data(), bytes.size()}; }
inline ByteSpan View(const sotto_bytes_t& bytes) { return {bytes.data, bytes.size}; }

// The code, kUnknown for one of a later program.
ErrorCode KnownErrorCode(uint32_t code);

// The state, kUnknown for one of a later program.
WaitState KnownWaitState(uint32_t state);

// Writes a generated message as a frame. Parameters and statuses as EncodeRequest() in wire.h.
Status EncodeFrame(const pb_msgdesc_t* type, const void* message, uint32_t max_frame,
                   MutableByteSpan out, size_t* size);

// Reads a generated message, whose byte fields then point into the body. False if it is malformed.
bool DecodeFrame(ByteSpan body, const pb_msgdesc_t* type, void* message);

}  // namespace sotto
