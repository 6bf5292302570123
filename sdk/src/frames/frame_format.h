// The head of a frame, and what the two sides tell each other when they open. Part of sotto/frames.
// server/PROTOCOL.md specifies the bytes.
#pragma once

#include <cstdint>

#include "sotto/bytes.h"
#include "sotto/span.h"

namespace sotto::frame {

enum class Kind : uint8_t {
  kData = 0,     // a segment
  kAsk = 1,      // a segment, or none; the other side answers
  kAnswer = 2,   // what has arrived
  kControl = 3,  // the number says which
};

constexpr uint16_t kOpen = 0;  // controls
constexpr uint16_t kAccept = 1;
constexpr uint16_t kClose = 2;
constexpr uint16_t kGone = 3;

constexpr uint8_t kVersion = 1;
constexpr uint16_t kNumbers = 0x0fff;      // a mask: segments count modulo 4096
constexpr uint16_t kConnections = 0x1fff;  // a mask
constexpr uint8_t kTurns = 0x0f;           // a mask
constexpr size_t kHeadSize = 4;
constexpr size_t kOpenSize = 7;  // of the body of kOpen and kAccept

struct Head {
  Kind kind = Kind::kData;
  bool from_acceptor = false;
  uint16_t connection = 0;
  uint16_t number = 0;
  uint8_t turn = 0;
};

inline void StoreHead(const Head& head, uint8_t* out) {
  StoreU32Le(static_cast<uint32_t>(head.number) | static_cast<uint32_t>(head.turn) << 12 |
                 static_cast<uint32_t>(head.connection) << 16 |
                 static_cast<uint32_t>(head.from_acceptor) << 29 |
                 static_cast<uint32_t>(head.kind) << 30,
             out);
}

inline Head LoadHead(const uint8_t* frame) {
  const uint32_t word = LoadU32Le(frame);
  Head head;
  head.number = static_cast<uint16_t>(word & kNumbers);
  head.turn = static_cast<uint8_t>(word >> 12 & kTurns);
  head.connection = static_cast<uint16_t>(word >> 16 & kConnections);
  head.from_acceptor = (word >> 29 & 1) != 0;
  head.kind = static_cast<Kind>(word >> 30);
  return head;
}

// The body of kOpen and kAccept.
struct Opening {
  uint8_t version = kVersion;
  uint8_t max_frame = 0;
  uint8_t window = 0;
  uint32_t nonce = 0;
};

inline void StoreOpening(const Opening& opening, uint8_t* out) {
  out[0] = opening.version;
  out[1] = opening.max_frame;
  out[2] = opening.window;
  StoreU32Le(opening.nonce, out + 3);
}

// False if these are not the sizes of a version that this side speaks.
bool LoadOpening(ByteSpan body, Opening* opening);

}  // namespace sotto::frame
