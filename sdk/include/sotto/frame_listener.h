// The other side of a device's frame link: it waits for connections. Part of sotto/frames.
//
// For gateways. One listener and one FrameLink serve one device: frames say nothing of who sent
// them, so the layer below keeps devices apart (a UART, a BLE connection, a radio address, a CAN
// identifier each).
//
// A device that was reset opens a new connection. The old one stays until the device has sent a
// frame of the new one: a late copy of an old Open() ends nothing. One thread at a time.
#pragma once

#include "sotto/frame_link.h"

namespace sotto {

class FrameListener {
 public:
  //   link    the caller's; it outlives the listener, which opens it. Send, receive, close and look
  //           at it there; frames go through the listener
  //   random  where the numbers of connections begin: a new random number at each start of the
  //           program, so no frame from before the start belongs to a connection
  FrameListener(FrameLink* link, uint32_t random);

  // Call it before the first frame. Returns kOk, or what FrameLink::Open() says of configuration
  // and memory.
  Status Start();

  // A frame that has arrived. Returns true if a new connection has begun with it; bytes of an
  // earlier one that were not read are gone.
  bool OnFrame(ByteSpan frame, uint64_t now_ms);

  // As FrameLink's.
  size_t NextFrame(uint64_t now_ms, uint8_t* out);
  uint32_t WaitMs(uint64_t now_ms) const { return owes_accept_ ? 0 : link_->WaitMs(now_ms); }

 private:
  void OnOpen(uint8_t turn, ByteSpan body);

  FrameLink* link_;
  uint16_t last_;  // connection that was numbered
  FrameLink::Peer candidate_;
  uint32_t candidate_nonce_ = 0;
  FrameLink::Peer current_;
  uint32_t current_nonce_ = 0;
  bool owes_accept_ = false;  // to the Open() of `accepted_`
  uint16_t accepted_ = 0;
  uint32_t accepted_nonce_ = 0;
  uint8_t accepted_turn_ = 0;
};

}  // namespace sotto
