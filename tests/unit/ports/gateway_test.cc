// What passes through a gateway arrives, although its wire loses frames; and the end of one side is
// the end of the other.
#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include "ports/posix/gateway/channel.h"
#include "ports/posix/gateway/serial_port.h"
#include "sotto/posix/acceptor.h"
#include "sotto/posix/port.h"
#include "sotto/serial_frames.h"

namespace sotto::posix {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint64_t kPatienceMs = 60'000;

FrameLinkConfig BoardConfig() {
  FrameLinkConfig config;
  config.first_pause_ms = 50;
  config.tries = 100;
  return config;
}

// A board at the other end of the gateway's wire.
class Board {
 public:
  explicit Board(int wire) : wire_(wire) {}
  ~Board() { close(wire_); }

  void Open(uint32_t nonce) { ASSERT_EQ(link.Open(nonce, NowMs()), Status::kOk); }

  // Bytes that are no frames.
  void Say(const Bytes& bytes) {
    ASSERT_EQ(write(wire_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }

  void Move() {
    uint8_t bytes[kLargestSerialFrame];
    for (ssize_t got = 0; (got = read(wire_, bytes, sizeof(bytes))) > 0;) {
      for (ssize_t i = 0; i < got; ++i) {
        if (reader_.Feed(bytes[i])) link.OnFrame(reader_.frame(), NowMs());
      }
    }
    uint8_t frame[kLargestFrame];
    while (const size_t size = link.NextFrame(NowMs(), frame)) {
      const size_t total = EncodeSerialFrame({frame, size}, bytes);
      ASSERT_EQ(write(wire_, bytes, total), static_cast<ssize_t>(total));
    }
  }

 private:
  Bytes memory_ = Bytes(FrameLinkBytes(20, 16));
  uint8_t reader_memory_[kLargestSerialFrame];
  const int wire_;
  SerialFrameReader reader_{reader_memory_};

 public:
  FrameLink link{BoardConfig(), {memory_.data(), memory_.size()}};
};

// A server that returns each byte, on the same thread.
class Server {
 public:
  uint16_t port() const { return acceptor_.port(); }
  int connections() const { return connections_; }

  void Move() {
    (void)acceptor_.Accept(1, [this](int socket, const IpAddress&) {
      HangUp();
      socket_ = socket;
      ++connections_;
      return true;
    });
    uint8_t bytes[500];
    while (socket_ >= 0) {
      const int got = ReceiveNow(socket_, bytes);
      if (got == 0) return;
      if (got < 0) return HangUp();
      received_ += got;
      if (rests_) continue;
      ASSERT_EQ(SendNow(socket_, {bytes, static_cast<size_t>(got)}), got);
    }
  }
  void HangUp() {
    if (socket_ >= 0) CloseSocket(socket_);
    socket_ = -1;
  }
  // From now on it returns nothing.
  void Rest() { rests_ = true; }
  bool has_client() const { return socket_ >= 0; }
  int received() const { return received_; }

 private:
  Acceptor acceptor_{"127.0.0.1", 0};
  int socket_ = -1;
  int connections_ = 0;
  int received_ = 0;
  bool rests_ = false;
};

class GatewayTest : public testing::Test {
 protected:
  GatewayTest() {
    options_.server = "127.0.0.1:" + std::to_string(server_.port());
    options_.max_frame = 20;
    LogOptions log;
    log.level = LogLevel::kDebug;
    log.write = [this](const std::string& line) { log_text_ += line; };
    log_ = std::make_unique<EventLog>("sotto-gateway", log);
  }

  void Connect() {
    int wires[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, wires), 0);
    board_ = std::make_unique<Board>(wires[0]);
    channel_ = std::make_unique<Channel>(options_, *log_, wires[1], "wire", 1);
  }

  // Moves everything until it is so.
  template <class Condition>
  void Until(Condition condition) {
    const uint64_t begin_ms = NowMs();
    while (!condition()) {
      ASSERT_LT(NowMs() - begin_ms, kPatienceMs);
      board_->Move();
      ASSERT_TRUE(channel_->Work(NowMs()));
      if (serves_) server_.Move();
    }
  }

  // Sends bytes and gets them again.
  void Exchange(size_t size) {
    Bytes bytes(size);
    std::mt19937 random(1);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    Bytes returned;
    size_t sent = 0;
    Until([&] {
      const int taken = board_->link.Send(bytes.data() + sent, size - sent);
      if (taken > 0) sent += static_cast<size_t>(taken);
      uint8_t out[100];
      const int got = board_->link.Receive(out, sizeof(out));
      if (got > 0) returned.insert(returned.end(), out, out + got);
      return returned.size() == size;
    });
    EXPECT_EQ(returned, bytes);
  }

  Server server_;
  bool serves_ = true;
  GatewayOptions options_;
  std::string log_text_;
  std::unique_ptr<EventLog> log_;
  std::unique_ptr<Board> board_;
  std::unique_ptr<Channel> channel_;
};

TEST_F(GatewayTest, EveryBytePassesAWireThatLosesFrames) {
  options_.test_loss = 0.2;
  Connect();
  board_->Open(1);
  Exchange(3000);
  EXPECT_GT(board_->link.counts().repeated, 0u);
  board_->link.Close();
  Until([&] { return !server_.has_client(); });
  EXPECT_NE(log_text_.find("connection is over"), std::string::npos) << log_text_;
}

TEST_F(GatewayTest, AWireWithoutFramesIsNamedAndABoardsLogDoesNotDisturbItsFrames) {
  Connect();
  board_->Say(Bytes(63, 0xe6));
  ASSERT_TRUE(channel_->Work(NowMs()));
  EXPECT_EQ(log_text_.find("no frame is in them"), std::string::npos) << log_text_;
  board_->Say(Bytes(1, 0xe6));
  ASSERT_TRUE(channel_->Work(NowMs()));
  EXPECT_NE(log_text_.find("wire: bytes arrive, and no frame is in them"), std::string::npos)
      << log_text_;
  log_text_.clear();
  board_->Open(1);
  Exchange(100);
  const std::string line = "clock: ok\r\n";
  board_->Say({line.begin(), line.end()});
  Exchange(1000);
  EXPECT_EQ(log_text_.find("no frame is in them"), std::string::npos) << log_text_;
}

TEST_F(GatewayTest, ABoardThatWasResetGetsANewConnectionToTheServer) {
  Connect();
  board_->Open(1);
  Exchange(100);
  board_->Open(2);
  Exchange(100);
  EXPECT_EQ(server_.connections(), 2);
}

TEST_F(GatewayTest, TheEndOfTheServerEndsTheBoardAfterTheLastByte) {
  Connect();
  board_->Open(1);
  Exchange(100);
  const Bytes bytes(200, 7);
  ASSERT_EQ(board_->link.Send(bytes.data(), bytes.size()), 200);
  Until([&] { return server_.received() == 300; });
  server_.HangUp();
  size_t got = 0;
  Until([&] {
    uint8_t out[64];
    const int count = board_->link.Receive(out, sizeof(out));
    if (count > 0) got += static_cast<size_t>(count);
    return count < 0;
  });
  EXPECT_EQ(got, 200u);
  EXPECT_EQ(board_->link.state(), FrameLink::State::kEnded);
}

TEST_F(GatewayTest, WithoutAServerTheBoardsConnectionEndsAndTheNextOneMayWork) {
  const std::string there = options_.server;
  {
    const Acceptor closed("127.0.0.1", 0);
    options_.server = "127.0.0.1:" + std::to_string(closed.port());
  }
  Connect();
  board_->Open(1);
  const uint8_t byte = 1;
  Until([&] {
    (void)board_->link.Send(&byte, 1);
    return board_->link.state() == FrameLink::State::kEnded;
  });
  EXPECT_NE(log_text_.find("refused"), std::string::npos) << log_text_;
  options_.server = there;
  board_->Open(2);
  Exchange(100);
}

TEST_F(GatewayTest, AServerThatTakesNothingStopsTheBoardAndNothingIsLost) {
  Connect();
  board_->Open(1);
  Exchange(10);
  serves_ = false;
  server_.Rest();
  const Bytes bytes(10'000, 1);
  size_t taken = 0;
  // Until the buffers of the system are full, too.
  for (size_t before = 1; taken != before;) {
    before = taken;
    const uint64_t end_ms = NowMs() + 200;
    Until([&] {
      const int count = board_->link.Send(bytes.data(), bytes.size());
      if (count > 0) taken += static_cast<size_t>(count);
      return NowMs() > end_ms;
    });
  }
  serves_ = true;
  Until([&] { return server_.received() == static_cast<int>(10 + taken); });
  EXPECT_EQ(board_->link.status(), Status::kOk);
}

TEST_F(GatewayTest, AWireThatIsGoneEndsTheChannel) {
  Connect();
  board_->Open(1);
  Exchange(10);
  board_.reset();
  EXPECT_FALSE(channel_->Work(NowMs()));
}

TEST(SerialPort, AllBytesPassAPseudoTerminal) {
  const int board = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(board, 0);
  ASSERT_EQ(grantpt(board), 0);
  ASSERT_EQ(unlockpt(board), 0);
  std::string error;
  const int port = SerialPort::Open(ptsname(board), 115200, &error);
  ASSERT_GE(port, 0) << error;
  Bytes all(256);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint8_t>(i);
  ASSERT_EQ(write(board, all.data(), all.size()), 256);
  Bytes got(300);
  EXPECT_EQ(read(port, got.data(), got.size()), 256);
  got.resize(256);
  EXPECT_EQ(got, all);
  ASSERT_EQ(write(port, all.data(), all.size()), 256);
  EXPECT_EQ(read(board, got.data(), got.size()), 256);
  EXPECT_EQ(got, all);
  close(port);
  close(board);
}

TEST(SerialPort, WhatIsNoSerialDeviceIsRefusedWithAReason) {
  std::string error;
  EXPECT_EQ(SerialPort::Open("/dev/null", 115200, &error), -1);
  EXPECT_NE(error.find("that is no serial device"), std::string::npos) << error;
  EXPECT_EQ(SerialPort::Open("/nowhere/tty", 115200, &error), -1);
  EXPECT_EQ(error, "No such file or directory");
  EXPECT_TRUE(SerialPort::HasRate(9600));
  EXPECT_FALSE(SerialPort::HasRate(9601));
}

TEST(GatewayOptions, OptionsThatMakeNoSenseAreRefused) {
  const auto refusal = [](auto spoil) -> std::string {
    GatewayOptions options;
    options.server = "server:7177";
    options.serials = {"/dev/ttyUSB0"};
    spoil(options);
    try {
      CheckOptions(options);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal([](GatewayOptions&) {}), "");
  EXPECT_EQ(refusal([](GatewayOptions& o) { o.serials.clear(); }),
            "there is no board: give --serial DEVICE or --listen HOST:PORT");
  EXPECT_EQ(refusal([](GatewayOptions& o) { o.server = "server"; }),
            "--server server: expected HOST:PORT or [ADDRESS]:PORT");
  EXPECT_EQ(refusal([](GatewayOptions& o) { o.listen = "7178"; }),
            "--listen 7178: expected HOST:PORT or [ADDRESS]:PORT");
  EXPECT_EQ(refusal([](GatewayOptions& o) { o.window = 12; }),
            "--window 12: expected 1, 2, 4, 8, 16 or 32");
  EXPECT_NE(refusal([](GatewayOptions& o) { o.baud = 9601; }).find("--baud 9601: "),
            std::string::npos);
}

TEST(GatewayOptions, TheFileOfTheServiceIsTaken) {
  GatewayOptions options;
  const Command command = GatewayCommand([&](const GatewayOptions& read) { options = read; });
  std::string arguments[] = {"sotto-gateway", "--config",
                             SOTTO_SOURCE_DIR "/ports/posix/gateway/gateway.toml"};
  char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data()};
  ASSERT_EQ(RunProgram(command, "1", 3, argv), 0);
  CheckOptions(options);
  EXPECT_EQ(options.server, "sotto.example:7177");
  EXPECT_EQ(options.serials, (std::vector<std::string>{"/dev/ttyUSB0", "/dev/ttyUSB1"}));
}

}  // namespace
}  // namespace sotto::posix
