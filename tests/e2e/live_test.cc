// The live system as users run it: `sotto serve`, its store, and sotto-client as the fleet.
#include "e2e/live.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "backends/sql_store.h"
#include "backends/sqlite.h"
#include "sotto/posix/port.h"
#include "unit/sdk/hex.h"
#include "unit/test_folder.h"

namespace sotto::live {
namespace {

using Json = nlohmann::json;

int ReadNumber(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

// A client in fixed point has no momentum. All are drawn in every round.
TEST(LiveTest, AClientWithoutMomentumNeverTrainsInAJobWithItAndTheOthersDo) {
  Site site(3);
  Server server = site.Serve({"--cohort", "3", "--rounds", "2", "--noise-multiplier", "1",
                              "--momentum", "0.5", "--json", site.Path("serve.json")});
  std::vector<Process> clients;
  for (size_t i = 0; i < 3; ++i) {
    const Arguments model = {"--model", i == 0 ? "softmax-784-10-q" : "softmax-784-10"};
    clients.push_back(site.Client(i, server.port, model));
  }
  ASSERT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  ExpectAllDone(site, clients);
  EXPECT_EQ(Count(ReadFile(site.ClientLog(0)), "trained in round"), 0u);
  EXPECT_EQ(Count(ReadFile(site.ClientLog(1)), "trained in round"), 2u);
  EXPECT_EQ(Count(ReadFile(server.log), "; told to wait: 1 device without momentum (1 drawn"), 2u);
  const Json results = Json::parse(ReadFile(site.Path("serve.json")));
  EXPECT_EQ(results["rounds_released"], 2);
  for (const Json& attempt : results["operator"]["attempts"]) {
    EXPECT_EQ(attempt["reported"], 2);
    EXPECT_EQ(attempt["lacking"]["drawn"], 1);
  }
}

// The first device is an old one. All are drawn.
// SECURITY.md S31.
TEST(LiveTest, AJobThatRequiresTheSaltIsForClientsThatMixItIn) {
  Site site(3);
  Server server = site.Serve({"--cohort", "3", "--rounds", "1", "--noise-multiplier", "1",
                              "--require-salt", "--json", site.Path("serve.json")});
  EXPECT_TRUE(Says(ReadFile(server.log), "the salt of newer programs"));
  ASSERT_TRUE(server.WaitForDraw()) << ReadFile(server.log);
  Caller old(server.port, site.key(0));
  ASSERT_EQ(old.Connect(), Status::kOk);
  EXPECT_EQ(old.Hello().kind, Reply::Kind::kWait);
  std::vector<Process> clients;
  for (size_t device = 1; device < 3; ++device) {
    clients.push_back(site.Client(device, server.port));
  }
  ASSERT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  for (Process& client : clients) EXPECT_EQ(client.Wait(), 0);
  EXPECT_TRUE(Says(ReadFile(server.log),
                   "1 device without the salt of newer programs (1 drawn; a "
                   "job without --require-salt suits them)"))
      << ReadFile(server.log);
  const Json results = Json::parse(ReadFile(site.Path("serve.json")));
  EXPECT_EQ(results["job"]["require_salt"], true);
  EXPECT_EQ(results["operator"]["attempts"][0]["reported"], 2);
}

// Both devices have trained, and could not report in time: nobody received.
TEST(LiveTest, AServerThatSleptPastADeadlineTakesTheReportsAfterIt) {
  Site site(2);
  Server server = site.Serve({"--cohort", "2", "--rounds", "1", "--noise-multiplier", "1",
                              "--round-timeout", "3", "--release-allowance", "1", "--poll-interval",
                              "0.25", "--json", site.Path("serve.json")});
  ASSERT_TRUE(server.WaitForDraw()) << ReadFile(server.log);
  Caller callers[] = {{server.port, site.key(0)}, {server.port, site.key(1)}};
  Reply tasks[2];
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(callers[i].Connect(), Status::kOk);
    tasks[i] = callers[i].Hello();
    ASSERT_EQ(tasks[i].kind, Reply::Kind::kTrain);
  }
  server.process.Signal(SIGSTOP);
  posix::SleepMs(4000);
  server.process.Signal(SIGCONT);
  for (int i = 0; i < 2; ++i) {
    const uint8_t nonce[kNonceSize] = {static_cast<uint8_t>(i + 1)};
    const std::vector<uint8_t> zeros(std::max(1U, tasks[i].task.format.padding));
    EXPECT_TRUE(callers[i].Upload(tasks[i].task, nonce, {zeros.data(), zeros.size()}).complete);
  }
  ASSERT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  EXPECT_EQ(Count(ReadFile(server.log), "this server was not run for"), 1U);
  const Json results = Json::parse(ReadFile(site.Path("serve.json")));
  ASSERT_EQ(results["operator"]["attempts"].size(), 1U);
  EXPECT_EQ(results["operator"]["attempts"][0]["reported"], 2);
  EXPECT_EQ(Count(ReadFile(server.log), "ALARM"), 0U) << "the release is not late either";
}

TEST(LiveTest, AJobThatNoDeviceCanTrainSaysSoAndChargesNothing) {
  Site site(2);
  const Server server = site.Serve({"--cohort", "2", "--rounds", "1", "--noise-multiplier", "1",
                                    "--batch-size", "2000", "--round-timeout", "1",
                                    "--poll-interval", "0.2", "--release-allowance", "0.1"});
  Process client = site.Client(0, server.port);
  const auto says = [&](const char* words) { return Count(ReadFile(server.log), words) > 0; };
  EXPECT_TRUE(says("devices need: memory for batches of 2000 samples"));
  EXPECT_TRUE(Eventually([&] { return says("told to wait so far: 1 device without memory"); }));
  EXPECT_TRUE(Eventually([&] { return says("WARNING: round 1 attempt "); }));
  EXPECT_TRUE(says("a job with --batch-size 1024 suits all of them"));
  EXPECT_EQ(server.releases(), 0u);
}

// The offered noise is less than the device's owner requires, or none. The device sends nothing and
// prints the reason.
TEST(LiveTest, AClientLeavesAJobWithTooLittlePrivateNoise) {
  for (const Arguments& job :
       {Arguments{}, {"--trust-mode", "private-noise", "--private-noise-multiplier", "0.3"}}) {
    Site site(2);
    Arguments serve = {"--cohort", "2", "--rounds", "1", "--noise-multiplier", "1"};
    serve.insert(serve.end(), job.begin(), job.end());
    const Server server = site.Serve(serve);
    Process client = site.Client(0, server.port, {"--min-private-noise", "0.31"});
    EXPECT_EQ(client.Wait(), 3);
    EXPECT_EQ(Count(ReadFile(site.ClientLog(0)), "--min-private-noise 0.31"), 1u)
        << ReadFile(site.ClientLog(0));
    EXPECT_EQ(server.releases(), 0u);
  }
}

// Over restarts and jobs: the ledger beside the key has the count, and the owner's limit holds.
TEST(LiveTest, AClientCountsItsPrivateUpdatesOverRestartsAndLeavesAtItsLimit) {
  Site site(2);
  const Arguments job = {"--cohort",
                         "2",
                         "--rounds",
                         "2",
                         "--noise-multiplier",
                         "1",
                         "--trust-mode",
                         "private-noise",
                         "--private-noise-multiplier",
                         "0.5",
                         "--delta",
                         "0.1"};
  const Arguments limit = {"--min-private-noise",   "0.5", "--max-private-updates", "3", "--json",
                           site.Path("client.json")};
  {
    Server server = site.Serve(job);
    std::vector<Process> clients;
    clients.push_back(site.Client(0, server.port, limit));
    clients.push_back(site.Client(1, server.port));
    ExpectAllDone(site, clients);
    ASSERT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  }
  Json results = Json::parse(ReadFile(site.Path("client.json")));
  EXPECT_EQ(results["private_updates"], 2);
  EXPECT_NEAR(results["private_rho"].get<double>(), 4, 1e-4);  // 2 / (2 0.5^2)
  const std::string ledger = site.Path("keys/" + site.key(0).device_id + ".key.updates");
  EXPECT_EQ(ReadFile(ledger).size(), 36u);

  Arguments next = job;
  next.insert(next.end(), {"--new-job"});
  const Server server = site.Serve(next);
  Process other = site.Client(1, server.port);
  Process client = site.Client(0, server.port, limit);
  EXPECT_EQ(client.Wait(), 3) << ReadFile(site.ClientLog(0));
  EXPECT_EQ(
      Count(ReadFile(site.ClientLog(0)),
            "this device has sent 3 updates with private noise, and --max-private-updates is 3"),
      1u)
      << ReadFile(site.ClientLog(0));
  results = Json::parse(ReadFile(site.Path("client.json")));
  EXPECT_EQ(results["outcome"], "refused");
  EXPECT_EQ(results["code"], "kPeerRefused");
  EXPECT_EQ(results["rounds_sent"], 1);
  EXPECT_EQ(results["private_updates"], 3);
}

// The job's data in a store between two processes of the server.
struct Snapshot {
  std::vector<std::pair<int64_t, int64_t>> attempts;  // round and attempt, as they were written
  std::vector<std::vector<float>> releases;           // models
};

Snapshot TakeSnapshot(const std::string& path) {
  Snapshot snapshot;
  {
    server::SqlStore store(path);
    const size_t count = store.Ledger().size();
    for (uint32_t round = 0; round < count; ++round) {
      snapshot.releases.push_back(store.ReadModel(1, round).parameters);
    }
  }
  server::SqliteDatabase database(path);
  server::Statement row(database, "SELECT round, attempt FROM attempts ORDER BY rowid");
  while (row.Step()) snapshot.attempts.emplace_back(row.Integer(0), row.Integer(1));
  return snapshot;
}

template <typename T>
bool Continues(const std::vector<T>& now, const std::vector<T>& before) {
  return now.size() >= before.size() && std::equal(before.begin(), before.end(), now.begin());
}

// "round R attempt A:" of each attempt that may have been announced to devices, and how often it
// was opened.
std::map<std::string, size_t> OpenedAttempts(const std::string& log) {
  std::map<std::string, size_t> opened;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" drawn") == std::string::npos) continue;
    const size_t begin = line.find("round ");
    ++opened[line.substr(begin, line.find(':', begin) - begin)];
  }
  return opened;
}

