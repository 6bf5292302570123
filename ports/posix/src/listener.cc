#include "sotto/posix/listener.h"

#include <cctype>
#include <cerrno>
#include <netdb.h>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

namespace sotto::posix {
namespace {

constexpr int kBacklog = 1024;

std::string Reason() {
  std::string reason = std::generic_category().message(errno);
  if (!reason.empty()) reason[0] = static_cast<char>(std::tolower(reason[0]));
  return reason;
}

uint16_t PortOf(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  // The port is at the same place for both families.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

}  // namespace

Listener::Listener(const std::string& host, uint16_t port) {
  const std::string where = host + " port " + std::to_string(port);
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* address = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &address) != 0) {
    throw std::runtime_error("--listen " + host + ": not a numeric address");
  }
  const int on = 1;
  const int off = 0;
  socket_ = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const bool listens =
      socket_ >= 0 && setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
      (address->ai_family != AF_INET6 ||
       setsockopt(socket_, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0) &&
      bind(socket_, address->ai_addr, address->ai_addrlen) == 0 && listen(socket_, kBacklog) == 0;
  const std::string reason = listens ? "" : Reason();
  freeaddrinfo(address);
  if (!listens) {
    if (socket_ >= 0) close(socket_);
    throw std::runtime_error("listening on " + where + ": " + reason +
                             "; choose another port or address with --listen");
  }
  port_ = PortOf(socket_);
}

Listener::~Listener() {
  if (socket_ >= 0) close(socket_);
}

int Listener::Release() {
  const int descriptor = socket_;
  socket_ = -1;
  return descriptor;
}

}  // namespace sotto::posix
