#include "net/listener.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

namespace sotto::server {
namespace {

constexpr int kBacklog = 4096;

[[noreturn]] void Throw(const std::string& what, int error) {
  throw std::runtime_error(fmt::format("{}: {}", what, uv_strerror(error)));
}

void Check(int result, const std::string& what) {
  if (result < 0) Throw(what, uv_translate_sys_error(errno));
}

sockaddr* Generic(sockaddr_storage* address) { return reinterpret_cast<sockaddr*>(address); }

sockaddr_storage Parse(const std::string& host, uint16_t port) {
  sockaddr_storage address{};
  if (uv_ip4_addr(host.c_str(), port, reinterpret_cast<sockaddr_in*>(&address)) == 0) {
    return address;
  }
  const int error = uv_ip6_addr(host.c_str(), port, reinterpret_cast<sockaddr_in6*>(&address));
  if (error != 0) Throw(fmt::format("--listen {}: not a numeric address", host), error);
  return address;
}

socklen_t SizeOf(const sockaddr_storage& address) {
  return address.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

constexpr Address kMappedIpv4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};  // RFC 4291, 2.5.5.2
constexpr size_t kMappedPrefix = 12;
constexpr size_t kNetwork = 8;  // bytes of an IPv6 network, within which a host changes at will

Address AddressOf(const sockaddr_storage& peer) {
  Address address = kMappedIpv4;
  if (peer.ss_family == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(peer);
    std::memcpy(address.data() + kMappedPrefix, &ipv4.sin_addr, sizeof(ipv4.sin_addr));
    return address;
  }
  const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(peer);
  std::memcpy(address.data(), &ipv6.sin6_addr, address.size());
  if (std::equal(address.begin(), address.begin() + kMappedPrefix, kMappedIpv4.begin())) {
    return address;
  }
  std::fill(address.begin() + kNetwork, address.end(), uint8_t{0});
  return address;
}

constexpr char kHint[] = " (choose another port with --listen)";

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
  const int error = uv_translate_sys_error(errno);
  close(socket);
  Throw(fmt::format("listening on {} port {}{}", host, port, kHint), error);
}

bool IsOutOfFiles(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

Listener::Listener(const std::string& host, uint16_t port) : Listener(Bind(host, port)) {}

Listener::Listener(int socket) : socket_(socket) {
  try {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    Check(getsockname(socket_, Generic(&address), &size), "reading the port");
    port_ = ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
    Check(fcntl(socket_, F_SETFL, O_NONBLOCK), "listening");
    Check(listen(socket_, kBacklog), fmt::format("listening on port {}{}", port_, kHint));
  } catch (...) {
    close(socket_);
    throw;
  }
}

Listener::~Listener() {
  if (socket_ >= 0) close(socket_);
}

int Listener::Release() {
  const int socket = socket_;
  socket_ = -1;
  return socket;
}

Listener::Result Listener::Accept(
    int most, const std::function<void(int socket, const Address& from)>& take) {
  for (int taken = 0; taken < most; ++taken) {
    sockaddr_storage peer{};
    socklen_t size = sizeof(peer);
    const int socket = accept4(socket_, Generic(&peer), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket >= 0) {
      take(socket, AddressOf(peer));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return Result::kDrained;
    } else if (IsOutOfFiles(errno)) {
      return Result::kNoFiles;
    }
    // Any other error is one of a connection that is gone already: the next one follows.
  }
  return Result::kMore;
}

size_t AllowOpenFiles() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  if (limit.rlim_cur != limit.rlim_max) {
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  }
  return static_cast<size_t>(limit.rlim_cur);
}

}  // namespace sotto::server
