// A TCP connection for clients on POSIX systems, without blocking I/O. Part of sotto/posix.
//
// One thread at a time. Writing to a connection that the peer has closed is an error, never a
// signal.
#ifndef SOTTO_POSIX_TCP_H_
#define SOTTO_POSIX_TCP_H_

#include <cstdint>

#include "sotto/span.h"
#include "sotto/status.h"

namespace sotto::posix {

class TcpStream {
 public:
  TcpStream() = default;
  ~TcpStream() { Close(); }
  TcpStream(const TcpStream&) = delete;
  TcpStream& operator=(const TcpStream&) = delete;

  // Connects, trying every address of the name in turn, each for at most timeout_ms. Blocks.
  //   host  a name or a numeric address, zero-terminated
  // Returns kOk or kLinkLost; error() then says why.
  Status Connect(const char* host, uint16_t port, int timeout_ms);
  void Close();

  // Send or receive as many bytes as is possible at once. Return their number, 0 if the call would
  // block, -1 if the connection is gone.
  int Send(ByteSpan bytes);
  int Receive(MutableByteSpan bytes);

  // Waits until bytes can be received, or also sent; false after timeout_ms.
  bool Wait(bool for_sending, int timeout_ms) const;

  bool is_open() const { return socket_ >= 0; }
  const char* error() const { return error_; }  // of the last Connect(), for people

 private:
  bool ConnectTo(const void* address, unsigned size, int family, int timeout_ms);

  int socket_ = -1;
  const char* error_ = "";
};

}  // namespace sotto::posix

#endif  // SOTTO_POSIX_TCP_H_
