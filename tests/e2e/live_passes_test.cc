// Tests of a real server whose devices take part in at most so many rounds.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "e2e/live.h"
#include "unit/trials.h"

namespace sotto::live {
namespace {

// Two turns for each device, in cohorts of two.
Arguments PassesJob() {
  return {"--sampling",      "passes", "--participations",   "2",  "--cohort", "2",
          "--rounds",        "50",     "--noise-multiplier", "50", "--delta",  "0.001",
          "--round-timeout", "5"};
}

bool EventuallySays(const std::string& log, const std::string& words) {
  return Eventually([&] { return Says(ReadFile(log), words); });
}

TEST(LivePassesTest, AJobWaitsForDevicesGoesOnAfterARestartAndEndsWithTheirTurns) {
  Site site(4);
  const std::string store = site.Path("store");
  Server server = site.Serve(PassesJob());
  ASSERT_TRUE(EventuallySays(server.log,
                             "round 1 waits: 0 devices of the 2 that a round "
                             "needs are connected and have a turn left"))
      << ReadFile(server.log);
  EXPECT_TRUE(Eventually([&] {  // the server writes its state for `status` a moment later
    Process waits = site.Sotto({"status", store}, "waits.log");
    return waits.Wait() == 0 &&
           Says(ReadFile(site.Path("waits.log")), "now        waiting: 0 devices");
  })) << ReadFile(site.Path("waits.log"));
  std::vector<Process> clients = site.Clients(server.port);
  ASSERT_TRUE(server.WaitForReleases(1)) << ReadFile(server.log);
  server.process.Signal(SIGKILL);
  server.process.Wait();
  server = site.Serve(PassesJob());
  clients = site.Clients(server.port);
  EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  EXPECT_TRUE(Says(ReadFile(server.log), "the turns of its devices are used")) << server.log;
  Process ledger = site.Sotto({"account", "ledger", store}, "ledger.log");
  EXPECT_EQ(ledger.Wait(), 0);
  const std::string text = ReadFile(site.Path("ledger.log"));
  EXPECT_TRUE(Says(text, "; at most 2 for each")) << text;
  EXPECT_TRUE(Says(text, "2 for 4 devices") || Says(text, "2 for 3 devices")) << text;
  EXPECT_FALSE(Says(text, "  turns: 3 for") || Says(text, ", 3 for")) << text;
  Process status = site.Sotto({"status", store}, "status.log");
  EXPECT_EQ(status.Wait(), 0);
  const std::string shown = ReadFile(site.Path("status.log"));
  EXPECT_TRUE(Says(shown, "; at most 2 for each")) << shown;
  EXPECT_TRUE(Says(shown, "state      over (no-turns): the turns of its devices are used"))
      << shown;
  EXPECT_TRUE(Says(shown, "the best attacker is right at most")) << shown;
  Process published = site.Sotto({"account", "ledger", store, "--published"}, "published.log");
  EXPECT_EQ(published.Wait(), 0);
  EXPECT_FALSE(Says(ReadFile(site.Path("published.log")), "turns:"));

  // Another job on these devices: refused, allowed, begun.
  Arguments second = PassesJob();
  second[7] = "40";  // rounds: with the same options a start goes on with the job before
  second.push_back("--new-job");
  EXPECT_EQ(site.StartServe(second).Wait(), 2);
  const std::string refused = ReadFile(site.Path("serve.log"));
  for (const char* words : {"this job has epsilon", "its devices over all jobs",
                            "sotto store raise-life-epsilon", "--delta 0.001"}) {
    EXPECT_TRUE(Says(refused, words)) << words << " is not in: " << refused;
  }
  Process raise =
      site.Sotto({"store", "raise-life-epsilon", store, "5", "--delta", "0.001"}, "raise.log");
  EXPECT_EQ(raise.Wait(), 0) << ReadFile(site.Path("raise.log"));
  EXPECT_TRUE(Says(ReadFile(site.Path("raise.log")), "life epsilon 5 at delta"));
  server = site.Serve(second);
  EXPECT_TRUE(Says(ReadFile(server.log), "the store's life: this job has epsilon"));
  EXPECT_TRUE(Says(ReadFile(server.log), "4 of 4 devices have room for all their turns"));
}

// The disk dies between two copies, and one device has lost its receipt.
TEST(LivePassesTest, AfterADeadDiskAnOlderCopyIsRecoveredAndTheJobGoesOn) {
  Site site(4);
  const std::string store = site.Path("store");
  const auto sotto = [&](const Arguments& arguments, int status = 0) {
    Process process = site.Sotto(arguments, "sotto.log");
    EXPECT_EQ(process.Wait(), status) << ReadFile(site.Path("sotto.log"));
    return ReadFile(site.Path("sotto.log"));
  };
  Arguments job = PassesJob();
  job[3] = "20";  // turns
  Server server = site.Serve(job);
  std::vector<Process> clients = site.Clients(server.port);
  ASSERT_TRUE(server.WaitForReleases(1)) << ReadFile(server.log);
  sotto({"store", "backup", store, site.Path("copy")});
  ASSERT_TRUE(server.WaitForReleases(server.releases() + 4)) << ReadFile(server.log);
  server.process.Signal(SIGKILL);
  server.process.Wait();
  clients.clear();
  for (const char* file : {"store", "store-wal", "store-shm", "store-journal"}) {
    std::filesystem::remove(site.Path(file));
  }
  std::filesystem::rename(site.Path("copy"), store);

  server = site.Serve(job);
  clients = site.Clients(server.port);
  EXPECT_EQ(server.process.Wait(), 4);
  EXPECT_TRUE(Says(ReadFile(server.log), "`sotto store recover`")) << ReadFile(server.log);
  EXPECT_TRUE(Says(sotto({"status", store}), "the store is an older copy"));
  clients.clear();
  const std::string dry = sotto({"store", "recover", store, "--dry-run"});
  EXPECT_TRUE(Says(dry, "job 1") && Says(dry, "turns, less the lost ones")) << dry;
  EXPECT_TRUE(Says(dry, "nothing was changed")) << dry;
  EXPECT_TRUE(Says(sotto({"store", "recover", store}, 2), "--yes"));
  for (int after_ms = 0; after_ms < 40; after_ms += 10) {
    Process killed = site.Sotto({"store", "recover", store, "--yes"}, "killed.log");
    killed.Wait(after_ms);
    killed.End();
    EXPECT_TRUE(Says(sotto({"status", store, "--verify"}), "each as it was written"));
  }
  EXPECT_TRUE(Says(sotto({"store", "recover", store, "--yes"}), "recovered"));
  EXPECT_TRUE(Says(sotto({"store", "recover", store, "--yes"}), "recovered already"));
  EXPECT_TRUE(Says(sotto({"status", store}), "copy       recovered"));
  std::filesystem::remove(site.Path("keys/" + site.key(3).device_id + ".key.mark"));

  server = site.Serve(job);
  clients = site.Clients(server.port);
  ASSERT_TRUE(server.WaitForReleases(server.releases() + 3)) << ReadFile(server.log);
  server.process.End();
  EXPECT_TRUE(Says(sotto({"store", "recover", store, "--yes"}, 2), "nothing was changed"));
  const std::string ledger = sotto({"account", "ledger", store});
  EXPECT_TRUE(Says(ledger, "3 of 4 devices have settled since")) << ledger;
  EXPECT_TRUE(Says(ledger, "counts as spent for good")) << ledger;
  EXPECT_TRUE(Says(ledger, "in all: no one figure")) << ledger;
  std::filesystem::remove(site.Path("sotto.log"));  // each program appends to it
  EXPECT_FALSE(Says(sotto({"account", "ledger", store, "--published"}), "settled"));
}

// No job goes on after the recovery, and with no life epsilon none begins before all have settled.
TEST(LivePassesTest, AServerWithoutAJobNoticesAnOlderCopyAndLetsDevicesSettle) {
  Site site(3);
  site.stays = true;
  const std::string store = site.Path("store");
  const auto sotto = [&](const Arguments& arguments, int status = 0) {
    std::filesystem::remove(site.Path("sotto.log"));
    Process process = site.Sotto(arguments, "sotto.log");
    EXPECT_EQ(process.Wait(), status) << ReadFile(site.Path("sotto.log"));
    return ReadFile(site.Path("sotto.log"));
  };
  const auto start = [&](const char* sampling, const char* rounds, int status = 0) {
    Arguments job = {"job", "start", store, "--yes", "--accept-delta", "--close-early"};
    job.insert(job.end(), {"--sampling", sampling, "--rounds", rounds, "--noise-multiplier", "50",
                           "--delta", "0.1"});
    if (sampling != std::string("full")) job.insert(job.end(), {"--cohort", "2"});
    return sotto(job, status);
  };
  Server server = site.Serve({});
  std::vector<Process> clients = site.Clients(server.port);
  start("full", "1");
  ASSERT_TRUE(EventuallySays(server.log, "the plan's one round is released"));
  sotto({"store", "backup", store, site.Path("copy")});
  start("full", "2");
  ASSERT_TRUE(EventuallySays(server.log, "all 2 rounds of the plan are released"));
  server.process.End();
  for (const char* file : {"store", "store-wal", "store-shm", "store-journal"}) {
    std::filesystem::remove(site.Path(file));
  }
  std::filesystem::rename(site.Path("copy"), store);

  server = site.Serve({"--listen", Address(server.port)});
  EXPECT_EQ(server.process.Wait(), 4) << "before any job asks somebody";
  EXPECT_TRUE(Says(ReadFile(server.log), "`sotto store recover`")) << ReadFile(server.log);
  sotto({"store", "recover", store, "--yes"});
  const std::string refusal = start("passes", "2", 2);
  EXPECT_TRUE(Says(refusal, site.key(0).device_id)) << refusal;
  EXPECT_TRUE(Says(refusal, "settles as soon as it connects")) << refusal;
  server = site.Serve({"--listen", Address(server.port)});
  EXPECT_TRUE(Eventually([&] {
    return Says(sotto({"status", store}), "3 of 3 devices have settled");
  })) << ReadFile(server.log);
  EXPECT_TRUE(Says(start("passes", "2"), "job 2 has begun"));
}

TEST(LivePassesTest, DevicesReportAtTheTimeThatTheServerNames) {
  Site site(2);
  Arguments job = PassesJob();
  job.back() = "6";
  job.insert(job.end(), {"--release-allowance", "0"});  // so Serve() adds no --close-early
  Server server = site.Serve(job);
  std::vector<Process> clients = site.Clients(server.port);
  ASSERT_TRUE(server.WaitForDraw()) << ReadFile(server.log);
  const auto drawn = std::chrono::steady_clock::now();
  ASSERT_TRUE(server.WaitForReleases(1)) << ReadFile(server.log);
  EXPECT_GT(std::chrono::steady_clock::now() - drawn, std::chrono::milliseconds(4900))
      << "five seconds after the choice\n"
      << ReadFile(server.log);
  EXPECT_TRUE(Says(ReadFile(server.log), "2 reported")) << ReadFile(server.log);
  Process ledger = site.Sotto(
      {"account", "ledger", site.Path("store"), "--json", site.Path("ledger.json")}, "ledger.log");
  EXPECT_EQ(ledger.Wait(), 0);
  const auto json = nlohmann::json::parse(ReadFile(site.Path("ledger.json")), nullptr, false);
  const nlohmann::json& claims = json["releases"][0]["claims"];
  EXPECT_EQ(claims[0]["assumptions"].dump().find("times"), std::string::npos) << claims[0];
  EXPECT_EQ(claims[0]["epsilon"], claims[1]["epsilon"]);
}

}  // namespace
}  // namespace sotto::live