// Each kill comes a random time, 0 to 0.8 s, after the start of the server (seed 1). Every fifth
// kill comes at the moment of a release.
// SECURITY.md S13.
TEST(LiveKills, KilledAtAnyMomentTheServerLosesNoReleaseAndReusesNoAttempt) {
  constexpr int kKills = 30;
  constexpr size_t kRounds = 16;
  Site site(4);
  const Arguments job = {"--cohort",           "4", "--rounds", std::to_string(kRounds),
                         "--noise-multiplier", "1"};
  Server server = site.Serve(job);
  const uint16_t port = server.port;
  Arguments again = job;
  again.insert(again.end(), {"--listen", Address(port)});
  // Devices that poll take a second a round, so many kills meet one job.
  std::vector<Process> clients = site.Clients(port, {"--hold", "0"});
  std::mt19937 random(1);
  Snapshot before;
  for (int kill = 0; kill < kKills && before.releases.size() < kRounds; ++kill) {
    if (kill % 5 == 4) {
      ASSERT_TRUE(server.WaitForReleases(server.releases() + 1)) << ReadFile(server.log);
    } else {
      posix::SleepMs(static_cast<uint32_t>(random() % 800));
    }
    server.process.Signal(SIGKILL);
    ASSERT_EQ(server.process.Wait(), 128 + SIGKILL) << ReadFile(server.log);
    const size_t announced = server.releases();
    const Snapshot now = TakeSnapshot(site.Path("store"));
    EXPECT_GE(now.releases.size(), announced);
    EXPECT_TRUE(Continues(now.releases, before.releases));
    EXPECT_TRUE(Continues(now.attempts, before.attempts));
    before = now;
    server.process = site.StartServe(again);
  }
  ASSERT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  const Snapshot end = TakeSnapshot(site.Path("store"));
  EXPECT_EQ(end.releases.size(), kRounds);
  EXPECT_TRUE(Continues(end.releases, before.releases));
  EXPECT_TRUE(Continues(end.attempts, before.attempts));
  EXPECT_TRUE(std::is_sorted(end.attempts.begin(), end.attempts.end()));
  EXPECT_EQ(std::set(end.attempts.begin(), end.attempts.end()).size(), end.attempts.size());
  for (const auto& [attempt, times] : OpenedAttempts(ReadFile(server.log))) {
    EXPECT_EQ(times, 1u) << attempt;
  }
}

