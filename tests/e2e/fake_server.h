// A server for tests that answers connections as a test wants, before TLS or inside it.
#pragma once

#include <arpa/inet.h>
#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <sys/time.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "sotto/posix/key_file.h"
#include "sotto/posix/port.h"
#include "sotto/tls.h"
#include "sotto/wire.h"

namespace sotto::live {

// Calls `serve` with the socket of each connection, one at a time, in a second thread. The socket
// blocks, for at most 10 s a call.
class FakeServer {
 public:
  using Serve = std::function<void(int socket)>;

  FakeServer(const std::string& host, Serve serve)
      : listener_(socket(AF_INET, SOCK_STREAM, 0)), serve_(std::move(serve)) {
    const int on = 1;
    EXPECT_EQ(setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    EXPECT_EQ(inet_pton(AF_INET, host.c_str(), &address.sin_addr), 1);
    socklen_t size = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener_, generic, size), 0);
    EXPECT_EQ(listen(listener_, 16), 0);
    EXPECT_EQ(getsockname(listener_, generic, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Accept(); });
  }
  ~FakeServer() { Stop(); }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  // Frees the port.
  void Stop() {
    if (!thread_.joinable()) return;
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }

  uint16_t port() const { return port_; }
  size_t connections() const { return connections_; }  // that were served

 private:
  void Accept() {
    for (;;) {
      const int client = accept(listener_, nullptr, nullptr);
      if (client < 0) return;
      const timeval limit{10, 0};
      EXPECT_EQ(setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
      serve_(client);
      close(client);
      ++connections_;
    }
  }

  int listener_;
  Serve serve_;
  uint16_t port_ = 0;
  std::atomic<size_t> connections_{0};
  std::thread thread_;
};

// Answers a device's requests over TLS, as a server that knows its key, until `answer` returns
// false or the link ends. Returns whether the device has said goodbye, by close_notify.
inline bool AnswerInTls(int socket, const posix::DeviceKey& key,
                        const std::function<bool(const Request&, Reply*)>& answer) {
  const PskLookup keys = {[](void* context, ByteSpan, Key* psk) {
                            const auto* device = static_cast<const posix::DeviceKey*>(context);
                            return DeriveTlsKey(device->secret, psk);
                          },
                          const_cast<posix::DeviceKey*>(&key)};
  const TlsIo io = {
      [](void* context, const uint8_t* bytes, size_t size) {
        return static_cast<int>(send(*static_cast<int*>(context), bytes, size, MSG_NOSIGNAL));
      },
      [](void* context, uint8_t* out, size_t size) {
        const ssize_t got = recv(*static_cast<int*>(context), out, size, 0);
        return got > 0 ? static_cast<int>(got) : -1;
      },
      &socket};
  TlsContext context;
  TlsSession tls;
  EXPECT_EQ(context.InitServer(posix::SystemPort(), keys), Status::kOk);
  EXPECT_EQ(tls.Start(&context, io), Status::kOk);
  if (tls.Handshake() != Status::kOk) return false;
  std::vector<uint8_t> in(4096);
  std::vector<uint8_t> out(kFrameHeaderSize + 4096);
  FrameReader reader({in.data(), in.size()});
  for (Reply reply;; reply = Reply()) {
    size_t count = 0;
    for (reader.Next(); !reader.complete();) {
      if (tls.Read(reader.missing(), &count) != Status::kOk) return false;
      if (count == 0) return true;
      if (reader.Received(count) != Status::kOk) return false;
    }
    Request request;
    if (DecodeRequest(reader.body(), &request) != Status::kOk) return false;
    if (!answer(request, &reply)) return false;
    size_t size = 0;
    EXPECT_EQ(EncodeReply(reply, 4096, {out.data(), out.size()}, &size), Status::kOk);
    for (size_t sent = 0; sent < size; sent += count) {
      if (tls.Write({out.data() + sent, size - sent}, &count) != Status::kOk) return false;
    }
  }
}

}  // namespace sotto::live
