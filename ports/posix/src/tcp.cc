#include "sotto/posix/tcp.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sotto::posix {

Status TcpStream::Connect(const char* host, uint16_t port, int timeout_ms) {
  Close();
  char service[8];
  std::snprintf(service, sizeof(service), "%u", static_cast<unsigned>(port));
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* addresses = nullptr;
  if (const int error = getaddrinfo(host, service, &hints, &addresses); error != 0) {
    error_ = gai_strerror(error);
    return Status::kLinkLost;
  }
  bool connected = false;
  for (const addrinfo* a = addresses; a != nullptr && !connected; a = a->ai_next) {
    connected = ConnectTo(a->ai_addr, a->ai_addrlen, a->ai_family, timeout_ms);
  }
  freeaddrinfo(addresses);
  return connected ? Status::kOk : Status::kLinkLost;
}

bool TcpStream::ConnectTo(const void* address, unsigned size, int family, int timeout_ms) {
  socket_ = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ < 0) {
    error_ = std::strerror(errno);
    return false;
  }
  const int on = 1;
  (void)setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  int error = 0;
  if (connect(socket_, static_cast<const sockaddr*>(address), size) != 0) {
    error = errno;
    if (error == EINPROGRESS && Wait(true, timeout_ms)) {
      socklen_t length = sizeof(error);
      if (getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
    } else if (error == EINPROGRESS) {
      error = ETIMEDOUT;
    }
  }
  if (error == 0) return true;
  error_ = std::strerror(error);
  Close();
  return false;
}

void TcpStream::Close() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
}

int TcpStream::Send(ByteSpan bytes) {
  const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<int>(sent);
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
}

int TcpStream::Receive(MutableByteSpan bytes) {
  const ssize_t got = recv(socket_, bytes.data(), bytes.size(), 0);
  if (got > 0) return static_cast<int>(got);
  if (got == 0) return -1;
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
}

bool TcpStream::Wait(bool for_sending, int timeout_ms) const {
  pollfd descriptor{socket_, static_cast<short>(for_sending ? POLLIN | POLLOUT : POLLIN), 0};
  return poll(&descriptor, 1, timeout_ms) > 0;
}

}  // namespace sotto::posix
