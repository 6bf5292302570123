// Strangers and dishonest devices against a running server. The attacker connects from another
// address than the fleet, which has 127.0.0.1. After each attack the same process completes a round
// with honest devices, and has taken little memory.
#include <chrono>
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <thread>

#include <nlohmann/json.hpp>

#include "e2e/attack.h"
#include "e2e/live.h"
#include "sotto/posix/port.h"
#include "unit/sdk/hex.h"

namespace sotto::live {
namespace {

// A sanitizer multiplies the memory of a process.
#ifdef SOTTO_SANITIZED
constexpr size_t kMemoryLimit = 1024 << 20;
constexpr bool kAddressSpaceIsFree = false;
#else
constexpr size_t kMemoryLimit = 64 << 20;
constexpr bool kAddressSpaceIsFree = true;
#endif

constexpr int kHangsUpMs = 20000;  // the server must have hung up by then, on a busy machine

// The most memory that the process has had, bytes.
size_t PeakMemory(const Server& server) {
  std::ifstream status("/proc/" + std::to_string(server.process.pid()) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stoul(line.substr(6)) << 10;
  }
  return 0;
}

// Processor time that the process has taken, seconds.
double ProcessorTime(const Server& server) {
  std::ifstream file("/proc/" + std::to_string(server.process.pid()) + "/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

Arguments Under(const std::string& limit) {
  return {"/bin/bash", "-c", limit + "; exec \"$@\"", "bash"};
}

// Two devices, one of which is drawn for a round unless `cohort` says 2. Strangers are not overdue
// within the test.
class LiveAttackTest : public testing::Test {
 protected:
  void Start(const Arguments& more = {}, const Arguments& wrapper = {},
             const std::string& cohort = "2") {
    Arguments all = {"--cohort",
                     cohort,
                     "--rounds",
                     "500",
                     "--noise-multiplier",
                     "1",
                     "--coding",
                     "fixed",
                     "--padding",
                     "0",
                     "--round-timeout",
                     "300",
                     "--handshake-timeout",
                     "300",
                     "--request-timeout",
                     "300"};
    all.insert(all.end(), more.begin(), more.end());
    server_ = site_.Serve(all, wrapper);
    ASSERT_TRUE(AllowOpenFiles(4000));
    ASSERT_TRUE(server_.WaitForDraw());
  }

  void TearDown() override {
    EXPECT_TRUE(RoundCompletes(site_, server_)) << ReadFile(server_.log);
    EXPECT_LT(PeakMemory(server_), kMemoryLimit);
    server_.process.Signal(SIGTERM);
    EXPECT_NE(server_.process.Wait(), -1) << ReadFile(server_.log);
    EXPECT_EQ(Count(ReadFile(server_.log), "terminate called"), 0u);
  }

  std::vector<RawSocket> Attackers(size_t count) const {
    std::vector<RawSocket> sockets = ConnectMany(kAttackerAddress, server_.port, count);
    for (const RawSocket& socket : sockets) EXPECT_TRUE(socket.is_open());
    return sockets;
  }

  std::unique_ptr<Caller> Connected(size_t device) const {
    auto caller = std::make_unique<Caller>(server_.port, site_.key(device));
    EXPECT_EQ(caller->Connect(), Status::kOk);
    return caller;
  }

  // A session of a device that is drawn, or is not drawn, for the open round. The first round opens
  // after the server listens.
  std::unique_ptr<Caller> SessionThatGets(Reply::Kind kind) const {
    std::unique_ptr<Caller> caller;
    EXPECT_TRUE(Eventually([&] {
      for (size_t i = 0; i < site_.devices(); ++i) {
        caller = Connected(i);
        if (caller->Hello().kind == kind) return true;
      }
      return false;
    })) << "no device gets this reply";
    return caller;
  }

  // Eight hellos of a device that waits are answered at once, and one each second; without a pace
  // these are thousands. A device that a later attempt draws has other limits: then it begins
  // again.
  void ExpectPaceOfHellos(bool connects_again) {
    Start({}, {}, "1");
    for (int tries = 0; tries < 40; ++tries) {
      std::unique_ptr<Caller> caller = SessionThatGets(Reply::Kind::kWait);
      const size_t device = caller->key().device_id == site_.key(0).device_id ? 0 : 1;
      const uint64_t begin_ms = posix::NowMs();
      uint64_t answers = 0;
      Reply::Kind kind = Reply::Kind::kWait;
      while (posix::NowMs() < begin_ms + 3000 && answers < 10000) {
        if (connects_again) caller = Connected(device);
        kind = caller->Hello().kind;
        if (kind == Reply::Kind::kTrain) break;
        ASSERT_EQ(kind, Reply::Kind::kWait);
        ++answers;
      }
      if (kind == Reply::Kind::kTrain) continue;
      EXPECT_LE(answers, 8 + 2 * (1 + (posix::NowMs() - begin_ms) / 800));
      return;
    }
    FAIL() << "the device was drawn in each try";
  }

  Site site_{2};
  Server server_;
};

// A server that takes a whole session for each of them has 140 MB.
// SECURITY.md S6.
TEST_F(LiveAttackTest, ThreeThousandSilentConnectionsCostLittle) {
  Start({}, kAddressSpaceIsFree ? Under("ulimit -v 500000") : Arguments{});
  const std::vector<RawSocket> sockets = Attackers(3000);
  EXPECT_TRUE(RoundCompletes(site_, server_));
  for (size_t i = 0; i < sockets.size(); ++i) sockets[i].Send(View(ClientHelloRecord()).first(1));
}

// SECURITY.md S7.
TEST_F(LiveAttackTest, TwoThousandClientHellosGetFewSessions) {
  Start();
  std::vector<RawSocket> sockets = Attackers(2000);
  for (const RawSocket& socket : sockets) socket.Send(View(ClientHelloRecord()));
  EXPECT_TRUE(RoundCompletes(site_, server_));
  const auto answered = [&] {
    size_t count = 0;
    uint8_t byte[1];
    for (const RawSocket& socket : sockets) count += socket.Receive(byte) > 0 ? 1 : 0;
    return count;
  };
  // Eight of one address at a time; a stalled one leaves after 3 s.
  size_t count = 0;
  EXPECT_TRUE(Eventually([&] { return (count = answered()) > 0; }));
  EXPECT_LE(count, 64u + 8u);
}

// Many addresses share the handshakes that are there for strangers, and each of theirs lasts for
// 3 s. A device that no address favours yet comes before them by the token of its ClientHello.
// SECURITY.md S7.
TEST_F(LiveAttackTest, ClientHellosFromManyAddressesDoNotKeepDevicesWaiting) {
  Start();
  std::vector<RawSocket> sockets;
  for (int i = 0; i < 2000; ++i) {
    const std::string source =
        "127." + std::to_string(1 + i % 8) + ".3." + std::to_string(1 + i / 8);
    sockets.emplace_back(source, server_.port);
    sockets.back().Send(View(ClientHelloRecord()));
  }
  EXPECT_TRUE(RoundCompletes(site_, server_));
  uint8_t byte[1];
  size_t unanswered = 0;
  for (const RawSocket& socket : sockets) unanswered += socket.Receive(byte) > 0 ? 0 : 1;
  EXPECT_GE(unanswered, 1000u) << "they wait still";
}

// Somebody behind the device's address has read its ClientHello and says it again and again. As a
// device's, these would take its places, and it would wait behind a hundred of its address: half a
// minute and more.
// SECURITY.md S7.
TEST_F(LiveAttackTest, AClientHelloThatIsSaidAgainKeepsItsDeviceFromNothing) {
  Start();
  const std::vector<uint8_t> hello = ClientHelloOf(site_.key(0));
  const std::vector<RawSocket> sockets = ConnectMany(Host(), server_.port, 100);
  for (const RawSocket& socket : sockets) socket.Send(View(hello));
  sockets.front().Wait(kHangsUpMs);  // the server has answered the first ones
  const uint64_t begin_ms = posix::NowMs();
  EXPECT_EQ(TryHandshake(Host(), server_.port, site_.key(0)), Status::kOk);
  EXPECT_LT(posix::NowMs() - begin_ms, 8000u);
}

TEST_F(LiveAttackTest, TheOldestSilentConnectionMakesRoom) {
  Start({"--max-connections", "8"});
  const std::vector<RawSocket> sockets = Attackers(20);
  EXPECT_TRUE(Eventually([&] { return CountClosedByServer(sockets) == 12; }));
  for (size_t i = 0; i < sockets.size(); ++i) {
    EXPECT_EQ(sockets[i].IsClosedByServer(), i < 12) << i;
  }
}

// The limit is small, and a device comes before strangers of the same address, all of them while
// the server looks elsewhere. What it said with its connection counts before it must make room.
TEST_F(LiveAttackTest, AtTheLimitADeviceIsReadBeforeStrangersBehindItPushItOut) {
  Start({"--max-connections", "8"});
  server_.process.Signal(SIGSTOP);
  const RawSocket device(Host(), server_.port);
  const std::vector<uint8_t> hello = ClientHelloOf(site_.key(0));
  device.Send(View(hello));
  const std::vector<RawSocket> strangers = ConnectMany(Host(), server_.port, 40);
  server_.process.Signal(SIGCONT);
  uint8_t byte[1];
  EXPECT_TRUE(Eventually([&] { return device.Receive(byte) > 0 || device.IsClosedByServer(); }));
  EXPECT_FALSE(device.IsClosedByServer());
  EXPECT_TRUE(Eventually([&] { return CountClosedByServer(strangers) >= 33; }));
}

// The server has room for 50 connections, as much as its files allow. It must not spin either.
TEST_F(LiveAttackTest, WithoutFilesForConnectionsTheFleetGoesOn) {
  Start({}, Under("ulimit -n 100"));
  const std::vector<RawSocket> sockets = Attackers(300);
  EXPECT_TRUE(RoundCompletes(site_, server_));
  const double before_s = ProcessorTime(server_);
  posix::SleepMs(2000);
  EXPECT_LT(ProcessorTime(server_) - before_s, 1.0);
}

TEST_F(LiveAttackTest, GarbageIsClosedAtOnce) {
  Start();
  std::mt19937 random(3);
  std::vector<RawSocket> sockets = Attackers(1000);
  for (const RawSocket& socket : sockets) {
    const uint8_t bytes[] = {static_cast<uint8_t>(random() | 32), 3, 3, 0, 5, 1, 2, 3, 4, 5};
    socket.Send(bytes);
  }
  EXPECT_TRUE(Eventually([&] { return CountClosedByServer(sockets) == sockets.size(); }));
}

// A record header alone is a handshake so far. It announces a message that is no ClientHello.
TEST_F(LiveAttackTest, WhatCannotBecomeAClientHelloIsClosedWithoutASession) {
  Start();
  const std::vector<RawSocket> sockets = Attackers(3);
  sockets[0].Send(View(FromHex("1603034000")));          // 16 kB
  sockets[1].Send(View(FromHex("160301005002")));        // a ServerHello
  sockets[2].Send(View(FromHex("16030100500100ffff")));  // longer than its record
  EXPECT_TRUE(Eventually([&] { return CountClosedByServer(sockets) == 3; }, kHangsUpMs));
}

// A handshake costs milliseconds. An address has 64 failures, and then 8 a second.
TEST_F(LiveAttackTest, WrongKeysOfOneAddressAreSlowedDown) {
  Start();
  posix::DeviceKey wrong = site_.key(0);
  wrong.secret.bytes[0] ^= 1;
  const uint64_t begin_ms = posix::NowMs();
  uint64_t failures = 0;
  while (posix::NowMs() < begin_ms + 4000 && failures < 1000) {
    EXPECT_EQ(TryHandshake(kAttackerAddress, server_.port, wrong), Status::kPeerRefused);
    ++failures;
  }
  const uint64_t elapsed_ms = posix::NowMs() - begin_ms;
  EXPECT_LE(failures, 64 + 1 + elapsed_ms / 125);
  EXPECT_TRUE(RoundCompletes(site_, server_));
}

// SECURITY.md S5.
TEST_F(LiveAttackTest, OfSixtyFourSessionsWithOneKeyTheNewestIsAlive) {
  Start();
  std::vector<std::unique_ptr<Caller>> callers;
  for (int i = 0; i < 64; ++i) callers.push_back(Connected(0));
  EXPECT_NE(callers.back()->Hello().kind, Reply::Kind::kError);
  for (size_t i = 0; i + 1 < callers.size(); ++i) {
    EXPECT_TRUE(callers[i]->IsClosedWithin(kHangsUpMs)) << i;
  }
  EXPECT_FALSE(callers.back()->IsClosedWithin(0));
}

// SECURITY.md S10.
TEST_F(LiveAttackTest, AHelloBeforeItsTimeIsAnsweredLate) { ExpectPaceOfHellos(false); }

TEST_F(LiveAttackTest, ConnectingAgainGainsNoHello) { ExpectPaceOfHellos(true); }

// The server answers 2,000 at once, and then 500 a second.
// SECURITY.md S10.
TEST_F(LiveAttackTest, ADrawnDeviceCannotAskWithoutLimit) {
  Start();
  const std::unique_ptr<Caller> caller = SessionThatGets(Reply::Kind::kTrain);
  const uint64_t begin_ms = posix::NowMs();
  uint64_t answers = 0;
  while (posix::NowMs() < begin_ms + 4000) {
    ASSERT_EQ(caller->Hello().kind, Reply::Kind::kTrain);
    ++answers;
  }
  EXPECT_LE(answers, 2000 + 2 + (posix::NowMs() - begin_ms) / 2);
}

// Frames that are no requests are answered at the same pace.
TEST_F(LiveAttackTest, MalformedFramesCannotBeSentWithoutLimit) {
  Start();
  const std::unique_ptr<Caller> caller = Connected(0);
  const uint8_t frame[] = {1, 0, 0xff};
  const uint64_t begin_ms = posix::NowMs();
  uint64_t answers = 0;
  Reply reply;
  while (posix::NowMs() < begin_ms + 4000) {
    ASSERT_EQ(caller->Send(ByteSpan(frame)), Status::kOk);
    ASSERT_EQ(caller->Receive(&reply), Status::kOk);
    ++answers;
  }
  EXPECT_LE(answers, 2000 + 2 + (posix::NowMs() - begin_ms) / 2);
}

// A fleet finishes its job while strangers connect, and the server says what its loop went through.
// SECURITY.md S8.
TEST(LiveAttackFigures, TheServerExportsTheLongestStallOfItsLoop) {
  Site site(2);
  const std::string json = site.Path("results.json");
  Server server =
      site.Serve({"--cohort", "2", "--rounds", "2", "--noise-multiplier", "1", "--json", json});
  const std::vector<RawSocket> sockets = ConnectMany(kAttackerAddress, server.port, 200);
  for (const RawSocket& socket : sockets) socket.Send(View(ClientHelloRecord()));
  std::vector<Process> clients = site.Clients(server.port);
  ASSERT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  const auto results = nlohmann::json::parse(ReadFile(json));
  const nlohmann::json network = results["operator"]["network"];
  EXPECT_GT(network["loop_stall_ms_max"], 0.0);
  EXPECT_LT(network["loop_stall_ms_max"], 30000.0);
  EXPECT_GE(network["accepted"], 202);
  EXPECT_GE(network["failed_handshakes"], 8);
  EXPECT_GT(network["work_ms_max"]["handshake"], 0.0);
}

// OpenSSL offers one suite.
// SECURITY.md S2.
TEST(LiveAttackCipher, ASuiteWithoutAuthenticatedEncryptionIsRefused) {
  Site site(2);
  const auto openssl = [&](const Arguments& arguments) {
    Arguments all = {"/usr/bin/env", "openssl"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return Process(all, site.Path("openssl.out")).Wait();
  };
  if (openssl({"version"}) != 0) GTEST_SKIP() << "there is no openssl";
  const Server server = site.Serve({"--cohort", "2", "--rounds", "3", "--noise-multiplier", "1"});
  Key psk;
  ASSERT_EQ(DeriveTlsKey(site.key(0).secret, &psk), Status::kOk);
  const auto connect = [&](const std::string& suite) {
    return openssl({"s_client", "-connect", Address(server.port), "-tls1_2", "-psk",
                    ToHex(psk.bytes), "-psk_identity", site.key(0).device_id, "-cipher",
                    suite + ":@SECLEVEL=0"});
  };
  for (const char* suite : {"ECDHE-PSK-CHACHA20-POLY1305", "PSK-AES128-GCM-SHA256"}) {
    EXPECT_EQ(connect(suite), 0) << suite << ReadFile(site.Path("openssl.out"));
  }
  for (const char* suite : {"ECDHE-PSK-AES128-CBC-SHA256", "ECDHE-PSK-AES128-CBC-SHA",
                            "PSK-AES128-CBC-SHA256", "PSK-AES128-CBC-SHA"}) {
    EXPECT_NE(connect(suite), 0) << suite;
  }
  EXPECT_TRUE(RoundCompletes(site, server));
}

}  // namespace
}  // namespace sotto::live