Arguments SmallJob(const std::string& rounds) {
  return {"--cohort", "2", "--rounds", rounds, "--noise-multiplier", "1"};
}

Arguments With(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(LiveTest, APortInUseEndsTheSecondServerAndIsNamed) {
  Site first(2);
  Site second(2);
  const Server server = first.Serve(SmallJob("3"));
  EXPECT_EQ(second.StartServe(With(SmallJob("3"), {"--listen", Address(server.port)})).Wait(), 1);
  const std::string log = ReadFile(second.Path("serve.log"));
  EXPECT_NE(log.find("port " + std::to_string(server.port)), std::string::npos) << log;
  EXPECT_NE(log.find("address already in use"), std::string::npos) << log;
}

TEST(LiveTest, AStoreInUseEndsTheSecondServerAndIsNamed) {
  Site site(2);
  const Server server = site.Serve(SmallJob("3"));
  const std::string store = site.Path("store");
  EXPECT_EQ(site.Sotto(With({"serve", "--store", store, "--listen", Address(0)}, SmallJob("3")),
                       "second.log")
                .Wait(),
            1);
  const std::string log = ReadFile(site.Path("second.log"));
  EXPECT_NE(log.find(store), std::string::npos) << log;
  EXPECT_NE(log.find("serves it already"), std::string::npos) << log;
  EXPECT_TRUE(RoundCompletes(site, server));
}

// A limit on the size of files stands for a full disk.
TEST(LiveTest, AFullDiskEndsTheServerAndALaterStartGoesOn) {
  constexpr char kFullDisk[] = "ulimit -f 300; exec \"$@\"";
  Site site(2);
  Server server = site.Serve(SmallJob("5"), {"/bin/bash", "-c", kFullDisk, "bash"});
  const uint16_t port = server.port;
  std::vector<Process> clients = site.Clients(port);
  ASSERT_EQ(server.process.Wait(), 1) << ReadFile(server.log);
  EXPECT_NE(ReadFile(server.log).find(site.Path("store") + ": cannot"), std::string::npos)
      << ReadFile(server.log);
  const size_t before = server.releases();
  EXPECT_EQ(TakeSnapshot(site.Path("store")).releases.size(), before);
  EXPECT_LT(before, 5u);
  server = site.Serve(With(SmallJob("5"), {"--listen", Address(port)}));
  EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  EXPECT_EQ(server.releases(), 5u);
  ExpectAllDone(site, clients);
}

// The next clipping bound is part of the release. Each round uses the bound of the last release,
// although the server is killed after each release.
TEST(LiveTest, AnAdaptiveBoundSurvivesTheServer) {
  const Arguments job = With(SmallJob("4"), {"--adaptive-clip", "--clip", "0.1"});
  Site site(2);
  Server server = site.Serve(job);
  const uint16_t port = server.port;
  std::vector<Process> clients = site.Clients(port);
  for (size_t released = 1; released < 4; ++released) {
    ASSERT_TRUE(server.WaitForReleases(released)) << ReadFile(server.log);
    server.process.Signal(SIGKILL);
    server.process.Wait();
    server = site.Serve(With(job, {"--listen", Address(port)}));
  }
  ASSERT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  ExpectAllDone(site, clients);
  server::SqliteDatabase database(site.Path("store"));
  server::Statement row(database,
                        "SELECT clip_l2, next_clip_l2 FROM facts JOIN models "
                        "USING (job, round) ORDER BY round");
  double clip = 0.1F;
  for (int round = 0; round < 4; ++round) {
    ASSERT_TRUE(row.Step());
    EXPECT_EQ(row.Real(0), clip);
    EXPECT_NE(row.Real(1), clip);
    clip = row.Real(1);
  }
}

TEST(LiveTest, AStoppedServerGoesOnWhereItWas) {
  Site site(2);
  Server server = site.Serve(SmallJob("4"));
  const uint16_t port = server.port;
  std::vector<Process> clients = site.Clients(port);
  ASSERT_TRUE(server.WaitForReleases(1));
  server.process.Signal(SIGTERM);
  EXPECT_EQ(server.process.Wait(), 128 + SIGTERM) << ReadFile(server.log);
  EXPECT_NE(ReadFile(server.log).find("a later start goes on here"), std::string::npos);
  const size_t before = server.releases();
  EXPECT_LT(before, 4u);
  server = site.Serve(With(SmallJob("4"), {"--listen", Address(port)}));
  EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  EXPECT_EQ(server.releases(), 4u);
  EXPECT_EQ(TakeSnapshot(site.Path("store")).releases.size(), 4u);
  ExpectAllDone(site, clients);
}

TEST(LiveTest, AJobWithoutDevicesGivesUpInTheEndAndSaysSoAlsoByItsExitStatus) {
  Site site(2);
  const std::string json = site.Path("results.json");
  Server server = site.Serve(
      With(SmallJob("3"), {"--round-timeout", "0.5", "--poll-interval", "0.25", "--json", json}));
  EXPECT_EQ(server.process.Wait(), 3) << ReadFile(server.log);
  EXPECT_NE(ReadFile(server.log).find("given up after 10 attempts"), std::string::npos);
  EXPECT_NE(ReadFile(json).find("given up after 10 attempts"), std::string::npos);
  EXPECT_EQ(TakeSnapshot(site.Path("store")).attempts.size(), 10u);
  EXPECT_EQ(server.releases(), 0u);
}

// One of the two devices is absent at first. The other device is still running when the server
// returns.
TEST(LiveTest, AJobThatGaveUpGoesOnWithTheDevicesThatWereThere) {
  const Arguments job = With(SmallJob("1"), {"--min-devices", "2", "--poll-interval", "0.25"});
  Site site(2);
  Server server = site.Serve(With(job, {"--round-timeout", "0.5"}));
  const uint16_t port = server.port;
  std::vector<Process> clients;
  clients.push_back(site.Client(0, port));
  EXPECT_EQ(server.process.Wait(), 3) << ReadFile(server.log);
  EXPECT_NE(ReadFile(server.log).find("a later start goes on here"), std::string::npos);
  server = site.Serve(With(job, {"--listen", Address(port), "--round-timeout", "60"}));
  clients.push_back(site.Client(1, port));
  EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  EXPECT_NE(ReadFile(server.log).find("released: 2 of 2 reported"), std::string::npos);
  ExpectAllDone(site, clients);
}

TEST(LiveTest, FiveHundredHalfOpenConnectionsDoNotStopTheFleet) {
  ASSERT_TRUE(AllowOpenFiles(1100));
  Site site(2);
  Server server = site.Serve(With(SmallJob("3"), {"--handshake-timeout", "300"}));
  std::vector<posix::TcpStream> idle(500);
  for (posix::TcpStream& stream : idle) {
    ASSERT_EQ(stream.Connect(Host().c_str(), server.port, kPatienceMs), Status::kOk);
  }
  std::vector<Process> clients = site.Clients(server.port);
  ASSERT_TRUE(server.WaitForReleases(2));
  EXPECT_GT(server.open_files(), 500u);
  EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  ExpectAllDone(site, clients);
}

// Prints the figures. SOTTO_LIVE_CLIENTS and SOTTO_LIVE_ROUNDS make the test larger.
TEST(LiveTest, FortyClientsForFourRoundsLeakNothing) {
  const int devices = ReadNumber("SOTTO_LIVE_CLIENTS", 40);
  const int rounds = ReadNumber("SOTTO_LIVE_ROUNDS", 4);
  // AddressSanitizer would keep freed memory.
  const char* sanitizer = std::getenv("ASAN_OPTIONS");
  setenv(
      "ASAN_OPTIONS",
      ((sanitizer == nullptr ? "" : sanitizer + std::string(":")) + "quarantine_size_mb=1").c_str(),
      1);
  Site site(static_cast<uint32_t>(devices));
  Server server =
      site.Serve({"--cohort", std::to_string(devices), "--rounds", std::to_string(rounds),
                  "--noise-multiplier", "1", "--round-timeout", "600"});
  const uint64_t start_ms = posix::NowMs();
  std::vector<Process> clients = site.Clients(server.port);
  ASSERT_TRUE(server.WaitForReleases(2));  // from here on it codes differences between two releases
  const size_t memory = server.memory_bytes();
  const size_t files = server.open_files();
  ASSERT_TRUE(server.WaitForReleases(static_cast<size_t>(rounds)));
  const size_t memory_at_end = server.memory_bytes();
  const size_t files_at_end = server.open_files();
  std::printf("%d clients, %d rounds in %.1f s: memory %.1f to %.1f MB, open files %zu to %zu\n",
              devices, rounds, static_cast<double>(posix::NowMs() - start_ms) / 1000,
              static_cast<double>(memory) / 1e6, static_cast<double>(memory_at_end) / 1e6, files,
              files_at_end);
  EXPECT_LE(memory_at_end, memory + (4 << 20));
  EXPECT_LE(files_at_end, files + 2);
  EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  ExpectAllDone(site, clients);
}

TEST(LiveTest, OpensslReachesTheHandshakeWithTheKeyAndNothingWithoutIt) {
  Site site(2);
  const auto openssl = [&](const Arguments& arguments) {
    return Process(With({"/usr/bin/env", "openssl"}, arguments), site.Path("openssl.out")).Wait();
  };
  if (openssl({"version"}) != 0) GTEST_SKIP() << "there is no openssl";
  const Server server = site.Serve(SmallJob("3"));
  const auto connect = [&](const Key& secret) {
    Key psk;
    EXPECT_EQ(DeriveTlsKey(secret, &psk), Status::kOk);
    return openssl({"s_client", "-connect", Address(server.port), "-tls1_2", "-psk",
                    ToHex(psk.bytes), "-psk_identity", site.key(0).device_id, "-cipher",
                    "PSK:@SECLEVEL=0"});
  };
  EXPECT_EQ(connect(site.key(0).secret), 0) << ReadFile(site.Path("openssl.out"));
  EXPECT_NE(connect(site.key(1).secret), 0);
  EXPECT_TRUE(RoundCompletes(site, server));
}

}  // namespace
}  // namespace sotto::live
