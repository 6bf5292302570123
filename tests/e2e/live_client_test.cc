// sotto-client as users run it: what ends it, what does not, what it says and what it remembers.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <mutex>
#include <sstream>
#include <sys/stat.h>
#include <thread>
#include <utility>

#include "e2e/fake_server.h"
#include "e2e/live.h"
#include "unit/sdk/hex.h"

namespace sotto::live {
namespace {

using namespace std::string_literals;

Arguments SmallJob(const std::string& rounds) {
  return {"--cohort", "2", "--rounds", rounds, "--noise-multiplier", "1"};
}

Arguments With(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(LiveClientTest, AskedTheWrongWayItSaysSo) {
  Site site(1);
  EXPECT_EQ(Process({SOTTO_CLIENT_PROGRAM}, site.Path("usage.log")).Wait(), 2);
  EXPECT_EQ(site.Client(0, 1, {"--seed", "1"}).Wait(), 2);
  EXPECT_EQ(site.Client(0, 1, {"--model", "nonsense"}).Wait(), 2);
}

// Any host that reaches the client can send this answer, so it is no reason to stop.
TEST(LiveClientTest, AnUnknownDeviceAndAWrongKeyAreToldAndTriedAgain) {
  Site site(2);
  const Server server = site.Serve(SmallJob("3"));
  Site strangers(1, {"--prefix", "stranger-"});
  Site namesakes(1);
  for (const Site* other : {&strangers, &namesakes}) {
    Process client = other->Client(0, server.port, {"--give-up", "3"});
    EXPECT_EQ(client.Wait(), 4);
    EXPECT_GE(Count(ReadFile(other->ClientLog(0)), "does not accept the key"), 2u);
  }
}

// TLS alert, fatal, handshake failure.
constexpr uint8_t kForgedAlert[] = {0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28};

void ForgeAlert(int socket) {
  EXPECT_EQ(send(socket, kForgedAlert, sizeof(kForgedAlert), MSG_NOSIGNAL),
            static_cast<ssize_t>(sizeof(kForgedAlert)));
  // Closing at once could take the alert back: bytes that arrive afterwards reset the connection.
  uint8_t bytes[1024];
  while (recv(socket, bytes, sizeof(bytes), 0) > 0) {
  }
}

void ForgeAlertAfterTheClientHello(int socket) {
  uint8_t byte = 0;
  if (recv(socket, &byte, 1, MSG_PEEK) == 1) ForgeAlert(socket);
}

TEST(LiveClientTest, AForgedAlertDoesNotEndItAndTheJobIsDone) {
  for (const auto& forge : {ForgeAlert, ForgeAlertAfterTheClientHello}) {
    Site site(2);
    FakeServer fake(Host(), forge);
    std::vector<Process> clients = site.Clients(fake.port());
    EXPECT_TRUE(Eventually([&] { return fake.connections() >= 4; }));
    fake.Stop();
    Server server = site.Serve(With(SmallJob("1"), {"--listen", Address(fake.port())}));
    ExpectAllDone(site, clients);
    EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
    for (size_t i = 0; i < clients.size(); ++i) {
      EXPECT_GE(Count(ReadFile(site.ClientLog(i)), "does not accept the key"), 1u);
    }
  }
}

// TLS alert, warning, no certificate: TLS ignores it.
void WarnWithoutEnd(int socket) {
  std::vector<uint8_t> warnings;
  for (int i = 0; i < 500; ++i) {
    for (const int byte : {0x15, 3, 3, 0, 2, 1, 0x5a}) {
      warnings.push_back(static_cast<uint8_t>(byte));
    }
  }
  uint8_t hello[4096];
  if (recv(socket, hello, sizeof(hello), 0) <= 0) return;
  while (send(socket, warnings.data(), warnings.size(), MSG_NOSIGNAL) > 0) {
  }
}

TEST(LiveClientTest, EndlessWarningsNeitherHoldItNorKeepItFromGivingUp) {
  const Site site(1);
  FakeServer fake(Host(), WarnWithoutEnd);
  EXPECT_EQ(site.Client(0, fake.port(), {"--give-up", "2"}).Wait(), 4);
  EXPECT_GE(fake.connections(), 2u);
  const std::string log = ReadFile(site.ClientLog(0));
  EXPECT_GE(Count(log, "bytes came that no Sotto server sends, before the server proved"), 2u)
      << log;
}

TEST(LiveClientTest, AServerWithOtherKeysDoesNotEndItAndTheJobIsDone) {
  Site site(2);
  Site other(2);  // of the same names
  Server wrong = other.Serve(SmallJob("1"));
  const uint16_t port = wrong.port;
  std::vector<Process> clients = site.Clients(port);
  for (size_t i = 0; i < clients.size(); ++i) {
    EXPECT_TRUE(Eventually(
        [&] { return Count(ReadFile(site.ClientLog(i)), "does not accept the key") >= 2; }));
  }
  wrong.process.End();
  Server server = site.Serve(With(SmallJob("1"), {"--listen", Address(port)}));
  ExpectAllDone(site, clients);
  EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
}

// Some tries, one line.
TEST(LiveClientTest, WithoutVerboseItSaysOnceThatItCannotConnect) {
  Site site(1);
  const std::string data = site.Path("data/train-images-idx3-ubyte");
  const std::string labels = site.Path("data/train-labels-idx1-ubyte");
  const std::string key = site.Path("keys/" + site.key(0).device_id + ".key");
  Process client({SOTTO_CLIENT_PROGRAM, "--server", Address(1), "--key", key, "--data", data,
                  "--labels", labels, "--give-up", "4"},
                 site.Path("quiet.log"));
  EXPECT_TRUE(Eventually([&] { return Count(ReadFile(site.Path("quiet.log")), "\n") == 2; }))
      << "what its data are, and that it cannot connect";
  EXPECT_EQ(client.Wait(), 4);
  EXPECT_EQ(Count(ReadFile(site.Path("quiet.log")), "\n"), 3u) << "and why it ends";
  EXPECT_EQ(Count(ReadFile(site.Path("quiet.log")), "cannot connect"), 1u)
      << ReadFile(site.Path("quiet.log"));
}

// A crash must not write the key to a core file.
TEST(LiveClientTest, ItCannotDumpItsMemory) {
  Site site(1);
  Process client = site.Client(0, 1);
  EXPECT_TRUE(Eventually([&] { return !ReadFile(site.ClientLog(0)).empty(); }));
  const std::string process = "/proc/" + std::to_string(client.pid());
  std::istringstream limits(ReadFile(process + "/limits"));
  for (std::string line; std::getline(limits, line);) {
    if (Count(line, "Max core file size") == 0) continue;
    EXPECT_EQ(line.substr(line.find_first_of("0123456789u"), 2), "0 ") << line;
  }
  // The files of a process that cannot be dumped belong to root, whatever user runs it.
  struct stat info {};
  ASSERT_EQ(stat((process + "/environ").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 0u);
}

// A server in this process that gives a receipt with its task and takes no update.
class ReceiptServer {
 public:
  explicit ReceiptServer(const posix::DeviceKey& key)
      : server_(Host(), [this, &key](int socket) {
          AnswerInTls(socket, key, [this](const Request& request, Reply* reply) {
            return Answer(request, reply);
          });
        }) {}

  uint16_t port() const { return server_.port(); }
  // The receipt of the n-th Hello, from 0.
  std::string Hello(size_t n) {
    EXPECT_TRUE(Eventually([&] { return hellos() > n; }));
    const std::lock_guard<std::mutex> lock(mutex_);
    return hellos_.size() > n ? hellos_[n] : "none came";
  }

  static constexpr uint8_t kReceipt[] = {0x0a, 0xff, 0x00, 0x27};

 private:
  size_t hellos() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return hellos_.size();
  }

  bool Answer(const Request& request, Reply* reply) {
    static const std::vector<uint8_t> zeros(4096);
    if (request.kind == Request::Kind::kHello) {
      const std::lock_guard<std::mutex> lock(mutex_);
      hellos_.push_back(ToHex(request.receipt));
      reply->kind = Reply::Kind::kTrain;
      reply->task.quantizer_scale = 0.1f;
      reply->receipt = kReceipt;
    } else if (request.kind == Request::Kind::kGetModel) {
      const size_t left = 4 * 7850 - request.offset;
      reply->kind = Reply::Kind::kModelChunk;
      reply->bytes = View(zeros).first(std::min<size_t>(left, MaxChunkBytes(4096)));
    } else {
      return false;
    }
    return true;
  }

  std::mutex mutex_;
  std::vector<std::string> hellos_;
  FakeServer server_;  // its thread uses the others
};

TEST(LiveClientTest, ItReturnsItsReceiptAlsoAfterAKill) {
  Site site(1);
  ReceiptServer server(site.key(0));
  const std::string mark = site.Path("mark");
  Process client = site.Client(0, server.port(), {"--mark", mark});
  EXPECT_EQ(server.Hello(0), "");
  EXPECT_EQ(server.Hello(1), "0aff0027") << "after the server hung up";
  EXPECT_TRUE(Eventually([&] { return Count(ReadFile(mark), "receipt 0aff0027\n") == 1; }));
  client.End();
  ReceiptServer later(site.key(0));
  client = site.Client(0, later.port(), {"--mark", mark});
  EXPECT_EQ(later.Hello(0), "0aff0027");
  client.End();
}

// A device that took a damaged mark for an empty one would forget the receipt by which it finds a
// server that works on an old copy of its store.
TEST(LiveClientTest, ADamagedMarkIsRefusedWithTheRemedy) {
  Site site(1);
  const std::string mark = site.Path("mark");
  {
    ReceiptServer server(site.key(0));
    Process client = site.Client(0, server.port(), {"--mark", mark});
    EXPECT_TRUE(Eventually([&] { return Count(ReadFile(mark), "receipt 0aff0027\n") == 1; }));
    client.End();
  }
  const std::string good = ReadFile(mark);
  std::vector<std::string> damaged = {"", "sotto-mark 1\njob 00\nround 3\nattempt 0\n", good + "\n",
                                      good.substr(0, good.find("receipt"))};
  for (size_t at = 0; at < good.size(); at += 23) {
    damaged.push_back(good);
    damaged.back()[at] = static_cast<char>(damaged.back()[at] ^ 1);
  }
  for (const std::string& text : damaged) {
    std::ofstream(mark) << text;
    EXPECT_EQ(site.Client(0, 1, {"--mark", mark, "--give-up", "0.1"}).Wait(), 2) << text;
    EXPECT_EQ(ReadFile(mark), text) << "it is left as it is";
  }
  EXPECT_GE(Count(ReadFile(site.ClientLog(0)), mark + ": "), damaged.size());
  std::filesystem::remove(mark);
  EXPECT_EQ(site.Client(0, 1, {"--mark", mark, "--give-up", "0.1"}).Wait(), 4);
  EXPECT_EQ(Count(ReadFile(mark), "no round\n"), 1u);
  EXPECT_EQ(site.Client(0, 1, {"--mark", mark, "--give-up", "0.1"}).Wait(), 4) << "its own mark";
}

TEST(LiveClientTest, AServerThatRefusesItsModelOrVersionEndsItWithTheRemedy) {
  const Site site(1);
  for (const auto& [code, remedy] : {std::pair(ErrorCode::kModelMismatch, "with --model"),
                                     std::pair(ErrorCode::kVersion, "install the sotto-client")}) {
    FakeServer server(Host(), [&site, code = code](int socket) {
      AnswerInTls(socket, site.key(0), [code](const Request&, Reply* reply) {
        reply->kind = Reply::Kind::kError;
        reply->code = code;
        reply->final = true;
        return true;
      });
    });
    EXPECT_EQ(site.Client(0, server.port()).Wait(), 3);
    EXPECT_EQ(Count(ReadFile(site.ClientLog(0)), remedy), 1u) << ReadFile(site.ClientLog(0));
  }
}

// A server that knows the device's key and says the same to each of its Hellos.
class StubbornServer {
 public:
  StubbornServer(const posix::DeviceKey& key, const Reply& says)
      : server_(Host(), [this, &key, says](int socket) {
          AnswerInTls(socket, key, [this, &says](const Request&, Reply* reply) {
            *reply = says;
            ++hellos_;
            return true;
          });
        }) {}

  uint16_t port() const { return server_.port(); }
  int hellos() const { return hellos_; }

 private:
  std::atomic<int> hellos_{0};
  FakeServer server_;  // its thread uses the other
};

TEST(LiveClientTest, AServerThatSaysAtOnceDoesNotMakeItSpin) {
  const Site site(1);
  Reply wait;
  wait.kind = Reply::Kind::kWait;
  Reply busy;
  busy.kind = Reply::Kind::kError;
  busy.code = ErrorCode::kBusy;
  for (Reply says : {wait, busy}) {
    for (const uint32_t wait_ms : {0u, 1u}) {
      says.wait_ms = wait_ms;
      StubbornServer server(site.key(0), says);
      Process client = site.Client(0, server.port());
      EXPECT_TRUE(Eventually([&] { return server.hellos() >= 1; }));
      std::this_thread::sleep_for(std::chrono::milliseconds(2500));
      EXPECT_GE(server.hellos(), 2);
      EXPECT_LE(server.hellos(), 3);
      client.End();
    }
  }
}

TEST(LiveClientTest, ATaskWithANumberThatIsNoneIsTheServersFault) {
  const Site site(1);
  Reply task;
  task.kind = Reply::Kind::kTrain;
  task.task.quantizer_scale = 0.1f;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (float TrainingOptions::*number :
       {&TrainingOptions::learning_rate, &TrainingOptions::clip_l2, &TrainingOptions::momentum}) {
    Reply says = task;
    says.task.training.*number = nan;
    StubbornServer server(site.key(0), says);
    Process client = site.Client(0, server.port());
    EXPECT_TRUE(Eventually([&] {
      return Count(ReadFile(site.ClientLog(0)), "the server's task is invalid") == 1;
    })) << ReadFile(site.ClientLog(0));
    EXPECT_EQ(Count(ReadFile(site.ClientLog(0)), "internal error"), 0u);
    client.End();
  }
}

TEST(LiveClientTest, WithoutAServerItGivesUpWhenToldTo) {
  Site site(1);
  EXPECT_EQ(site.Client(0, 1, {"--give-up", "1"}).Wait(), 4);
  EXPECT_NE(ReadFile(site.ClientLog(0)).find("no server at " + Address(1)), std::string::npos);
}

TEST(LiveClientTest, ItTriesUntilTheServerComesUpAndLeavesWhenTheJobIsDone) {
  Site site(2);
  Server server = site.Serve(SmallJob("1"));
  const uint16_t port = server.port;
  server.process.Signal(SIGTERM);
  EXPECT_EQ(server.process.Wait(), 143);
  std::vector<Process> clients = site.Clients(port);
  for (size_t i = 0; i < clients.size(); ++i) {
    EXPECT_TRUE(Eventually([&] { return Count(ReadFile(site.ClientLog(i)), " again in ") >= 2; }));
  }
  server = site.Serve(With(SmallJob("1"), {"--listen", Address(port)}));
  ExpectAllDone(site, clients);
  EXPECT_EQ(server.process.Wait(), 0);
}

TEST(LiveClientTest, ADeviceWithoutHeldOutSamplesIsToldOnceAndTakesPart) {
  Site site(2);
  Server server = site.Serve(With(SmallJob("2"), {"--evaluate-on-devices"}));
  std::vector<Process> clients;
  clients.push_back(site.Client(0, server.port));
  clients.push_back(site.Client(1, server.port, {"--held-out", "0.5"}));
  ExpectAllDone(site, clients);
  EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  const std::string told = "this device has none, so it counts as 1/2: --held-out is 0";
  EXPECT_EQ(Count(ReadFile(site.ClientLog(0)), told), 1u) << ReadFile(site.ClientLog(0));
  EXPECT_EQ(Count(ReadFile(site.ClientLog(1)), "this device has none"), 0u);
  EXPECT_EQ(Count(ReadFile(server.log), " on the devices before it"), 2u);
  EXPECT_EQ(site.Sotto({"account", "ledger", site.Path("store")}, "ledger.log").Wait(), 0);
  EXPECT_EQ(Count(ReadFile(site.Path("ledger.log")), "accuracies of devices are beside"), 1u);
}

TEST(LiveClientTest, AJobWithoutPrivacyIsRefusedUnlessItIsAllowed) {
  Site site(2);
  Server server = site.Serve({"--cohort", "2", "--rounds", "2", "--epsilon", "inf"});
  EXPECT_NE(ReadFile(server.log).find("NO PRIVACY"), std::string::npos);
  for (Process& client : site.Clients(server.port)) EXPECT_EQ(client.Wait(), 3);
  EXPECT_NE(ReadFile(site.ClientLog(0)).find("without privacy"), std::string::npos);
  EXPECT_EQ(server.releases(), 0u);
  std::vector<Process> clients = site.Clients(server.port, {"--allow-no-privacy"});
  ExpectAllDone(site, clients);
  EXPECT_EQ(server.process.Wait(), 0);
}

}  // namespace
}  // namespace sotto::live
