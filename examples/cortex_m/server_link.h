// A device's way to the server: TLS over the board's UART, kept up as well as it goes.
//
// A UART knows no connection. Whatever is behind it, QEMU's socket or a gateway, may lose its own
// and open another one without a word; what a device sees of that is silence. So a session that
// hears nothing for kSilenceMs is given up and another one begins, after a pause that doubles from
// try to try and has a random part: a fleet does not come back all at once.
#ifndef SOTTO_EXAMPLES_SERVER_LINK_H_
#define SOTTO_EXAMPLES_SERVER_LINK_H_

#include "sotto/secure_link.h"

namespace sotto {

// The most bytes of a message: with the frame's length one TLS record of 512 bytes.
constexpr uint32_t kMaxFrame = 510;

// Memory of a link: one frame with its length to send, one without to receive.
constexpr size_t kFrameBytes = kFrameHeaderSize + 2 * kMaxFrame;

class ServerLink {
 public:
  // `device_id` and `frames`, [kFrameBytes], stay the caller's and outlive the link, as the port's
  // context does. Between two exchanges frames may serve another purpose.
  ServerLink(const Port& port, ByteSpan device_id, const Key& secret, MutableByteSpan frames)
      : port_(port),
        device_id_(device_id),
        secret_(secret),
        link_(frames.first(kFrameHeaderSize + kMaxFrame),
              frames.subspan(kFrameHeaderSize + kMaxFrame, kMaxFrame)) {}

  // Sends a request and waits for its reply, in a new session if there is none. The reply's bytes
  // are valid until the next call. kOk, or what ended the session: tell the client, and try again.
  Status Exchange(const Request& request, Reply* reply);

  // Says goodbye to the server.
  void Close();

  // A pause before the next try.
  void BackOff();

 private:
  static constexpr uint64_t kSilenceMs = 5000;
  static constexpr uint32_t kFirstPauseMs = 1000;
  static constexpr uint32_t kLastPauseMs = 30000;

  static int Send(void* context, const uint8_t* bytes, size_t size);
  static int Receive(void* context, uint8_t* out, size_t size);
  Status Open();
  Status Await(const Request& request, Reply* reply);

  Port port_;
  ByteSpan device_id_;
  Key secret_;
  SecureLink link_;
  bool is_open_ = false;
  uint64_t last_byte_ms_ = 0;
  uint32_t pause_ms_ = kFirstPauseMs;
};

}  // namespace sotto

#endif  // SOTTO_EXAMPLES_SERVER_LINK_H_
