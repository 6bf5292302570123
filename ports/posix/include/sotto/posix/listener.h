// A TCP socket that listens, made before anything depends on it. Part of sotto/posix.
//
// One thread at a time.
#ifndef SOTTO_POSIX_LISTENER_H_
#define SOTTO_POSIX_LISTENER_H_

#include <cstdint>
#include <string>

namespace sotto::posix {

class Listener {
 public:
  // Listens from now on. Connections wait until the socket's later owner accepts.
  //   host  numeric address, IPv4 or IPv6
  //   port  0: any free one
  // Throws std::runtime_error that names address, port and reason.
  Listener(const std::string& host, uint16_t port);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  uint16_t port() const { return port_; }

  // Gives the descriptor away, non-blocking; the destructor closes one that nobody took.
  int Release();

 private:
  int socket_ = -1;
  uint16_t port_ = 0;
};

}  // namespace sotto::posix

#endif  // SOTTO_POSIX_LISTENER_H_
