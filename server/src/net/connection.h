// Connections whose frames carry messages: of a device to a job, of a node to a directory. Part of
// sotto::server/net.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "net/frame_connection.h"
#include "sotto/messages.h"
#include "sotto/peer_messages.h"

namespace sotto::server {

// What the Hellos of a connection have said so far. A later Hello of version 0 says what has
// changed.
class SaidHello {
 public:
  // Makes a later Hello a whole one: what it leaves out is as before, but for hold_ms and differs.
  // Its views then point into this object. Returns kOk; kWrongState if no whole Hello came before;
  // or kMalformed, with nothing remembered, for a value that no Hello has.
  //   whole, later  of version kProtocolVersion, and 0
  void Remember(const Request& whole);
  Status Complete(Request* later);

  // The digest of the device's model; empty: no Hello came.
  ByteSpan model_digest() const { return {digest_.data(), digest_.size()}; }
  uint32_t max_frame() const { return max_frame_; }

 private:
  static void Keep(ByteSpan said, std::vector<uint8_t>* kept);

  std::vector<uint8_t> digest_;
  std::vector<uint8_t> receipt_;
  std::vector<uint8_t> held_;
  uint32_t max_frame_ = 0;
  Abilities abilities_;
};

// A device's connection to a job: frames carry a Request or a Reply.
class Connection final : public FrameConnection {
 public:
  using FrameConnection::FrameConnection;

  // In state kAnswering: the request; its bytes stay valid until Respond(). Kind kNone: the frame
  // was no request. A later Hello of the connection is a whole one here, and a kGetRelease
  // without a model_digest has the last Hello's, empty if none came.
  const Request& request() const { return request_; }
  void Respond(const Reply& reply, uint64_t now_ms);

  // Says this, asked or not, and closes the connection. Nothing happens before the handshake is
  // complete, or after the connection was closed.
  //   reply  an error
  void SayLast(const Reply& reply, const std::string& why);

 private:
  void OnFrame(ByteSpan body) override;
  void OnHello();
  void Fit(Reply* reply) const;

  uint32_t max_frame_ = kMinMaxFrame;  // of both sides, after the client's Hello
  Request request_;
  SaidHello said_;
  bool says_features_ =
      false;  // the request is a whole Hello of a device that may shorten the next one
};

// A node's connection to a directory: frames carry a PeerRequest or a PeerReply.
class PeerConnection final : public FrameConnection {
 public:
  using FrameConnection::FrameConnection;

  // In state kAnswering: the request; its bytes stay valid until Respond(). Kind kNone: the frame
  // was no request.
  const PeerRequest& request() const { return request_; }

  //   max_frame  of both sides
  void Respond(const PeerReply& reply, uint32_t max_frame, uint64_t now_ms);

 private:
  void OnFrame(ByteSpan body) override;

  PeerRequest request_;
};

}  // namespace sotto::server
