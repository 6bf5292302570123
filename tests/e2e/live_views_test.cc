// What a live server shows, and to whom: release times, its operator's log and JSON, and figures of
// jobs that gave up.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backends/sql_store.h"
#include "e2e/live.h"
#include "sotto/posix/port.h"

namespace sotto::live {
namespace {

using Json = nlohmann::json;

bool Says(const Server& server, const std::string& words) {
  return ReadFile(server.log).find(words) != std::string::npos;
}

size_t CountReported(const Site& site) {
  size_t reported = 0;
  for (size_t i = 0; i < site.devices(); ++i) {
    reported += Count(ReadFile(site.ClientLog(i)), "sent its update");
  }
  return reported;
}

// The whole cohort reports at once, and the deadline is ten minutes away. A release before it would
// tell that all have reported.
// SECURITY.md S18.
TEST(LiveViews, ARoundIsNotReleasedBeforeItsDeadlineWhoeverHasReported) {
  Site site(2);
  const Arguments job = {"--cohort",
                         "2",
                         "--rounds",
                         "1",
                         "--noise-multiplier",
                         "1",
                         "--round-timeout",
                         "600",
                         "--release-allowance",
                         "1"};
  Server server = site.Serve(job);
  const std::vector<Process> clients = site.Clients(server.port);
  ASSERT_TRUE(Eventually([&] { return CountReported(site) == 2; })) << ReadFile(server.log);
  posix::SleepMs(1000);
  EXPECT_EQ(server.releases(), 0U);
}

// The operator is told before the first round that the noise is too much, and after the last one
// that the model is worse than it was.
void ExpectWorse(const Json& of_operator) {
  const Json& warnings = of_operator["warnings"];
  EXPECT_EQ(warnings.front().get<std::string>().rfind("WARNING: the noise drowns", 0), 0U);
  const std::string last = warnings.back();
  EXPECT_EQ(last.rfind("WARNING: the training made the model worse: accuracy ", 0), 0U) << last;
  EXPECT_EQ(Count(last, "--clip"), 1U) << last;
  EXPECT_GT(of_operator["evaluations"].back()["loss"], of_operator["initial_evaluation"]["loss"]);
}

// Nobody reports. The rounds are released, and the operator is told so loudly.
TEST(LiveViews, ARoundWithFewReportsIsLoudInTheOperatorsLogAndJson) {
  Site site(4);
  const std::string json = site.Path("results.json");
  Server server = site.Serve({"--cohort",
                              "2",
                              "--rounds",
                              "2",
                              "--noise-multiplier",
                              "1",
                              "--sampling",
                              "poisson",
                              "--delta",
                              "0.1",
                              "--round-timeout",
                              "0.5",
                              "--poll-interval",
                              "0.25",
                              "--release-allowance",
                              "0.2",
                              "--farewell",
                              "0.1",
                              "--test",
                              site.Path("data/t10k-images-idx3-ubyte"),
                              "--json",
                              json});
  ASSERT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  EXPECT_TRUE(Says(server, "this log is the operator's"));
  const Json results = Json::parse(ReadFile(json));
  EXPECT_EQ(results["rounds_released"], 2);
  const Json& attempts = results["operator"]["attempts"];
  size_t empty = 0;
  for (const Json& attempt : attempts) {
    EXPECT_EQ(attempt["reported"], 0);
    empty += attempt["released"] == true && attempt["drawn"] > 0 ? 1U : 0U;
  }
  size_t few = 0;
  for (const Json& warning : results["operator"]["warnings"]) {
    few += Count(warning.get<std::string>(), "less than half");
  }
  EXPECT_EQ(few, empty);
  EXPECT_EQ(Count(ReadFile(server.log), "WARNING: round"), empty);
  ExpectWorse(results["operator"]);
}

// The deadline's allowance is nothing, which no release keeps.
// SECURITY.md S18.
TEST(LiveViews, AReleaseAfterItsTimeIsAnAlarm) {
  Site site(4);
  Server server =
      site.Serve({"--cohort", "2", "--rounds", "3", "--noise-multiplier", "1", "--sampling",
                  "poisson", "--delta", "0.1", "--round-timeout", "0.5", "--poll-interval", "0.25",
                  "--release-allowance", "0", "--farewell", "0.1"});
  ASSERT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  EXPECT_TRUE(Says(server, "ALARM: round")) << ReadFile(server.log);
  EXPECT_TRUE(Says(server, "--release-allowance"));
}

// Every attempt is decoded and then given up, since the second device never checks in.
TEST(LiveViews, AJobThatGaveUpUnderPrivateNoiseChargesItsAttemptsAndTheLedgerShowsThem) {
  Site site(2);
  const std::string json = site.Path("results.json");
  Server server = site.Serve({"--cohort",
                              "1",
                              "--rounds",
                              "1",
                              "--noise-multiplier",
                              "1",
                              "--colluders",
                              "0",
                              "--min-devices",
                              "2",
                              "--round-timeout",
                              "0.5",
                              "--poll-interval",
                              "0.25",
                              "--trust-mode",
                              "private-noise",
                              "--private-noise-multiplier",
                              "0.3",
                              "--json",
                              json});
  const Process client = site.Client(0, server.port);
  ASSERT_EQ(server.process.Wait(), 3) << ReadFile(server.log);
  EXPECT_FALSE(Says(server, "nothing charged")) << ReadFile(server.log);
  EXPECT_TRUE(Says(server, "against the server for all updates of one device"));
  const auto server_claim = [](const Json& claims) -> double {
    for (const Json& claim : claims) {
      if (claim["view"] == "every-update") return claim["epsilon"];
    }
    return -1;
  };
  const double charged = server_claim(Json::parse(ReadFile(json))["claims"]);
  EXPECT_GT(charged, 0);
  ASSERT_EQ(
      site.Sotto({"account", "ledger", site.Path("store"), "--json", site.Path("ledger.json")},
                 "ledger.log")
          .Wait(),
      0);
  const Json ledger = Json::parse(ReadFile(site.Path("ledger.json")));
  EXPECT_EQ(ledger["jobs"][0]["attempts"], 10);
  EXPECT_EQ(server_claim(ledger["jobs"][0]["claims_after_attempts"]), charged);
  EXPECT_EQ(server_claim(ledger["total"]["claims"]), charged);
  EXPECT_EQ(ledger["total"]["epsilon"], 0.0);
  const std::string text = ReadFile(site.Path("ledger.log"));
  EXPECT_NE(text.find("after all 10 attempts, released or not: epsilon"), std::string::npos)
      << text;
  const size_t in_all = text.find("\nin all: nothing is released");
  ASSERT_NE(in_all, std::string::npos) << text;
  EXPECT_NE(text.find("against the server for all updates of one device", in_all),
            std::string::npos)
      << text;
}

TEST(LiveViews, TheNoiseOfAServedJobThatClosesEarlyIsCalibratedToWhatItsEpsilonSays) {
  Site site(12);
  const Arguments job = {"--cohort", "3", "--rounds", "1", "--epsilon", "2", "--delta", "0.01"};
  std::vector<double> sigmas;
  for (const bool early : {false, true}) {
    Arguments simulate = {"simulate",
                          "--data",
                          "synthetic",
                          "--sampling",
                          "uniform",
                          "--devices",
                          "12",
                          "--seed",
                          "1",
                          "--samples-per-device",
                          "8",
                          "--json",
                          site.Path("simulate.json")};
    simulate.insert(simulate.end(), job.begin(), job.end());
    if (early) simulate.push_back("--close-early");
    ASSERT_EQ(site.Sotto(simulate, "simulate.log").Wait(), 0)
        << ReadFile(site.Path("simulate.log"));
    const Json result = Json::parse(ReadFile(site.Path("simulate.json")));
    EXPECT_LE(result["epsilon"], 2.0);
    EXPECT_EQ(result["epsilon"] == result["epsilon_network"], early);
    EXPECT_EQ(result["job"]["close_early"], early);
    sigmas.push_back(result["noise_sigma"]);
  }
  EXPECT_GT(sigmas[1], 1.5 * sigmas[0]);
}

}  // namespace
}  // namespace sotto::live
