// Tests of devices that let the server hold its answer until there is work. A poll takes an hour
// here: a device that had to poll would never take part.
#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "e2e/live.h"
#include "sotto/posix/port.h"

namespace sotto::live {
namespace {

using Json = nlohmann::json;

Arguments HourlyPolls(const Arguments& more) {
  Arguments job = {"--noise-multiplier", "50",   "--delta",         "0.1",
                   "--round-timeout",    "7200", "--poll-interval", "3600"};
  job.insert(job.end(), more.begin(), more.end());
  return job;
}

TEST(LiveHoldTest, SixteenDevicesMakeFortyRoundsWithoutAPoll) {
  Site site(16);
  Server server = site.Serve(HourlyPolls({"--cohort", "16", "--rounds", "40"}));
  std::vector<Process> clients = site.Clients(server.port);
  EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  ExpectAllDone(site, clients);
  EXPECT_EQ(server.releases(), 40u);
}

// Every attempt hears all devices, drawn or not: they have not said anything since the first one.
TEST(LiveHoldTest, AHeldHelloIsHeardByEachAttempt) {
  Site site(4);
  Server server = site.Serve(HourlyPolls({"--cohort", "1", "--rounds", "12", "--min-devices", "4",
                                          "--json", site.Path("results.json")}));
  std::vector<Process> clients = site.Clients(server.port, {"--hold", "50"});
  EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  ExpectAllDone(site, clients);
  const Json results = Json::parse(ReadFile(site.Path("results.json")), nullptr, false);
  ASSERT_EQ(results["operator"]["attempts"].size(), 12u);
  for (const Json& attempt : results["operator"]["attempts"]) {
    EXPECT_EQ(attempt["checked_in"], 4) << attempt;
  }
}

TEST(LiveHoldTest, AHeldAnswerComesWhenTheDeviceHasWaitedLongEnough) {
  Site site(3);
  const Server server = site.Serve(HourlyPolls({"--cohort", "3", "--rounds", "2"}));
  std::vector<std::unique_ptr<Caller>> callers;
  for (size_t i = 0; i < 3; ++i) {
    callers.push_back(std::make_unique<Caller>(server.port, site.key(i)));
    ASSERT_EQ(callers[i]->Connect(), Status::kOk);
    ASSERT_EQ(callers[i]->Hello({}, 60000).kind, Reply::Kind::kTrain);
  }
  // The first device has reported; the others have not, so there is no work for it.
  const std::vector<uint8_t> nonce(kNonceSize, 7);
  const TrainTask task = callers[0]->Hello().task;
  std::vector<uint8_t> zeros(64, 0);
  ASSERT_TRUE(callers[0]
                  ->Upload(task, {nonce.data(), nonce.size()}, {zeros.data(), zeros.size()})
                  .complete);
  EXPECT_GE(callers[0]->Hello().wait_ms, 3600u * 1000)
      << "a device that asks for no hold is told at once";
  const auto begin = std::chrono::steady_clock::now();
  const Reply held = callers[0]->Hello({}, 400);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(300));
  EXPECT_EQ(held.kind, Reply::Kind::kWait);
  EXPECT_EQ(held.wait_ms, 0u) << "it asks again at once";
}

// SECURITY.md S9.
TEST(LiveHoldTest, WhoLeavesAmidARecordWhileItsAnswerIsHeldIsForgotten) {
  Site site(2);
  Server server = site.Serve(HourlyPolls({"--cohort", "1", "--rounds", "2", "-v"}));
  ASSERT_TRUE(Eventually([&] { return Count(ReadFile(server.log), "attempt 1") != 0; }));
  for (size_t i = 0; i < 2; ++i) {
    Caller caller(server.port, site.key(i));
    ASSERT_EQ(caller.Connect(), Status::kOk);
    if (caller.Hello().kind == Reply::Kind::kTrain) continue;
    ASSERT_EQ(caller.SendHello({}, 60000), Status::kOk);
    posix::SleepMs(200);
    constexpr uint8_t kPartOfARecord[] = {23, 3, 3};
    ASSERT_EQ(caller.stream().Send(kPartOfARecord), 3);
    caller.stream().Close();
    EXPECT_TRUE(Eventually([&] {
      return Count(ReadFile(server.log), "left while its answer was held") != 0;
    })) << ReadFile(server.log);
  }
}

TEST(LiveHoldTest, DeadlinesOfFiftyMillisecondsAreKept) {
  Site site(4);
  Server server =
      site.Serve({"--cohort", "2", "--rounds", "5", "--noise-multiplier", "50", "--delta", "0.1",
                  "--round-timeout", "0.05", "--release-allowance", "0.5"});
  std::vector<Process> clients = site.Clients(server.port);
  EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  EXPECT_EQ(server.releases(), 5u);
}

}  // namespace
}  // namespace sotto::live
