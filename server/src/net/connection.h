// Connections whose frames carry messages: of a device to a job, of a node to a directory. Part of
// sotto::server/net.
//
// One thread at a time.
#pragma once

#include "net/frame_connection.h"
#include "sotto/messages.h"
#include "sotto/peer_messages.h"

namespace sotto::server {

// A device's connection to a job: frames carry a Request or a Reply.
class Connection final : public FrameConnection {
 public:
  using FrameConnection::FrameConnection;

  // In state kAnswering: the request; its bytes stay valid until Respond(). Kind kNone: the frame
  // was no request.
  const Request& request() const { return request_; }
  void Respond(const Reply& reply, uint64_t now_ms);

  // Says this, asked or not, and closes the connection. Nothing happens before the handshake is
  // complete, or after the connection was closed.
  //   reply  an error
  void SayLast(const Reply& reply, const std::string& why);

 private:
  void OnFrame(ByteSpan body) override;

  uint32_t max_frame_ = kMinMaxFrame;  // of both sides, after the client's Hello
  Request request_;
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
