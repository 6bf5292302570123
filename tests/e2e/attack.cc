#include "e2e/attack.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "e2e/live.h"
#include "sotto/posix/port.h"
#include "unit/sdk/hex.h"

namespace sotto::live {
namespace {

sockaddr_in AddressOf(const std::string& host, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  EXPECT_EQ(inet_pton(AF_INET, host.c_str(), &address.sin_addr), 1) << host;
  return address;
}

TlsIo IoOf(RawSocket* socket) {
  TlsIo io;
  io.context = socket;
  io.send = [](void* self, const uint8_t* bytes, size_t size) {
    return static_cast<RawSocket*>(self)->Send({bytes, size});
  };
  io.recv = [](void* self, uint8_t* out, size_t size) {
    return static_cast<RawSocket*>(self)->Receive({out, size});
  };
  return io;
}

void StartSession(const posix::DeviceKey& key, const TlsIo& io, TlsContext* context,
                  TlsSession* session) {
  Key psk;
  EXPECT_EQ(DeriveTlsKey(key.secret, &psk), Status::kOk);
  EXPECT_EQ(context->InitClient(posix::SystemPort(), View(key.device_id), psk), Status::kOk);
  EXPECT_EQ(session->Start(context, io), Status::kOk);
}

}  // namespace

RawSocket::RawSocket(const std::string& source, uint16_t port)
    : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int on = 1;
  const sockaddr_in from = AddressOf(source, 0);
  const sockaddr_in to = AddressOf(Host(), port);
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(socket_, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
  const bool connected =
      bind(socket_, reinterpret_cast<const sockaddr*>(&from), sizeof(from)) == 0 &&
      connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0;
  if (connected) {
    fcntl(socket_, F_SETFL, O_NONBLOCK);
  } else {
    close(std::exchange(socket_, -1));
  }
}

RawSocket::~RawSocket() {
  if (is_open()) close(socket_);
}

RawSocket::RawSocket(RawSocket&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}

RawSocket& RawSocket::operator=(RawSocket&& other) noexcept {
  std::swap(socket_, other.socket_);
  return *this;
}

int RawSocket::Send(ByteSpan bytes) const {
  const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<int>(sent);
  return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
}

int RawSocket::Receive(MutableByteSpan bytes) const {
  const ssize_t got = recv(socket_, bytes.data(), bytes.size(), 0);
  if (got > 0) return static_cast<int>(got);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? 0 : -1;
}

bool RawSocket::IsClosedByServer() const {
  uint8_t bytes[1024];
  int got = 1;
  while (got > 0) got = Receive(bytes);
  return got < 0;
}

void RawSocket::Wait(int timeout_ms) const {
  pollfd event = {socket_, POLLIN, 0};
  (void)poll(&event, 1, timeout_ms);
}

std::vector<RawSocket> ConnectMany(const std::string& source, uint16_t port, size_t count) {
  std::vector<RawSocket> sockets;
  for (size_t i = 0; i < count; ++i) sockets.emplace_back(source, port);
  return sockets;
}

size_t CountClosedByServer(const std::vector<RawSocket>& sockets) {
  return static_cast<size_t>(
      std::count_if(sockets.begin(), sockets.end(),
                    [](const RawSocket& socket) { return socket.IsClosedByServer(); }));
}

const std::vector<uint8_t>& ClientHelloRecord() {
  static const std::vector<uint8_t> kRecord = FromHex(
      "1603010050"
      "0100004c0303"
      "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"
      "00"
      "0008ccacccab00a8c0a4"  // suites
      "0100"
      "001b"
      "000a000400020017"  // P-256
      "000b00020100"      // uncompressed points
      "00160000"          // encrypt-then-MAC
      "00170000"          // extended master secret
      "ff01000100");
  return kRecord;
}

std::vector<uint8_t> ClientHelloOf(const posix::DeviceKey& key) {
  std::vector<uint8_t> hello;
  TlsIo io;
  io.context = &hello;
  io.send = [](void* to, const uint8_t* bytes, size_t size) {
    auto* out = static_cast<std::vector<uint8_t>*>(to);
    out->insert(out->end(), bytes, bytes + size);
    return static_cast<int>(size);
  };
  io.recv = [](void*, uint8_t*, size_t) { return 0; };
  TlsContext context;
  TlsSession session;
  StartSession(key, io, &context, &session);
  EXPECT_EQ(session.Handshake(), Status::kWouldBlock);
  return hello;
}

Status TryHandshake(const std::string& source, uint16_t port, const posix::DeviceKey& key,
                    ByteSpan before) {
  RawSocket socket(source, port);
  if (!socket.is_open()) return Status::kLinkLost;
  if (socket.Send(before) != static_cast<int>(before.size())) return Status::kLinkLost;
  TlsContext context;
  TlsSession session;
  StartSession(key, IoOf(&socket), &context, &session);
  Status status = Status::kWouldBlock;
  Eventually([&] {
    status = session.Handshake();
    if (status == Status::kWouldBlock) socket.Wait(100);
    return status != Status::kWouldBlock;
  });
  return status;
}

}  // namespace sotto::live
