// A client of the peer protocol for tests: SecureLink over TCP on this machine, no node.
#pragma once

#include <gtest/gtest.h>

#include "round/devices.h"
#include "sotto/peer_messages.h"
#include "sotto/posix/port.h"
#include "sotto/posix/tcp.h"
#include "sotto/secure_link.h"
#include "unit/server/directory_fixture.h"

namespace sotto::server {

constexpr int kClientPatienceMs = 20000;
constexpr uint32_t kClientFrame = 512;

// A client that blocks.
class PeerClient {
 public:
  PeerClient(uint16_t port, const Device& device) : device_(device) {
    EXPECT_EQ(stream_.Connect("127.0.0.1", port, kClientPatienceMs), Status::kOk)
        << stream_.error();
    const auto* id = reinterpret_cast<const uint8_t*>(device_.id.data());
    EXPECT_EQ(link_.Begin(posix::SystemPort(), {id, device_.id.size()}, device_.secret,
                          {Send, Receive, this}),
              Status::kOk);
  }

  Status Exchange(const PeerRequest& request, PeerReply* reply) {
    const uint64_t end_ms = posix::NowMs() + kClientPatienceMs;
    Status status = Status::kWouldBlock;
    while (status == Status::kWouldBlock && posix::NowMs() < end_ms) {
      status = link_.Exchange(request, reply);
      if (status == Status::kWouldBlock) stream_.Wait(link_.wants_write(), 100);
    }
    return status;
  }

  // Any frame at all.
  Status ExchangeFrame(ByteSpan frame, ByteSpan* body) {
    Status status = Status::kWouldBlock;
    while (status == Status::kWouldBlock) {
      status = link_.ExchangeFrame(frame, body);
      if (status == Status::kWouldBlock) stream_.Wait(link_.wants_write(), 100);
    }
    return status;
  }

  PeerReply Ask(const PeerRequest& request) {
    PeerReply reply;
    EXPECT_EQ(Exchange(request, &reply), Status::kOk);
    return reply;
  }

  PeerReply Join(ByteSpan job) {
    PeerRequest request = server::Ask(PeerRequest::Kind::kJoin);
    request.job_id = job;
    request.max_frame = kClientFrame;
    return Ask(request);
  }

 private:
  static int Send(void* context, const uint8_t* bytes, size_t size) {
    return static_cast<PeerClient*>(context)->stream_.Send({bytes, size});
  }
  static int Receive(void* context, uint8_t* bytes, size_t size) {
    return static_cast<PeerClient*>(context)->stream_.Receive({bytes, size});
  }

  const Device device_;
  posix::TcpStream stream_;
  uint8_t send_[kFrameHeaderSize + kClientFrame];
  uint8_t receive_[kClientFrame];
  SecureLink link_{send_, receive_};
};

}  // namespace sotto::server
