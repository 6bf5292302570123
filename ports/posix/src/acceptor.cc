#include "sotto/posix/acceptor.h"

#include <arpa/inet.h>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace sotto::posix {
namespace {

constexpr int kBacklog = 4096;

[[noreturn]] void Throw(const std::string& what, int error) {
  std::string why = std::strerror(error);
  why[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(why[0])));
  throw std::runtime_error(what + ": " + why);
}

void Check(int result, const std::string& what) {
  if (result < 0) Throw(what, errno);
}

sockaddr* Generic(sockaddr_storage* address) { return reinterpret_cast<sockaddr*>(address); }

sockaddr_storage Parse(const std::string& host, uint16_t port) {
  sockaddr_storage address{};
  auto& ipv4 = reinterpret_cast<sockaddr_in&>(address);
  auto& ipv6 = reinterpret_cast<sockaddr_in6&>(address);
  if (inet_pton(AF_INET, host.c_str(), &ipv4.sin_addr) == 1) {
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(port);
  } else if (inet_pton(AF_INET6, host.c_str(), &ipv6.sin6_addr) == 1) {
    ipv6.sin6_family = AF_INET6;
    ipv6.sin6_port = htons(port);
  } else {
    throw std::invalid_argument("--listen " + host +
                                ": not a numeric address; take 127.0.0.1 for this machine, 0.0.0.0 "
                                "or [::] for the network");
  }
  return address;
}

socklen_t SizeOf(const sockaddr_storage& address) {
  return address.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

IpAddress AddressOf(const sockaddr_storage& peer) {
  const auto bytes = [](const auto& address) {
    return ByteSpan(reinterpret_cast<const uint8_t*>(&address), sizeof(address));
  };
  return peer.ss_family == AF_INET
             ? IpAddressOf(bytes(reinterpret_cast<const sockaddr_in&>(peer).sin_addr))
             : IpAddressOf(bytes(reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr));
}

constexpr char kHint[] = " (choose another port)";

// A socket with that address.
int Bind(const std::string& host, uint16_t port) {
  sockaddr_storage address = Parse(host, port);
  const int on = 1;
  const int socket = ::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  Check(socket, "creating a socket");
  const int off = 0;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address.ss_family == AF_INET6) {  // takes IPv4 too
    setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  }
  if (bind(socket, Generic(&address), SizeOf(address)) == 0) return socket;
  const int error = errno;
  close(socket);
  Throw("listening on " + host + " port " + std::to_string(port) + kHint, error);
}

bool IsOutOfFiles(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

Acceptor::Acceptor(const std::string& host, uint16_t port) : socket_(Bind(host, port)) {
  try {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    Check(getsockname(socket_, Generic(&address), &size), "reading the port");
    port_ = ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
    Check(fcntl(socket_, F_SETFL, O_NONBLOCK), "listening");
    Check(listen(socket_, kBacklog), "listening on port " + std::to_string(port_) + kHint);
  } catch (...) {
    close(socket_);
    throw;
  }
}

Acceptor::~Acceptor() { close(socket_); }

Acceptor::Result Acceptor::Accept(
    int most, const std::function<bool(int socket, const IpAddress& from)>& take) {
  for (int taken = 0; taken < most; ++taken) {
    sockaddr_storage peer{};
    socklen_t size = sizeof(peer);
    const int socket = accept4(socket_, Generic(&peer), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket >= 0) {
      if (!take(socket, AddressOf(peer))) return Result::kMore;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return Result::kDrained;
    } else if (IsOutOfFiles(errno)) {
      return Result::kNoFiles;
    }
    // Any other error is one of a connection that is gone already: the next one follows.
  }
  return Result::kMore;
}

void CloseSocket(int socket) { close(socket); }

void EndConnection(int socket) { shutdown(socket, SHUT_RDWR); }

}  // namespace sotto::posix
