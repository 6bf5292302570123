// Tests of a fleet that changes while a real server runs, and of the other commands beside it.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "backends/open_store.h"
#include "e2e/live.h"
#include "sotto/posix/port.h"
#include "store/history.h"

namespace sotto::live {
namespace {

// A job that runs until a test has seen enough.
Arguments LongJob(const Arguments& more = {}) {
  Arguments job = {"--cohort",           "2",  "--rounds", "10000",
                   "--noise-multiplier", "50", "--delta",  "0.1"};
  job.insert(job.end(), more.begin(), more.end());
  return job;
}

// Runs `sotto ARGUMENTS` to its end. Returns what it printed.
std::string Sotto(const Site& site, const Arguments& arguments, int expected = 0) {
  const std::string log = site.Path("command.log");
  std::remove(log.c_str());
  Process process = site.Sotto(arguments, "command.log");
  EXPECT_EQ(process.Wait(), expected) << ReadFile(log);
  EXPECT_FALSE(Says(ReadFile(log), "locked")) << ReadFile(log);
  return ReadFile(log);
}

// A client with a key that the site did not make.
Process ClientWith(const Site& site, const Server& server, const std::string& key,
                   const std::string& log) {
  return {{SOTTO_CLIENT_PROGRAM, "-v", "--server", Address(server.port), "--key", key, "--data",
           site.Path("data/train-images-idx3-ubyte"), "--labels",
           site.Path("data/train-labels-idx1-ubyte"), "--samples", "0:8"},
          site.Path(log)};
}

void Stop(Server& server) {
  server.process.Signal(SIGTERM);
  EXPECT_EQ(server.process.Wait(), 128 + SIGTERM) << ReadFile(server.log);
}

bool LogSays(const Server& server, const std::string& words) {
  return Eventually([&] { return Says(ReadFile(server.log), words); });
}

Process ClientWithKit(const Site& site, const std::string& kit) {
  return {{SOTTO_CLIENT_PROGRAM, "--kit", site.Path("kits/" + kit)}, site.Path(kit + ".log")};
}

bool KitSays(const Site& site, const std::string& kit, const std::string& words) {
  return Eventually([&] { return Says(ReadFile(site.Path(kit + ".log")), words); });
}

TEST(LiveFleetTest, AKitIsAllThatADeviceNeedsAlsoForANewKey) {
  Site site(2);
  const std::string store = site.Path("store");
  Server server = site.Serve(LongJob());
  std::vector<Process> clients = site.Clients(server.port);
  ASSERT_TRUE(server.WaitForReleases(1)) << ReadFile(server.log);
  const std::string added =
      Sotto(site, {"keys", "new", store, "pi-1", "pi-2", "pi-3", "--kits", site.Path("kits"),
                   "--server", Address(server.port), "--data", "../data/train-images-idx3-ubyte",
                   "--labels", "../data/train-labels-idx1-ubyte", "--samples", "0:8"});
  EXPECT_TRUE(Says(added, "3 new devices, pi-1, pi-2, pi-3")) << added;
  EXPECT_TRUE(Says(added, "keeps its name, and gets a new key from `sotto keys rotate`")) << added;
  for (const char* kit : {"pi-1.sotto", "pi-2.sotto", "pi-3.sotto"}) {
    clients.push_back(ClientWithKit(site, kit));
  }
  for (const char* kit : {"pi-1.sotto", "pi-2.sotto", "pi-3.sotto"}) {
    EXPECT_TRUE(KitSays(site, kit, "sent its update")) << ReadFile(site.Path(kit) + ".log");
  }
  EXPECT_TRUE(std::filesystem::exists(site.Path("kits/pi-1.mark")));
  // The new kit has all that the former one had.
  Sotto(site, {"keys", "rotate", store, "pi-2", "--kit", site.Path("kits/new.sotto")});
  EXPECT_TRUE(KitSays(site, "pi-2.sotto", "this key was replaced"))
      << ReadFile(site.Path("pi-2.sotto.log"));
  clients[3].End();
  clients.push_back(ClientWithKit(site, "new.sotto"));
  EXPECT_TRUE(KitSays(site, "new.sotto", "sent its update"))
      << ReadFile(site.Path("new.sotto.log"));
  clients.clear();
  Stop(server);
}

// SECURITY.md S23.
TEST(LiveFleetTest, EveryCommandWorksBesideAServer) {
  Site site(2);
  const std::string store = site.Path("store");
  Server server = site.Serve(LongJob());
  std::vector<Process> clients = site.Clients(server.port);
  ASSERT_TRUE(server.WaitForReleases(2)) << ReadFile(server.log);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(Says(Sotto(site, {"keys", "list", store}), "eligible"));
    EXPECT_TRUE(Says(Sotto(site, {"account", "ledger", store}), "epsilon"));
    const std::string status = Sotto(site, {"status", store, "--json", site.Path("status.json")});
    EXPECT_TRUE(Says(status, "process " + std::to_string(server.process.pid()))) << status;
    EXPECT_TRUE(Says(Sotto(site, {"status", store, "--verify"}), "each as it was written"));
    const std::string copy = site.Path("copy-" + std::to_string(i));
    EXPECT_TRUE(Says(Sotto(site, {"store", "backup", store, copy}), "each as it was written"));
    EXPECT_GE(server::InspectStore(copy).releases, 2);
  }
  const auto status = nlohmann::json::parse(ReadFile(site.Path("status.json")), nullptr, false);
  EXPECT_EQ(status["server_process"], std::to_string(server.process.pid()));
  EXPECT_EQ(status["job"]["over"], false);
  EXPECT_GE(status["job"]["rounds_released"], 2);
  EXPECT_TRUE(server.WaitForReleases(server.releases() + 2)) << ReadFile(server.log);
  const std::string second =
      Sotto(site, {"serve", "--store", store, "--listen", "127.0.0.1:0", "--cohort", "2"}, 1);
  EXPECT_TRUE(Says(second, "serves it already")) << second;
  Stop(server);
  EXPECT_TRUE(Says(Sotto(site, {"status", store}), "none runs"));
}

// SECURITY.md S3.
TEST(LiveFleetTest, DevicesJoinAndLeaveWhileTheJobGoesOn) {
  Site site(3);
  const std::string store = site.Path("store");
  // Nobody has the key of the device that joins, so its rounds end at their deadline.
  Server server = site.Serve(LongJob({"--round-timeout", "2"}));
  std::vector<Process> clients = site.Clients(server.port);
  ASSERT_TRUE(server.WaitForReleases(1)) << ReadFile(server.log);
  Sotto(site, {"keys", "new", store, "--id", "late", "--out", site.Path("late")});
  ASSERT_TRUE(LogSays(server, "device late joined; 4 devices eligible")) << ReadFile(server.log);
  Sotto(site, {"keys", "revoke", store, site.key(0).device_id});
  ASSERT_TRUE(LogSays(server, site.key(0).device_id + " was revoked; 3 devices eligible"))
      << ReadFile(server.log);
  ASSERT_TRUE(LogSays(server, site.key(0).device_id + ": was revoked")) << "its connection ends";
  ASSERT_TRUE(server.WaitForReleases(server.releases() + 2)) << ReadFile(server.log);
  Stop(server);
  const std::string ledger = Sotto(site, {"account", "ledger", store});
  EXPECT_TRUE(Says(ledger, "2/3 ")) << ledger;
  EXPECT_TRUE(Says(ledger, "2/4 ") || Says(ledger, "2/3 ")) << ledger;
  EXPECT_FALSE(Says(ledger, "rdp-filter")) << "charged as planned\n" << ledger;
}

TEST(LiveFleetTest, AServerWaitsForDevicesAndGoesOnWithNewOnes) {
  Site site(2);
  const std::string store = site.Path("store");
  Server server = site.Serve(LongJob());
  std::vector<Process> clients = site.Clients(server.port);
  ASSERT_TRUE(server.WaitForReleases(1)) << ReadFile(server.log);
  Sotto(site, {"keys", "revoke", store, site.key(0).device_id});
  ASSERT_TRUE(LogSays(server, "waits: 1 device of the 2")) << ReadFile(server.log);
  Stop(server);
  server = site.Serve(LongJob());
  ASSERT_TRUE(LogSays(server, "waits: 1 device of the 2")) << "also from the start";
  clients[1] = site.Client(1, server.port);
  const size_t before = server.releases();
  Sotto(site, {"keys", "new", store, "--id", "late", "--out", site.Path("late")});
  Process late = ClientWith(site, server, site.Path("late/late.key"), "late.log");
  ASSERT_TRUE(server.WaitForReleases(before + 2))
      << ReadFile(server.log) << ReadFile(site.Path("late.log"));
  Stop(server);
}

// SECURITY.md S4.
TEST(LiveFleetTest, ARotatedKeyOpensNothingAndTheDeviceGoesOnWithItsNewOne) {
  Site site(2);
  const std::string store = site.Path("store");
  Server server = site.Serve(LongJob());
  std::vector<Process> clients = site.Clients(server.port);
  ASSERT_TRUE(server.WaitForReleases(1)) << ReadFile(server.log);
  const std::string& name = site.key(0).device_id;
  EXPECT_TRUE(Says(Sotto(site, {"keys", "rotate", store, name}, 2), "--key"));
  Sotto(site, {"keys", "rotate", store, name, "--key", site.Path("new.key")});
  ASSERT_TRUE(LogSays(server, name + ": has another key now")) << ReadFile(server.log);
  EXPECT_EQ(clients[0].Wait(), 3) << "told at once, and not after a minute of tries";
  EXPECT_TRUE(Says(ReadFile(site.ClientLog(0)), "this key was replaced")) << site.ClientLog(0);
  Caller thief(server.port, site.key(0));
  ASSERT_EQ(thief.Connect(), Status::kOk);
  EXPECT_EQ(thief.Hello().code, ErrorCode::kKeyRotated);
  EXPECT_TRUE(thief.IsClosedWithin(kPatienceMs)) << "and nothing else is said";
  EXPECT_TRUE(LogSays(server, name + ": somebody with a key that was replaced connected"))
      << ReadFile(server.log);
  const size_t before = server.releases();
  const posix::DeviceKey renewed = posix::ReadKeyFile(site.Path("new.key"));
  EXPECT_EQ(renewed.device_id, name);
  Caller owner(server.port, renewed);
  ASSERT_EQ(owner.Connect(), Status::kOk);
  Process client = ClientWith(site, server, site.Path("new.key"), "renewed.log");
  ASSERT_TRUE(server.WaitForReleases(before + 3)) << ReadFile(server.log);
  Stop(server);
  EXPECT_FALSE(Says(Sotto(site, {"account", "ledger", store}), "rdp-filter"))
      << "the fleet is as large as before: nothing is charged for a new key";
}

// SECURITY.md S3. Each is named once, by the server and at the device.
TEST(LiveFleetTest, ARevokedKeyAStrangerAndACopiedDiskAreNamed) {
  Site site(4);
  const std::string store = site.Path("store");
  Server server = site.Serve(LongJob());
  std::vector<Process> clients = site.Clients(server.port);
  ASSERT_TRUE(server.WaitForReleases(1)) << ReadFile(server.log);

  clients[1].End();  // the server knows it long before somebody comes in its name
  const std::string& revoked = site.key(0).device_id;
  Sotto(site, {"keys", "revoke", store, revoked});
  EXPECT_EQ(clients[0].Wait(5000), 3);
  EXPECT_TRUE(Says(ReadFile(site.ClientLog(0)), "this device was revoked"));
  EXPECT_EQ(site.Client(0, server.port).Wait(5000), 3) << "also when it is started again";
  EXPECT_TRUE(LogSays(server, revoked + ": revoked 20")) << ReadFile(server.log);

  posix::DeviceKey guess = site.key(1);
  guess.secret.bytes[0] ^= 1;
  for (int i = 0; i < 3; ++i) EXPECT_NE(Caller(server.port, guess).Connect(), Status::kOk);
  const std::string claim = guess.device_id + ": somebody without its key connected in its name";
  EXPECT_TRUE(LogSays(server, claim + " 1 time, last from 127.")) << ReadFile(server.log);
  EXPECT_EQ(Count(ReadFile(server.log), claim), 1u) << ReadFile(server.log);

  const std::string& copied = site.key(2).device_id;
  std::filesystem::copy_file(site.Path("keys/" + copied + ".key"), site.Path("copy.key"));
  const Process copy = ClientWith(site, server, site.Path("copy.key"), "copy.log");
  EXPECT_TRUE(LogSays(server, copied + ": two machines have its key")) << ReadFile(server.log);
  EXPECT_TRUE(Says(ReadFile(site.ClientLog(2)) + ReadFile(site.Path("copy.log")),
                   "another machine connected with this device's key"));
  EXPECT_TRUE(Eventually([&] { return Says(ReadFile(store + "-devices"), "two-machines"); }));
  const std::string states = Sotto(site, {"status", store, "--devices"});
  EXPECT_TRUE(Says(states, "  two-machines  " + copied)) << states;
  EXPECT_TRUE(Says(states, "  revoked       " + revoked)) << states;
  Stop(server);
}

TEST(LiveFleetTest, APausedJobOpensNoRoundUntilItIsResumed) {
  Site site(2);
  const std::string store = site.Path("store");
  Server server = site.Serve(LongJob());
  std::vector<Process> clients = site.Clients(server.port);
  ASSERT_TRUE(server.WaitForReleases(1)) << ReadFile(server.log);
  Sotto(site, {"job", "pause", store});
  ASSERT_TRUE(LogSays(server, "paused; `sotto job resume`")) << ReadFile(server.log);
  EXPECT_TRUE(Says(Sotto(site, {"status", store}), "paused"));
  const size_t before = server.releases();
  Sotto(site, {"job", "resume", store});
  ASSERT_TRUE(server.WaitForReleases(before + 2)) << ReadFile(server.log);
  Stop(server);
}

// The news comes after the job has found that it must wait, and before the result of its attempt is
// published.
TEST(LiveFleetTest, AJobThatIsResumedBeforeItWaitsGoesOn) {
  Site site(2);
  const std::string store = site.Path("store");
  Server server = site.Serve(LongJob({"--round-timeout", "1", "--release-allowance", "3"}));
  ASSERT_TRUE(LogSays(server, "round 1 attempt 1")) << ReadFile(server.log);
  Sotto(site, {"job", "pause", store});
  ASSERT_TRUE(LogSays(server, "paused: ")) << ReadFile(server.log);
  posix::SleepMs(1500);  // no device has asked for work: the attempt is given up at its deadline
  Sotto(site, {"job", "resume", store});
  ASSERT_TRUE(LogSays(server, "round 1 attempt 2")) << ReadFile(server.log);
  Stop(server);
}

TEST(LiveFleetTest, ALinkToAServedStoreIsNoOtherStore) {
  Site site(2);
  Server server = site.Serve(LongJob());
  std::filesystem::create_symlink(site.Path("store"), site.Path("link"));
  const std::string second =
      Sotto(site, {"serve", "--store", site.Path("link"), "--listen", "127.0.0.1:0"}, 1);
  EXPECT_TRUE(Says(second, "serves it already")) << second;
  Stop(server);
}

Arguments StartJob(const Site& site, const char* rounds) {
  return {"job",
          "start",
          site.Path("store"),
          "--yes",
          "--accept-delta",
          "--cohort",
          "2",
          "--rounds",
          rounds,
          "--delta",
          "0.1",
          "--noise-multiplier",
          "50",
          "--sampling",
          "uniform",
          "--close-early"};
}

// Each kill comes before the server has done what it was asked for.
TEST(LiveFleetTest, AServerStaysAndAKillLosesNoJobAndNoRequest) {
  Site site(2);
  site.stays = true;
  const std::string store = site.Path("store");
  Server server = site.Serve({});
  std::vector<Process> clients = site.Clients(server.port);
  EXPECT_TRUE(Says(Sotto(site, StartJob(site, "2")), "job 1 has begun"));
  server.process.End();
  std::filesystem::create_directory(site.Path("out"));
  server = site.Serve({"--listen", Address(server.port), "--json", site.Path("out/results.json")});
  std::filesystem::remove(site.Path("out"));
  EXPECT_TRUE(LogSays(server, "all 2 rounds of the plan are released")) << ReadFile(server.log);
  EXPECT_TRUE(LogSays(server, "WARNING: job 1 is over, and its results are not written"))
      << ReadFile(server.log);
  EXPECT_TRUE(LogSays(server, "no job runs")) << ReadFile(server.log);
  EXPECT_TRUE(Says(Sotto(site, {"status", store}), "state      over (all-rounds): all 2"));
  EXPECT_TRUE(Says(Sotto(site, {"job", "stop", store, "--yes"}, 2), "over already"));
  server.process.End();
  EXPECT_TRUE(Says(Sotto(site, StartJob(site, "10000")), "waits for a server"));
  server = site.Serve({"--listen", Address(server.port)});  // its clients have stayed
  EXPECT_TRUE(server.WaitForReleases(3)) << ReadFile(server.log);
  EXPECT_TRUE(Says(Sotto(site, StartJob(site, "9999")), "request 3 waits"));
  server.process.End();
  EXPECT_TRUE(Says(Sotto(site, {"job", "stop", store, "--yes"}), "no server runs"));
  server = site.Serve({});
  EXPECT_TRUE(LogSays(server, "ended by `sotto job stop`")) << ReadFile(server.log);
  EXPECT_TRUE(LogSays(server, "job 3: ")) << ReadFile(server.log);
  EXPECT_TRUE(Says(Sotto(site, StartJob(site, "5")), "job 4 has begun"))
      << "job 3 released nothing";
  const std::string list = Sotto(site, {"job", "list", store});
  EXPECT_TRUE(Says(list, "over (all-rounds): all 2 rounds")) << list;
  EXPECT_TRUE(Says(list, "over (replaced): replaced by a queued job")) << list;
  EXPECT_EQ(server::InspectStore(store).jobs, 4) << list;
  Stop(server);
}

// Each link began with a longer silence than the last one, until the server closed them all.
TEST(LiveFleetTest, DevicesWhoseLinksAreLostInQuickSuccessionAnswerTheNextJobAtOnce) {
  Site site(2);
  site.stays = true;
  Server server = site.Serve({});
  std::vector<Process> clients = site.Clients(server.port, {"--accept-model", "any"});
  for (size_t links = 1; links <= 4; ++links) {
    for (size_t i = 0; i < 2; ++i) {
      const std::string log = site.ClientLog(i);
      EXPECT_TRUE(Eventually([&] { return Count(ReadFile(log), ": waiting for") == links; }));
    }
    if (links == 4) break;
    server.process.End();
    server = site.Serve({"--listen", Address(server.port)});
  }
  EXPECT_TRUE(Says(Sotto(site, StartJob(site, "2")), "job 1 has begun"));
  EXPECT_TRUE(Eventually([&] { return server.releases() == 2; }, 5000)) << ReadFile(server.log);
}

// The kill comes at any moment of the stop: before the request is in the store, before the server
// sees it, while the job ends, before the next one begins.
// SECURITY.md S26.
TEST(LiveFleetTest, AKillInTheMidstOfAStopEndsTheJobOnceAndTheNextOneBegins) {
  Site site(2);
  site.stays = true;
  const std::string store = site.Path("store");
  Server server = site.Serve({});
  std::vector<Process> clients = site.Clients(server.port);
  EXPECT_TRUE(Says(Sotto(site, StartJob(site, "10000")), "job 1 has begun"));
  EXPECT_TRUE(server.WaitForReleases(1)) << ReadFile(server.log);
  EXPECT_TRUE(Says(Sotto(site, StartJob(site, "9999")), "waits until job 1 is over"));
  std::random_device random;
  const auto after_ms = static_cast<uint32_t>(random() % 400);
  SCOPED_TRACE(after_ms);
  Process stop = site.Sotto({"job", "stop", store, "--yes"}, "stop.log");
  posix::SleepMs(after_ms);
  server.process.Signal(SIGKILL);
  server.process.Wait();
  if (random() % 2 == 0) stop.Signal(SIGKILL);
  stop.Wait();
  EXPECT_GE(server::InspectStore(store).jobs, 1);
  const auto stops = [&] {
    std::vector<server::JobRequestEntry> found;
    for (const auto& each : server::OpenStore(store)->ReadHistory().requests) {
      if (each.ask.act == server::JobAct::kStop) found.push_back(each);
    }
    return found;
  };
  if (stops().empty()) {
    EXPECT_FALSE(Says(ReadFile(site.Path("stop.log")), "request"))
        << "what it says is in the store";
    EXPECT_TRUE(Says(Sotto(site, {"job", "stop", store, "--yes"}), "no server runs"));
  }
  server = site.Serve({"--listen", Address(server.port)});
  EXPECT_TRUE(LogSays(server, "job 2: ")) << ReadFile(server.log);
  EXPECT_TRUE(server.WaitForReleases(server.releases() + 1)) << ReadFile(server.log);
  const server::History history = server::OpenStore(store)->ReadHistory();
  ASSERT_EQ(history.jobs.size(), 2U);
  EXPECT_EQ(server::EndOf(history, history.jobs[0])->kind, server::Halt::kOperator);
  EXPECT_FALSE(server::EndOf(history, history.jobs[1]));
  ASSERT_EQ(stops().size(), 1U);
  ASSERT_TRUE(stops()[0].answer);
  EXPECT_EQ(stops()[0].answer->outcome, server::JobOutcome::kDone);
  Stop(server);
}

// SECURITY.md S26.
TEST(LiveFleetTest, AJobGetsMoreRoundsAndARestartBeginsNoOther) {
  Site site(2);
  const std::string store = site.Path("store");
  const Arguments shared = {"--cohort", "2", "--noise-multiplier", "50", "--delta", "0.1"};
  const auto with = [&](Arguments more) {
    more.insert(more.end(), shared.begin(), shared.end());
    return more;
  };
  {
    Server server = site.Serve(with({"--rounds", "2"}));
    std::vector<Process> clients = site.Clients(server.port);
    EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  }
  {
    Server server = site.Serve(with({"--rounds", "4"}));
    std::vector<Process> clients = site.Clients(server.port);
    EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  }
  const std::string ledger = Sotto(site, {"account", "ledger", store});
  EXPECT_EQ(server::InspectStore(store).jobs, 1) << ledger;
  EXPECT_EQ(server::InspectStore(store).releases, 4) << ledger;
  EXPECT_TRUE(Says(ledger, "gaussian")) << "its rounds close early: nothing is sampled\n" << ledger;
  const Arguments fewer = with(
      {"serve", "--store", store, "--listen", "127.0.0.1:0", "--close-early", "--rounds", "3"});
  EXPECT_TRUE(Says(Sotto(site, fewer, 1), "do not lower rounds"));
  for (int start = 0; start < 2; ++start) {
    Server server = site.Serve(LongJob({"--new-job"}));
    std::vector<Process> clients = site.Clients(server.port);
    ASSERT_TRUE(server.WaitForReleases(server.releases() + 1)) << ReadFile(server.log);
    server.process.End();
  }
  EXPECT_EQ(server::InspectStore(store).jobs, 2) << "the second start went on with the second job";
}

// Begins `sotto ARGUMENTS` and kills it after so long. Returns true if it had ended well before.
bool RunAndKill(const Site& site, const Arguments& arguments, int after_ms) {
  Process process = site.Sotto(arguments, "killed.log");
  const int status = process.Wait(after_ms);
  process.End();
  EXPECT_TRUE(status == 0 || status == -1)
      << arguments[0] << ": " << ReadFile(site.Path("killed.log"));
  return status == 0;
}

// Commands and the server are killed at any time. What a command said that it did stays done, what
// it did not is done whole or not at all, and the job goes on.
// SECURITY.md S23.
TEST(LiveKills, WhateverIsKilledTheStoreIsWholeAndGoesOn) {
  constexpr int kKills = 12;
  Site site(3);
  const std::string store = site.Path("store");
  const Arguments job = LongJob({"--round-timeout", "1"});
  Server server = site.Serve(job);
  std::vector<Process> clients = site.Clients(server.port);
  ASSERT_TRUE(server.WaitForReleases(1)) << ReadFile(server.log);
  const auto begin = std::chrono::steady_clock::now();
  Sotto(site, {"store", "backup", store, site.Path("whole")});
  const auto whole = std::chrono::steady_clock::now() - begin;
  std::vector<std::string> added;
  size_t tried = 0;  // of `added`, to be revoked
  std::vector<std::string> revoked;
  std::vector<std::string> copies;
  for (int i = 0; i < kKills; ++i) {
    // The last commands end by themselves, however slow the machine has become since `whole`.
    const auto after_ms =
        i + 1 == kKills ? kPatienceMs
                        : static_cast<int>(3 * i * (whole / std::chrono::milliseconds(1)) / kKills);
    const std::string number = std::to_string(i);
    const std::string key = site.Path("key-" + number);
    if (RunAndKill(site, {"keys", "new", store, "--id", "d" + number, "--out", key}, after_ms)) {
      added.push_back("d" + number);
    }
    if (tried < added.size()) {
      const std::string& name = added[tried++];
      if (RunAndKill(site, {"keys", "revoke", store, name}, after_ms)) {
        revoked.push_back(name);
      }
    }
    RunAndKill(site, {"keys", "rotate", store, site.key(2).device_id, "--key", key + ".new"},
               after_ms);
    const std::string copy = site.Path("copy-" + number);
    if (RunAndKill(site, {"store", "backup", store, copy}, after_ms)) copies.push_back(copy);
    if (i % 3 != 0) continue;
    server.process.End();
    EXPECT_TRUE(Says(Sotto(site, {"status", store, "--verify"}), "each as it was written"));
    server = site.Serve(job);
    for (size_t device = 0; device < 2; ++device)
      clients[device] = site.Client(device, server.port);
  }
  EXPECT_FALSE(copies.empty());
  EXPECT_FALSE(revoked.empty());
  for (const std::string& copy : copies) EXPECT_GE(server::InspectStore(copy).releases, 1) << copy;
  const std::string list = Sotto(site, {"keys", "list", store});
  for (const std::string& name : added) EXPECT_TRUE(Says(list, name)) << list;
  const server::DeviceRegistry devices = server::OpenStore(store)->LoadDevices();
  for (const std::string& name : revoked) {
    EXPECT_EQ(devices.Find(name), devices.size()) << name;
  }
  EXPECT_TRUE(server.WaitForReleases(server.releases() + 1)) << ReadFile(server.log);
  Stop(server);
  EXPECT_EQ(server::InspectStore(store).jobs, 1);
  EXPECT_TRUE(Says(Sotto(site, {"account", "ledger", store}), "epsilon"));
}

}  // namespace
}  // namespace sotto::live
