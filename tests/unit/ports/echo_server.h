// A TCP server on this machine that returns every byte to its one client.
#pragma once

#include <cstdint>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace sotto {

class EchoServer {
 public:
  EchoServer() : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener_, generic, size), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    EXPECT_EQ(getsockname(listener_, generic, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  // The client must have connected and hung up, or must never connect.
  ~EchoServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }

  uint16_t port() const { return port_; }

 private:
  void Serve() const {
    const int client = accept(listener_, nullptr, nullptr);
    if (client < 0) return;
    uint8_t bytes[512];
    ssize_t got = 0;
    // A blocking send() takes all of it.
    do {
      got = recv(client, bytes, sizeof(bytes), 0);
    } while (got > 0 && send(client, bytes, static_cast<size_t>(got), MSG_NOSIGNAL) == got);
    close(client);
  }

  int listener_;
  uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace sotto
