#include "sotto/posix/tcp.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

#include "sotto/posix/sockets.h"

namespace sotto::posix {

namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// Null, and why, if there is none.
Addresses Resolve(const char* host, uint16_t port, int flags, const char** error) {
  char service[8];
  std::snprintf(service, sizeof(service), "%u", static_cast<unsigned>(port));
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* addresses = nullptr;
  const int failure = getaddrinfo(host, service, &hints, &addresses);
  if (failure != 0) *error = gai_strerror(failure);
  return {failure == 0 ? addresses : nullptr, &freeaddrinfo};
}

}  // namespace

Status TcpStream::Connect(const char* host, uint16_t port, int timeout_ms) {
  Close();
  const Addresses addresses = Resolve(host, port, 0, &error_);
  knows_host_ = addresses != nullptr;
  bool connected = false;
  for (const addrinfo* a = addresses.get(); a != nullptr && !connected; a = a->ai_next) {
    connected = ConnectTo(a->ai_addr, a->ai_addrlen, a->ai_family, timeout_ms);
  }
  return connected ? Status::kOk : Status::kLinkLost;
}

Status TcpStream::BeginConnect(const std::string& address, uint16_t port, const std::string& from) {
  Close();
  const Addresses to = Resolve(address.c_str(), port, AI_NUMERICHOST, &error_);
  if (!to || !Open(to->ai_family)) return Status::kLinkLost;
  if (!from.empty()) {
    const Addresses own = Resolve(from.c_str(), 0, AI_NUMERICHOST, &error_);
    if (!own) return Fail(error_);
    if (bind(socket_, own->ai_addr, own->ai_addrlen) != 0) return Fail(std::strerror(errno));
  }
  const int error = StartConnect(to->ai_addr, to->ai_addrlen);
  return error == 0 || error == EINPROGRESS ? Status::kOk : Fail(std::strerror(error));
}

Status TcpStream::FinishConnect() {
  int error = 0;
  socklen_t length = sizeof(error);
  if (getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  return error == 0 ? Status::kOk : Fail(std::strerror(error));
}

bool TcpStream::Open(int family) {
  socket_ = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ < 0) {
    error_ = std::strerror(errno);
    return false;
  }
  SendAtOnce(socket_);
  WatchPeer(socket_);
  return true;
}

// Returns 0, EINPROGRESS or what failed.
int TcpStream::StartConnect(const void* address, unsigned size) {
  return connect(socket_, static_cast<const sockaddr*>(address), size) == 0 ? 0 : errno;
}

bool TcpStream::ConnectTo(const void* address, unsigned size, int family, int timeout_ms) {
  if (!Open(family)) return false;
  const int error = StartConnect(address, size);
  if (error == 0) return true;
  if (error != EINPROGRESS) return Fail(std::strerror(error)) == Status::kOk;
  if (!Wait(true, timeout_ms)) return Fail(std::strerror(ETIMEDOUT)) == Status::kOk;
  return FinishConnect() == Status::kOk;
}

Status TcpStream::Fail(const char* error) {
  error_ = error;
  Close();
  return Status::kLinkLost;
}

void TcpStream::Close() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
}

int TcpStream::Send(ByteSpan bytes) { return SendNow(socket_, bytes); }

int TcpStream::Receive(MutableByteSpan bytes) { return ReceiveNow(socket_, bytes); }

bool TcpStream::Wait(bool for_sending, int timeout_ms) const {
  pollfd descriptors[] = {{socket_, static_cast<short>(for_sending ? POLLIN | POLLOUT : POLLIN), 0},
                          {stop_, POLLIN, 0}};
  return poll(descriptors, 2, timeout_ms) > 0 && descriptors[0].revents != 0;
}

bool IsNumericAddress(const std::string& host) {
  const char* ignored = "";
  return Resolve(host.c_str(), 0, AI_NUMERICHOST, &ignored) != nullptr;
}

std::string NumericAddress(const std::string& host) {
  const char* error = "";
  const Addresses addresses = Resolve(host.c_str(), 0, 0, &error);
  char text[NI_MAXHOST];
  if (addresses) {
    const int failure = getnameinfo(addresses->ai_addr, addresses->ai_addrlen, text, sizeof(text),
                                    nullptr, 0, NI_NUMERICHOST);
    if (failure == 0) return text;
    error = gai_strerror(failure);
  }
  throw std::runtime_error("the address of " + host + ": " + error);
}

}  // namespace sotto::posix
