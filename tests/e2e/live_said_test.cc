// What sotto-client says and leaves behind: its events in their order, JSON lines, results, the
// model, and its end by a signal.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <sstream>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "e2e/fake_server.h"
#include "e2e/live.h"
#include "sotto/model/model_difference.h"
#include "sotto/model/model_file.h"
#include "sotto/model/model_text.h"
#include "sotto/models.h"

namespace sotto::live {
namespace {

using Json = nlohmann::json;

constexpr size_t kModelBytes = 4 * 7850;

// Rounds that wait for both devices, or for an hour.
Arguments SlowJob(const Arguments& more = {}) {
  Arguments job = {"--cohort",           "2",   "--rounds",        "2",
                   "--noise-multiplier", "50",  "--round-timeout", "3600",
                   "--poll-interval",    "600", "--delta",         "0.1"};
  job.insert(job.end(), more.begin(), more.end());
  return job;
}

// The lines of a log in JSON.
std::vector<Json> Lines(const std::string& path) {
  std::vector<Json> lines;
  std::istringstream log(ReadFile(path));
  for (std::string line; std::getline(log, line);) {
    lines.push_back(Json::parse(line, nullptr, false));
    EXPECT_TRUE(lines.back().is_object()) << line;
  }
  return lines;
}

std::vector<std::string> Names(const std::vector<Json>& lines) {
  std::vector<std::string> names;
  for (const Json& line : lines) names.push_back(line.value("event", ""));
  return names;
}

Json Results(const Site& site) {
  return Json::parse(ReadFile(site.Path("results.json")), nullptr, false);
}

Arguments Outputs(const Site& site, const Arguments& more = {}) {
  Arguments all = {"--json", site.Path("results.json"), "--model-out", site.Path("model.f32")};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(LiveSaidTest, ARoundIsThreeLinesInTheirOrder) {
  Site site(2);
  Server server =
      site.Serve({"--cohort", "2", "--rounds", "2", "--noise-multiplier", "1", "--delta", "0.1"});
  std::vector<Process> clients =
      site.Clients(server.port, {"--log", "json", "--log-level", "info"});
  ExpectAllDone(site, clients);
  EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  const std::vector<std::string> round = {"drawn", "trained", "sent"};
  std::vector<std::string> expected = {"data", "connected"};
  for (int i = 0; i < 2; ++i) expected.insert(expected.end(), round.begin(), round.end());
  expected.emplace_back("done");
  for (size_t i = 0; i < 2; ++i) {
    const std::vector<Json> lines = Lines(site.ClientLog(i));
    std::vector<std::string> names = Names(lines);
    const auto is_waiting = [](const std::string& name) { return name == "waiting"; };
    EXPECT_LE(std::count_if(names.begin(), names.end(), is_waiting), 1);
    names.erase(std::remove_if(names.begin(), names.end(), is_waiting), names.end());
    EXPECT_EQ(names, expected) << ReadFile(site.ClientLog(i));
    for (const Json& line : lines) {
      EXPECT_EQ(line["device"], site.key(i).device_id);
      EXPECT_EQ(line["level"], "info");
      const std::string time = line["time"];
      EXPECT_EQ(time.size(), 24u) << time;
      EXPECT_EQ(time[10], 'T');
      EXPECT_EQ(time.back(), 'Z');
      EXPECT_EQ(line.value("samples", Site::kSamples), Site::kSamples);
      EXPECT_EQ(line.value("steps", 5), 5);
      EXPECT_GT(line.value("bytes", 1), 0);
    }
  }
}

TEST(LiveSaidTest, TheResultsOfAJobThatIsDoneAreTheDevicesOwn) {
  Site site(2);
  std::ofstream(site.Path("results.json")) << "old";
  ASSERT_EQ(chmod(site.Path("results.json").c_str(), 0644), 0);
  Server server =
      site.Serve({"--cohort", "2", "--rounds", "2", "--noise-multiplier", "1", "--delta", "0.1"});
  std::vector<Process> clients;
  clients.push_back(site.Client(0, server.port, Outputs(site)));
  clients.push_back(site.Client(1, server.port));
  ExpectAllDone(site, clients);
  const Json results = Results(site);
  EXPECT_EQ(results["outcome"], "done");
  EXPECT_TRUE(results["reason"].is_null());
  EXPECT_EQ(results["server"], Address(server.port));
  EXPECT_EQ(results["device"], site.key(0).device_id);
  EXPECT_EQ(results["model"], "softmax-784-10");
  for (const char* name : {"rounds_drawn", "rounds_trained", "rounds_sent", "last_round"}) {
    EXPECT_EQ(results[name], 2) << name;
  }
  EXPECT_EQ(results["rounds_given_up"], 0);
  EXPECT_GT(results["bytes_sent"], 0);
  EXPECT_EQ(ReadFile(site.Path("model.f32")).size(), kModelBytes);
  for (const char* name : {"results.json", "model.f32"}) {
    struct stat info {};
    ASSERT_EQ(stat(site.Path(name).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u) << name;
  }
}

// systemd says which stream is the journal's.
TEST(LiveSaidTest, TheJournalGetsLevelsAndNoTimes) {
  const Site site(1);
  const std::string log = site.ClientLog(0);
  std::ofstream(log).flush();
  struct stat info {};
  ASSERT_EQ(stat(log.c_str(), &info), 0);
  const std::string name = site.key(0).device_id;
  for (const ino_t inode : {info.st_ino, info.st_ino + 1}) {
    const std::string stream = std::to_string(info.st_dev) + ":" + std::to_string(inode);
    EXPECT_EQ(site.Client(0, 1, {"--log-level", "info", "--give-up", "0.4"},
                          {"/usr/bin/env", "JOURNAL_STREAM=" + stream, SOTTO_CLIENT_PROGRAM})
                  .Wait(),
              4);
    EXPECT_EQ(Count(ReadFile(log), "<4>" + name + ": tries "), 1u) << ReadFile(log);
    EXPECT_EQ(Count(ReadFile(log), "<3>" + name + ": no server"), 1u) << ReadFile(log);
  }
  EXPECT_EQ(Count(ReadFile(log), "Z " + name + ": tries "), 1u) << "another stream";
}

// Ends a client by a signal, and expects that it leaves results, and says how it ended.
void ExpectStopped(const Site& site, Process& client, int signal = SIGTERM) {
  client.Signal(signal);
  EXPECT_EQ(client.Wait(10000), 128 + signal) << ReadFile(site.ClientLog(0));
  const std::string reason = signal == SIGINT ? "stopped by SIGINT" : "stopped by SIGTERM";
  const Json results = Results(site);
  EXPECT_EQ(results["outcome"], "stopped") << ReadFile(site.ClientLog(0));
  EXPECT_EQ(results["reason"], reason);
  EXPECT_EQ(Count(ReadFile(site.ClientLog(0)), reason), 1u);
  EXPECT_EQ(Count(ReadFile(site.ClientLog(0)), " again in "), 0u) << "the end is no failure";
}

void AwaitSaid(const Site& site, const std::string& text) {
  EXPECT_TRUE(Eventually([&] { return Count(ReadFile(site.ClientLog(0)), text) > 0; }))
      << text << ": not in\n"
      << ReadFile(site.ClientLog(0));
}

// The other device never comes, so there is no work after the first one's update.
TEST(LiveSaidTest, ASignalEndsItInAHeldHelloWithTheModelThatItDownloaded) {
  Site site(2);
  std::string initial;
  for (size_t i = 0; i < kModelBytes; ++i) initial += i % 4 == 3 ? '\x3c' : static_cast<char>(i);
  std::ofstream(site.Path("initial.f32"), std::ios::binary) << initial;
  Server server = site.Serve(SlowJob({"--initial-model", site.Path("initial.f32")}));
  Process client = site.Client(0, server.port, Outputs(site, {"--hold", "50"}));
  AwaitSaid(site, "sent its update");
  AwaitSaid(site, "waiting to be drawn");
  ExpectStopped(site, client);
  EXPECT_EQ(Results(site)["rounds_sent"], 1);
  EXPECT_EQ(Results(site)["last_round"], 1);
  EXPECT_TRUE(ReadFile(site.Path("model.f32")) == initial) << "not the model of the job's start";
  const std::string left = site.key(0).device_id + ": left while its answer was held";
  EXPECT_TRUE(Eventually([&] { return Count(ReadFile(server.log), left) == 1; }));
}

TEST(LiveSaidTest, ASignalEndsItBetweenTwoPolls) {
  Site site(2);
  Server server = site.Serve(SlowJob());
  Process client = site.Client(0, server.port, Outputs(site, {"--hold", "0"}));
  AwaitSaid(site, "waiting to be drawn");
  ExpectStopped(site, client, SIGINT);
}

TEST(LiveSaidTest, ASignalEndsItAmidATraining) {
  Site site(2);
  Server server =
      site.Serve(SlowJob({"--local-epochs", "65535", "--batch-size", "1", "--learning-rate", "0"}));
  Process client = site.Client(0, server.port, Outputs(site));
  AwaitSaid(site, "has the model of round 1");
  ExpectStopped(site, client);
  const Json results = Results(site);
  EXPECT_EQ(results["rounds_drawn"], 1);
  EXPECT_EQ(results["rounds_trained"], 0);
  EXPECT_EQ(ReadFile(site.Path("model.f32")).size(), kModelBytes);
}

TEST(LiveSaidTest, ASignalEndsTheLinkByCloseNotify) {
  Site site(1);
  std::atomic<bool> said_goodbye{false};
  FakeServer server(Host(), [&](int socket) {
    said_goodbye = AnswerInTls(socket, site.key(0), [](const Request&, Reply* reply) {
      reply->kind = Reply::Kind::kWait;
      reply->wait_ms = 600'000;
      return true;
    });
  });
  Process client = site.Client(0, server.port(), Outputs(site));
  AwaitSaid(site, "waiting to be drawn");
  ExpectStopped(site, client);
  EXPECT_TRUE(Eventually([&] { return said_goodbye.load(); }));
}

// And leaves no model behind: it has seen none.
TEST(LiveSaidTest, ASignalEndsItBeforeTheServerHasAnswered) {
  Site site(1);
  FakeServer silent(Host(), [](int socket) {
    uint8_t bytes[4096];
    while (recv(socket, bytes, sizeof(bytes), 0) > 0) {
    }
  });
  Process client = site.Client(0, silent.port(), Outputs(site));
  AwaitSaid(site, "connects to");
  EXPECT_EQ(client.Wait(300), -1);
  ExpectStopped(site, client);
  EXPECT_EQ(ReadFile(site.Path("model.f32")), "");
  EXPECT_EQ(Results(site)["rounds_drawn"], 0);
}

// A port whose queue of connections is full: the system answers no further one.
class FullPort {
 public:
  FullPort() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    EXPECT_EQ(inet_pton(AF_INET, Host().c_str(), &address.sin_addr), 1);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof(address);
    for (int& descriptor : sockets_) descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    EXPECT_EQ(bind(sockets_[0], generic, size), 0);
    EXPECT_EQ(listen(sockets_[0], 0), 0);
    EXPECT_EQ(getsockname(sockets_[0], generic, &size), 0);
    port_ = ntohs(address.sin_port);
    for (size_t i = 1; i < std::size(sockets_); ++i) (void)connect(sockets_[i], generic, size);
  }
  ~FullPort() {
    for (const int descriptor : sockets_) close(descriptor);
  }
  FullPort(const FullPort&) = delete;
  FullPort& operator=(const FullPort&) = delete;

  uint16_t port() const { return port_; }

 private:
  int sockets_[4] = {};
  uint16_t port_ = 0;
};

TEST(LiveSaidTest, ASignalEndsItAmidConnecting) {
  Site site(1);
  const FullPort full;
  Process client = site.Client(0, full.port(), Outputs(site));
  AwaitSaid(site, "connects to");
  EXPECT_EQ(client.Wait(300), -1);
  ExpectStopped(site, client);
}

TEST(LiveSaidTest, ASignalEndsItInAPauseBeforeTheNextTry) {
  Site site(1);
  Process client = site.Client(0, 1, Outputs(site));
  EXPECT_TRUE(Eventually([&] { return Count(ReadFile(site.ClientLog(0)), " again in ") >= 4; }));
  client.Signal(SIGTERM);
  EXPECT_EQ(client.Wait(10000), 143);
  EXPECT_EQ(Results(site)["outcome"], "stopped");
}

TEST(LiveSaidTest, GivingUpAndBeingRefusedLeaveResults) {
  Site site(1);
  EXPECT_EQ(site.Client(0, 1, Outputs(site, {"--give-up", "0.5"})).Wait(), 4);
  EXPECT_EQ(Results(site)["outcome"], "no-server");
  const Server server = site.Serve({"--cohort", "1", "--rounds", "1", "--epsilon", "inf"});
  EXPECT_EQ(site.Client(0, server.port, Outputs(site)).Wait(), 3);
  EXPECT_EQ(Results(site)["outcome"], "refused");
  EXPECT_EQ(Results(site)["code"], "kPeerRefused");
  EXPECT_EQ(Count(Results(site)["reason"], "without privacy"), 1u);
}

TEST(LiveSaidTest, ADeviceOfAnotherModelAndItsServerNameBothModels) {
  Site site(2);
  const Server server =
      site.Serve({"--cohort", "2", "--rounds", "1", "--noise-multiplier", "1", "--model", "lenet"});
  EXPECT_EQ(site.Client(0, server.port).Wait(), 3);
  const std::string own = "softmax-784-10 (digest 78f83a5a)";
  EXPECT_EQ(Count(ReadFile(site.ClientLog(0)),
                  "this device has model " + own +
                      ", the job trains lenet; name the job's model with --model lenet, or take "
                      "it with --accept-model "),
            1u)
      << ReadFile(site.ClientLog(0));
  EXPECT_EQ(Count(ReadFile(server.log), site.key(0).device_id + ": refused, it has " + own +
                                            ", and the job trains lenet (digest "),
            1u)
      << ReadFile(server.log);
}

// A net for the samples of this test.
std::string WriteNet(const Site& site) {
  std::ofstream(site.Path("net.toml")) << "name = \"net\"\ninput = [784]\n[[layer]]\nkind = "
                                          "\"dense\"\noutputs = 8\n[[layer]]\nkind = \"relu\"\n"
                                          "[[layer]]\nkind = \"dense\"\noutputs = 10\n";
  return site.Path("net.toml");
}

// A device without a model whose file lacks the column of its labels.
Process ClientOfOtherColumns(const Site& site, size_t device, uint16_t port) {
  std::ofstream(site.Path("rows.csv")) << "x,y,activity\n1,2,walk\n3,4,run\n";
  return site.Start(SOTTO_CLIENT_PROGRAM,
                    {"-v", "--server", Address(port), "--key",
                     site.Path("keys/" + site.key(device).device_id + ".key"), "--data",
                     site.Path("rows.csv:label=class"), "--accept-model", "any"},
                    "client-" + std::to_string(device) + ".log");
}

// The sizes of the updates that a device has sent.
std::vector<uint64_t> SizesSent(const std::string& log) {
  std::vector<uint64_t> sizes;
  const std::string before = "sent its update of round ";
  for (size_t at = log.find(before); at != std::string::npos; at = log.find(before, at + 1)) {
    sizes.push_back(std::stoull(log.substr(log.find(": ", at) + 2)));
  }
  return sizes;
}

// Devices without a model or with another one; the samples of the last one do not suit the job's,
// of which nobody else learns. All are still there after the job.
TEST(LiveSaidTest, DevicesTakeTheJobsModelIfTheirOwnersAllowItAndStayWhenTheJobIsOver) {
  Site site(3);
  const std::string net = WriteNet(site);
  Server server = site.Serve({"--cohort", "3", "--rounds", "2", "--noise-multiplier", "50",
                              "--delta", "0.1", "--local-epochs", "500", "--model", net,
                              "--one-length", "on", "--evaluate-on-devices"});
  const std::string digest = posix::ModelDigestHex(*posix::ReadModelFile(net));
  std::vector<Process> clients;
  clients.push_back(
      site.StayingClient(0, server.port,
                         {"--accept-model", "any", "--round-seconds", "0.001", "--json",
                          site.Path("results.json"), "--model-out", site.Path("model.f32")}));
  clients.push_back(
      site.StayingClient(1, server.port, {"--model", "lenet", "--accept-model", "00," + digest}));
  EXPECT_EQ(clients[1].Wait(), 2) << "digests have 64 digits";
  clients[1] = site.StayingClient(1, server.port, {"--model", "lenet", "--accept-model", digest});
  clients.push_back(ClientOfOtherColumns(site, 2, server.port));
  EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  EXPECT_EQ(server.releases(), 2u);
  EXPECT_EQ(Count(ReadFile(server.log), "start it with that model"), 0u) << ReadFile(server.log);
  for (size_t i = 0; i < 3; ++i) {
    const std::string log = site.ClientLog(i);
    EXPECT_TRUE(Eventually([&] { return Count(ReadFile(log), "waiting for the next job") == 1; }));
    clients[i].Signal(SIGTERM);
    EXPECT_EQ(clients[i].Wait(), 143);
    EXPECT_EQ(Count(ReadFile(log), "takes the job's model net (digest " + digest.substr(0, 8)), 1u)
        << ReadFile(log);
    EXPECT_EQ(Count(ReadFile(log), "sent its update"), 2u) << ReadFile(log);
    EXPECT_EQ(SizesSent(ReadFile(log)), SizesSent(ReadFile(site.ClientLog(0))));
    EXPECT_EQ(Count(ReadFile(log), "do not suit"), i == 2 ? 1u : 0u) << ReadFile(log);
    EXPECT_EQ(Count(ReadFile(log), "takes no part"), 0u) << ReadFile(log);
  }
  EXPECT_EQ(Count(ReadFile(site.ClientLog(2)), "label=class: there is no such column"), 1u)
      << ReadFile(site.ClientLog(2));
  EXPECT_EQ(Count(ReadFile(server.log), site.key(2).device_id),
            Count(ReadFile(server.log), site.key(0).device_id))
      << ReadFile(server.log);
  EXPECT_EQ(Results(site)["model_digest"], digest);
  EXPECT_EQ(ReadFile(site.Path("model.f32")).size(), 4u * (785 * 8 + 9 * 10));
  EXPECT_EQ(Count(ReadFile(site.ClientLog(0)), "not finished after --round-seconds 0.001"), 2u);
  EXPECT_EQ(Count(ReadFile(site.ClientLog(1)), "--round-seconds"), 0u);
}

TEST(LiveSaidTest, ADeviceOfAnotherModelWaitsAndBothEndsSayWhatDiffers) {
  Site site(2);
  const std::string net = WriteNet(site);
  const Server server = site.Serve({"--cohort", "2", "--rounds", "1", "--noise-multiplier", "50",
                                    "--delta", "0.1", "--model", net});
  const std::string difference =
      posix::DifferenceOf(*FindModel("softmax-784-10"), *posix::ReadModelFile(net));
  Process staying = site.StayingClient(0, server.port);
  EXPECT_TRUE(Eventually([&] { return Count(ReadFile(server.log), difference) == 1; }))
      << difference << ReadFile(server.log);
  EXPECT_TRUE(Eventually([&] {  // the device tells the server first
    return Count(ReadFile(site.ClientLog(0)), "takes no part in the job") == 1;
  })) << ReadFile(site.ClientLog(0));
  EXPECT_EQ(Count(ReadFile(site.ClientLog(0)), difference), 1u) << ReadFile(site.ClientLog(0));
  EXPECT_EQ(staying.Wait(0), -1) << "it waits for another job";
  EXPECT_EQ(site.Client(1, server.port, {"--accept-model", std::string(64, '0')}).Wait(), 3);
  EXPECT_EQ(Count(ReadFile(site.ClientLog(1)), "--accept-model does not list"), 1u);
  EXPECT_TRUE(Eventually([&] {
    return Count(ReadFile(server.log), "its owner does not accept this model") == 1;
  })) << ReadFile(server.log);
  staying.Signal(SIGTERM);
  EXPECT_EQ(staying.Wait(), 143);
}

TEST(LiveSaidTest, AHostileDescriptionOfAModelIsRefused) {
  const Site site(1);
  for (const auto& [size, reason] :
       {std::pair(1000u, "description of its model is wrong"),
        std::pair(std::numeric_limits<uint32_t>::max(), "see --model-memory")}) {
    FakeServer server(Host(), [&site, size = size](int socket) {
      AnswerInTls(socket, site.key(0), [size](const Request& request, Reply* reply) {
        static constexpr uint8_t kBytes[100] = {'s', 'o', 't', 't', 'o'};
        const bool asks = request.kind == Request::Kind::kGetDescription;
        reply->kind = asks ? Reply::Kind::kDescriptionChunk : Reply::Kind::kError;
        reply->code = ErrorCode::kModelMismatch;
        reply->final = true;
        reply->size = size;
        if (asks) reply->bytes = kBytes;
        return true;
      });
    });
    EXPECT_EQ(site.Client(0, server.port(), {"--accept-model", "any"}).Wait(), 3);
    EXPECT_EQ(Count(ReadFile(site.ClientLog(0)), reason), 1u) << ReadFile(site.ClientLog(0));
  }
}

// The server of this test has the device's key, and writes what it likes into a name.
TEST(LiveSaidTest, AHostileNameOfAModelIsShownAndDoesNothing) {
  const Site site(1);
  FakeServer server(Host(), [&site](int socket) {
    AnswerInTls(socket, site.key(0), [](const Request&, Reply* reply) {
      static constexpr uint8_t kName[] = {0x1b, '[', '2', 'J', '\n', 'x', 0xff};
      reply->kind = Reply::Kind::kError;
      reply->code = ErrorCode::kModelMismatch;
      reply->final = true;
      reply->bytes = kName;
      return true;
    });
  });
  EXPECT_EQ(site.Client(0, server.port(), {"--log", "json", "--log-level", "error"}).Wait(), 3);
  const std::vector<Json> lines = Lines(site.ClientLog(0));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["event"], "refused");
  EXPECT_EQ(Count(lines[0]["reason"], "the job trains \x1b[2J\nx\xef\xbf\xbd;"), 1u);
  EXPECT_EQ(site.Client(0, server.port(), {"--log-level", "error"}).Wait(), 3);
  EXPECT_EQ(Count(ReadFile(site.ClientLog(0)), "trains \\x1b[2J\\x0ax\\xff;"), 1u);
}

}  // namespace
}  // namespace sotto::live
