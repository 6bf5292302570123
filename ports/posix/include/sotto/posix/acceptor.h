// A listening socket that hands over connections in batches. Part of sotto/posix.
//
// libuv accepts in one unbroken loop for as long as connections come, and allocates before it asks.
// This class takes a bounded number at a time and allocates nothing.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sotto/posix/ip_address.h"

namespace sotto::posix {

class Acceptor {
 public:
  enum class Result {
    kDrained,  // nobody waits
    kMore,     // more may wait
    kNoFiles,  // the process or the system can open no further file
  };

  // Listens. `host` is a numeric IPv4 or IPv6 address; port 0 is any free one. Throws
  // std::runtime_error that says what to do, for example if the port is in use, and
  // std::invalid_argument for another address.
  Acceptor(const std::string& host, uint16_t port);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  int socket() const { return socket_; }
  uint16_t port() const { return port_; }

  // Takes up to `most` connections, fewer if `take` returns false: enough. `take` owns the socket
  // that it gets, which does not block and is closed in child processes.
  Result Accept(int most, const std::function<bool(int socket, const IpAddress& from)>& take);

 private:
  int socket_ = -1;
  uint16_t port_ = 0;
};

// Closes a socket that Accept() gave.
void CloseSocket(int socket);

// Ends the connection of a socket that somebody else owns: its owner finds it closed by the peer.
void EndConnection(int socket);

}  // namespace sotto::posix
