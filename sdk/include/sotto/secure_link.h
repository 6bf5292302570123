// A device's link to the server: messages in frames inside TLS. Part of sotto/link (sotto::tls).
//
// The caller provides the pipe: two callbacks that never block (TlsIo). No call waits. After
// kWouldBlock repeat the call when the pipe may take or give bytes. One request is in progress at a
// time. Any status other than kOk and kWouldBlock means that the link is dead: close the pipe, open
// a new one, call Begin() again, and tell the client with Client::OnLinkLost(). One thread at a
// time.
#pragma once

#include "sotto/tls.h"
#include "sotto/wire.h"

namespace sotto {

struct PeerRequest;  // peer_messages.h
struct PeerReply;

class SecureLink {
 public:
  // The caller's buffers outlive the link.
  //   send, receive  [kFrameHeaderSize + max_frame] and [max_frame] bytes
  SecureLink(MutableByteSpan send, MutableByteSpan receive)
      : send_(send), receive_(receive), reader_(receive) {}
  SecureLink(const SecureLink&) = delete;
  SecureLink& operator=(const SecureLink&) = delete;

  // Starts a session on a new pipe.
  //   port    entropy for TLS
  //   secret  the device's secret; the pre-shared key is derived from it
  //   config  for devices whose TLS buffers are small, or whose sessions resume: see TlsConfig
  // Returns kOk, kEntropyFailed, kCryptoFailed or kInvalidArgument.
  Status Begin(const Port& port, ByteSpan device_id, const Key& secret, const TlsIo& io,
               const TlsConfig& config = {});

  // Sends as much of the request, or receives as much of its reply, as is possible now. Call it
  // with the same request until the reply is complete.
  //   reply  its bytes point into the receive buffer, valid until the next Exchange()
  // Returns kOk when the reply is complete, kWouldBlock, or the failure that ended the link:
  // kLinkLost, kMalformed, kMismatch, kCryptoFailed, kEntropyFailed or kPeerRefused. Try again
  // after any of them, with growing pauses: while is_authenticated() is false, any host that
  // reaches the pipe can cause each of them. So kPeerRefused means that the server does not accept
  // this device's key, or that a stranger has sent seven bytes.
  Status Exchange(const Request& request, Reply* reply);

  // The same between nodes without a server (peer_messages.h).
  Status Exchange(const PeerRequest& request, PeerReply* reply);

  // The same for messages of any kind, encoded.
  //   frame  whole, at least 3 bytes; the same bytes until the answer is complete
  //   body   of the answer's frame, in the receive buffer, valid until the next exchange
  Status ExchangeFrame(ByteSpan frame, ByteSpan* body);

  // Sends close_notify, as much of it as the pipe takes at once.
  void Close();

  // Whether the server has proved, over this connection, that it knows the device's secret, or the
  // session that is resumed, which began with such a proof.
  bool is_authenticated() const { return state_ != State::kHandshake; }

  // After kWouldBlock: true if the pipe must take bytes first.
  bool wants_write() const { return tls_.wants_write(); }

 private:
  enum class State : uint8_t { kHandshake, kIdle, kSending, kReceiving };

  Status Handshake();
  Status Send(ByteSpan frame);
  Status Receive(ByteSpan* body);
  uint32_t max_frame() const { return static_cast<uint32_t>(receive_.size()); }

  MutableByteSpan send_;
  MutableByteSpan receive_;
  FrameReader reader_;
  State state_ = State::kHandshake;
  size_t size_ = 0;  // of the frame in send_
  size_t sent_ = 0;
  TlsContext context_;  // declared before the session that uses it
  TlsSession tls_;
};

}  // namespace sotto
