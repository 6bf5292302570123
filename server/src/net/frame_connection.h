// One device's connection, without sockets: bytes in, bytes out, frames of any kind of message
// (connection.h says which). Part of sotto::server/net.
//
//   handshake --TLS done--> request --a whole frame--> answering --RespondFrame()--> request
//        any state --error, deadline, client gone--> closed
//
// A connection begins with a whole ClientHello (client_hello.h), since it costs 46 kB. The table
// kConnectionStates in frame_connection.cc says what each state waits for, and how long. The memory
// of a connection is bounded: one frame in, one frame out, and the buffers of TLS; between its
// messages it has the buffers of TLS alone. A handshake takes milliseconds of computing, so bytes
// of a handshake are only stored until ContinueHandshake(); the caller decides when there is time
// for it. A client that cannot complete TLS with a registered device's key never reaches a frame.
// Each state that waits for the client has a deadline. So a client that stalls, or sends one byte a
// second, is closed like a client that is gone.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sotto/messages.h"
#include "sotto/tls.h"
#include "sotto/wire.h"

namespace sotto::server {

struct ConnectionLimits {
  uint32_t max_frame = 16384;  // bytes of a frame's message that the server offers
  uint64_t handshake_timeout_ms = 10000;
  uint64_t request_timeout_ms = 30000;  // from the last answer to the next whole request
};

class FrameConnection {
 public:
  enum class State { kHandshake, kRequest, kAnswering, kClosed };

  // The TLS context and the limits must outlive the connection. The time for the handshake counts
  // from begin_ms on.
  FrameConnection(TlsContext& tls, const ConnectionLimits& limits, uint64_t begin_ms);
  FrameConnection(const FrameConnection&) = delete;
  FrameConnection& operator=(const FrameConnection&) = delete;

  // Before the handshake: the client's session neither gets nor opens a ticket (tls_tickets.h).
  void RefuseTickets() { tls_.RefuseTickets(); }

  // Takes bytes from the network, all of them. An empty span: the client closed. In state
  // kHandshake nothing else happens.
  void OnBytes(ByteSpan bytes, uint64_t now_ms);

  // In state kHandshake: computes with the bytes that came. Takes one flight of the handshake, some
  // milliseconds with forward secrecy.
  void ContinueHandshake(uint64_t now_ms) { Advance(now_ms); }

  // Bytes for the network, oldest first. Sent() removes the first `count` of them.
  ByteSpan output() const;
  void Sent(size_t count);

  // Closes the connection if its deadline has passed. Call it at least once a second.
  void OnTime(uint64_t now_ms);

  // False: more input would have to be buffered, so do not read from the network now.
  bool wants_input() const;

  State state() const { return state_; }
  // The authenticated device's name; empty before the handshake.
  const std::string& device() const { return device_; }
  // Bytes from and for the network so far, with the handshake.
  uint64_t received() const { return received_; }
  uint64_t answered() const { return answered_; }
  // After the handshake: whether it resumed a session by a ticket.
  bool is_resumed() const { return tls_.is_resumed(); }
  // Why the handshake failed; kOk: it did not. kMismatch: the client does not hold the key.
  Status handshake_failure() const { return handshake_failure_; }
  // Why the connection was closed, for the log.
  const std::string& close_reason() const { return close_reason_; }

 protected:
  // Destroyed as what it is.
  virtual ~FrameConnection() = default;

  // A whole frame has come: state kAnswering. Its body stays valid until RespondFrame().
  virtual void OnFrame(ByteSpan body) = 0;

  // Sends the answer, a whole frame.
  void RespondFrame(ByteSpan frame, uint64_t now_ms);

  // Sends a frame after the handshake, asked or not, and closes the connection.
  void SayLastFrame(ByteSpan frame, const std::string& why);

  const ConnectionLimits& limits() const { return limits_; }
  void Fail(const std::string& reason);

 private:
  static int TlsSend(void* context, const uint8_t* bytes, size_t size);
  static int TlsReceive(void* context, uint8_t* bytes, size_t size);
  size_t TakeInput(MutableByteSpan out);
  void KeepInput();
  void Enter(State state, uint64_t now_ms);
  void Advance(uint64_t now_ms);
  void FinishHandshake(uint64_t now_ms);
  void ReadFrames(uint64_t now_ms);
  bool Write(ByteSpan frame);

  const ConnectionLimits& limits_;
  State state_ = State::kHandshake;
  std::string device_;
  std::string close_reason_;
  Status handshake_failure_ = Status::kOk;
  uint64_t deadline_ms_ = 0;    // of the state; UINT64_MAX: none
  std::vector<uint8_t> input_;  // from the network, not yet taken by TLS
  size_t input_taken_ = 0;
  ByteSpan fresh_input_;         // the bytes after these, during OnBytes()
  std::vector<uint8_t> output_;  // for the network
  size_t output_sent_ = 0;
  bool peer_closed_ = false;
  uint64_t received_ = 0;
  uint64_t answered_ = 0;
  std::unique_ptr<uint8_t[]> frame_;  // while a frame arrives
  FrameReader reader_{MutableByteSpan()};
  std::vector<uint8_t> message_;  // whole, until RespondFrame()
  TlsSession tls_;
};

}  // namespace sotto::server
