// A device's link to the server: TLS over the board's UART, with reconnection. Part of
// examples/cortex_m.
//
// A UART has no connection. QEMU's socket or a gateway behind the UART may lose its own connection
// and open another one. The device is not told; it only receives nothing. So the link gives a
// session up when no byte moves for kLinkTimes.silence_ms, pauses, and begins another session. The
// pause doubles with each try and has a random part, so that a fleet does not reconnect all at
// once. One thread at a time.
//
// Built with SOTTO_RESUME_TLS the link keeps its TLS session in RAM and resumes it; what that costs
// is in sotto/tls_tickets.h.
#pragma once

#include "sotto/secure_link.h"
#if defined(SOTTO_RESUME_TLS)
#include "sotto/tls_tickets.h"
#endif

namespace sotto {

// The most bytes of a message: with the frame's length one TLS record of 512 bytes.
constexpr uint32_t kMaxFrame = 510;

// Memory of a link: one frame with its length to send, one without to receive.
constexpr size_t kFrameBytes = kFrameHeaderSize + 2 * kMaxFrame;

// How long the link waits, in milliseconds. CMakeLists.txt has the values.
struct LinkTimes {
  // The session is given up after this time without a byte in either direction. Set it longer than
  // the first byte of an answer takes: twice the delay of the line, the frame in between where a
  // gateway passes it on as a whole, and a second for the server. The device notices a lost link
  // after this time.
  uint32_t silence_ms = SOTTO_LINK_SILENCE_MS;

  // The first pause before a session, half of it at least, and the longest after many failures.
  uint32_t first_pause_ms = SOTTO_LINK_FIRST_PAUSE_MS;
  uint32_t last_pause_ms = SOTTO_LINK_LAST_PAUSE_MS;
};
constexpr LinkTimes kLinkTimes;
static_assert(kLinkTimes.first_pause_ms >= 2 && kLinkTimes.last_pause_ms >= 2, "see BackOff()");

class ServerLink {
 public:
  // The caller owns device_id, frames and the port's context, which outlive the link.
  //   frames  [kFrameBytes]; between two exchanges the caller may use it otherwise
  ServerLink(const Port& port, ByteSpan device_id, const Key& secret, MutableByteSpan frames)
      : port_(port),
        device_id_(device_id),
        secret_(secret),
        link_(frames.first(kFrameHeaderSize + kMaxFrame),
              frames.subspan(kFrameHeaderSize + kMaxFrame, kMaxFrame)) {}

  // Sends a request and waits for its reply, in a new session if there is none. The reply's bytes
  // are valid until the next call. Returns kOk, or the failure that ended the session: then call
  // OnLinkLost() of the client or the node and try again.
  //   Request, Reply  the types of a client, or PeerRequest and PeerReply
  template <class Request, class Reply>
  Status Exchange(const Request& request, Reply* reply) {
    Status status = Start();
    while (status == Status::kOk) {
      status = link_.Exchange(request, reply);
      if (status != Status::kWouldBlock) break;
      status = AwaitBytes();
    }
    return Finish(status);
  }

  // Ends the session with close_notify.
  void Close();

  // Pauses before the next try.
  void BackOff();

 private:
  static int Send(void* context, const uint8_t* bytes, size_t size);
  static int Receive(void* context, uint8_t* out, size_t size);
  Status Open();
  Status Start();
  Status AwaitBytes();
  Status Finish(Status status);

  Port port_;
  ByteSpan device_id_;
  Key secret_;
  SecureLink link_;
  bool is_open_ = false;
  uint64_t last_byte_ms_ = 0;  // sent or received
  uint32_t pause_ms_ = kLinkTimes.first_pause_ms;
#if defined(SOTTO_RESUME_TLS)
  TlsTicket ticket_;
#endif
};

}  // namespace sotto
