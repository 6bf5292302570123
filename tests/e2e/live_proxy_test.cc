// A server behind a TCP proxy that says for whom it connects. The proxy is played here, byte by
// byte, from another address than the devices; haproxy.sh has a real one.
#include <csignal>
#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "e2e/attack.h"
#include "e2e/live.h"
#include "unit/sdk/hex.h"

namespace sotto::live {
namespace {

const std::string kProxyAddress = "127.0.0.3";
const std::string kSignature = "0d0a0d0a000d0a515549540a";

// For a client at 198.51.100.`host`.
std::vector<uint8_t> HeaderOf(uint8_t host) {
  std::vector<uint8_t> header = FromHex(kSignature + "2111000cc6336400c0000201d4311c09");
  header[19] = host;
  return header;
}

class LiveProxyTest : public testing::Test {
 protected:
  void Start(const Arguments& more = {}) {
    Arguments all = {"--proxies",          "192.0.2.0/24," + kProxyAddress,
                     "--cohort",           "2",
                     "--rounds",           "500",
                     "--noise-multiplier", "1",
                     "--round-timeout",    "300"};
    all.insert(all.end(), more.begin(), more.end());
    server_ = site_.Serve(all);
    ASSERT_TRUE(server_.WaitForDraw());
  }

  // A connection whose first bytes are these.
  RawSocket Saying(const std::string& source, const std::vector<uint8_t>& bytes) const {
    RawSocket socket(source, server_.port);
    EXPECT_TRUE(socket.is_open());
    EXPECT_EQ(socket.Send(View(bytes)), static_cast<int>(bytes.size()));
    return socket;
  }

  // What has been read before this returns: all that was sent before it was called.
  void ReadAll() const {
    EXPECT_EQ(TryHandshake(kProxyAddress, server_.port, site_.key(0), View(HeaderOf(250))),
              Status::kOk)
        << ReadFile(server_.log);
  }

  static bool IsClosed(const RawSocket& socket) {
    return Eventually([&] { return socket.IsClosedByServer(); });
  }

  static bool IsAnswered(const RawSocket& socket) {
    uint8_t byte[1];
    return Eventually([&] { return socket.Receive(byte) == 1; });
  }

  bool Logs(const std::string& words) const {
    return Eventually([&] { return Says(ReadFile(server_.log), words); });
  }

  Site site_{2};
  Server server_;
};

// One address has at most a quarter of the connections for silent strangers: 75 of 300.
TEST_F(LiveProxyTest, LimitsByAddressCountTheAddressInTheHeader) {
  Start({"--max-connections", "300", "--handshake-timeout", "300"});
  std::vector<RawSocket> many;
  for (int i = 0; i < 100; ++i) {
    many.push_back(Saying(kProxyAddress, HeaderOf(static_cast<uint8_t>(100 + i))));
  }
  ReadAll();
  EXPECT_EQ(CountClosedByServer(many), 0u);
  std::vector<RawSocket> of_one;
  for (int i = 0; i < 100; ++i) of_one.push_back(Saying(kProxyAddress, HeaderOf(7)));
  EXPECT_TRUE(Eventually([&] { return CountClosedByServer(of_one) == 25; }))
      << CountClosedByServer(of_one);
  EXPECT_EQ(CountClosedByServer(many), 0u);
  ReadAll();
}

TEST_F(LiveProxyTest, TheLogNamesTheAddressInTheHeader) {
  Start();
  posix::DeviceKey wrong = site_.key(0);
  wrong.secret.bytes[0] ^= 1;
  EXPECT_EQ(TryHandshake(kProxyAddress, server_.port, wrong, View(HeaderOf(77))),
            Status::kPeerRefused);
  EXPECT_TRUE(Logs("198.51.100.77")) << ReadFile(server_.log);
  EXPECT_FALSE(Says(ReadFile(server_.log), kProxyAddress));
}

// However it is cut.
TEST_F(LiveProxyTest, AHeaderAndAClientHelloComeInAnyPieces) {
  Start({"--handshake-timeout", "300"});
  std::vector<uint8_t> bytes = HeaderOf(8);
  bytes.insert(bytes.end(), ClientHelloRecord().begin(), ClientHelloRecord().end());
  EXPECT_TRUE(IsAnswered(Saying(kProxyAddress, bytes)));
  RawSocket slow(kProxyAddress, server_.port);
  for (const uint8_t& byte : bytes) EXPECT_EQ(slow.Send({&byte, 1}), 1);
  EXPECT_TRUE(IsAnswered(slow));
}

TEST_F(LiveProxyTest, AHealthCheckOfTheProxyIsAConnectionLikeOthers) {
  Start({"--handshake-timeout", "300"});
  std::vector<uint8_t> bytes = FromHex(kSignature + "20000000");
  const RawSocket check = Saying(kProxyAddress, bytes);
  bytes.insert(bytes.end(), ClientHelloRecord().begin(), ClientHelloRecord().end());
  EXPECT_TRUE(IsAnswered(Saying(kProxyAddress, bytes)));
  ReadAll();
  EXPECT_FALSE(check.IsClosedByServer());
}

// Both lines are for the operator whose proxy, or whose server, is set up wrongly.
// SECURITY.md S33.
TEST_F(LiveProxyTest, AHeaderIsRequiredOfProxiesAndTakenFromNobodyElse) {
  Start({"--handshake-timeout", "300"});
  const std::string line = "PROXY TCP4 198.51.100.7 192.0.2.1 54321 7177\r\n";
  EXPECT_TRUE(IsClosed(Saying(kProxyAddress, {line.begin(), line.end()})));
  EXPECT_TRUE(IsClosed(Saying(kProxyAddress, ClientHelloRecord())));
  EXPECT_TRUE(IsClosed(Saying(kProxyAddress, FromHex(kSignature + "2111000b"))));
  EXPECT_TRUE(IsClosed(Saying(kProxyAddress, FromHex(kSignature + "2000ffff"))));
  EXPECT_TRUE(Logs("a connection from 127.0.0.3 began without a PROXY header of version 2"));
  EXPECT_EQ(TryHandshake(kAttackerAddress, server_.port, site_.key(0), View(HeaderOf(9))),
            Status::kLinkLost);
  EXPECT_TRUE(Logs("a connection from 127.0.0.2 began with a PROXY header"));
  EXPECT_EQ(TryHandshake(kAttackerAddress, server_.port, site_.key(0)), Status::kOk);
}

TEST_F(LiveProxyTest, AHeaderThatDoesNotComeInTimeEndsItsConnection) {
  Start({"--handshake-timeout", "0.5", "--verbose"});
  const RawSocket silent(kProxyAddress, server_.port);
  std::vector<uint8_t> half = HeaderOf(7);
  half.resize(20);
  EXPECT_TRUE(IsClosed(Saying(kProxyAddress, half)));
  EXPECT_TRUE(IsClosed(silent));
  EXPECT_TRUE(Logs("a stranger: no handshake in time"));
}

}  // namespace
}  // namespace sotto::live
