// A TCP connection for clients on POSIX systems, without blocking I/O. Part of sotto/posix.
//
// A program with one connection waits in Connect() and Wait(). One with many calls BeginConnect()
// and watches descriptor() in its event loop. One thread at a time. Writing to a connection that
// the peer has closed is an error, never a signal.
#pragma once

#include <cstdint>
#include <string>

#include "sotto/span.h"
#include "sotto/status.h"

namespace sotto::posix {

class TcpStream {
 public:
  // stop  a descriptor for poll(): once it can be read, Connect() and Wait() wait no longer;
  //       -1: none
  explicit TcpStream(int stop = -1) : stop_(stop) {}
  ~TcpStream() { Close(); }
  TcpStream(const TcpStream&) = delete;
  TcpStream& operator=(const TcpStream&) = delete;

  // Connects, trying every address of the name in turn, each for at most timeout_ms. Blocks.
  //   host  a name or a numeric address, zero-terminated
  // Returns kOk or kLinkLost; error() then says why.
  Status Connect(const char* host, uint16_t port, int timeout_ms);

  // Begins to connect and does not wait. When the socket can be written, FinishConnect() tells
  // whether that worked.
  //   address  numeric, see NumericAddress()
  //   from     numeric: this machine's address of the connection; empty: any
  // Return kOk or kLinkLost; error() then says why, and the socket is closed.
  Status BeginConnect(const std::string& address, uint16_t port, const std::string& from = "");
  Status FinishConnect();
  void Close();

  // Send or receive as many bytes as is possible at once. Return their number, 0 if the call would
  // block, -1 if the connection is gone.
  int Send(ByteSpan bytes);
  int Receive(MutableByteSpan bytes);

  // Waits until bytes can be received, or also sent; false after timeout_ms or a stop.
  bool Wait(bool for_sending, int timeout_ms) const;

  bool is_open() const { return socket_ >= 0; }
  int descriptor() const { return socket_; }       // for an event loop; -1: none
  const char* error() const { return error_; }     // of the last attempt to connect, for people
  bool knows_host() const { return knows_host_; }  // whether the last Connect() found an address

 private:
  bool Open(int family);
  int StartConnect(const void* address, unsigned size);
  bool ConnectTo(const void* address, unsigned size, int family, int timeout_ms);
  Status Fail(const char* error);

  const int stop_;
  int socket_ = -1;
  const char* error_ = "";
  bool knows_host_ = true;
};

// Whether nobody need be asked for the address.
bool IsNumericAddress(const std::string& host);

// The first numeric address of a host, a name or an address. Blocks. Throws std::runtime_error that
// says why there is none.
std::string NumericAddress(const std::string& host);

}  // namespace sotto::posix
