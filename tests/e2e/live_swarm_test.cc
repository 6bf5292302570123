// `sotto-lab swarm` against a server, over TCP on this machine.
#include <gtest/gtest.h>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "e2e/live.h"

namespace sotto::live {
namespace {

using Json = nlohmann::json;

std::string Do(const Site& site, const Arguments& arguments, int expected = 0) {
  const std::string log = site.Path("command-" + arguments[0] + ".log");
  const char* program = arguments[0] == "swarm" ? SOTTO_LAB_PROGRAM : SOTTO_PROGRAM;
  EXPECT_EQ(site.Start(program, arguments, "command-" + arguments[0] + ".log").Wait(), expected)
      << ReadFile(log);
  return ReadFile(log);
}

Json ReadJson(const Site& site, const std::string& name) {
  return Json::parse(ReadFile(site.Path(name)), nullptr, false);
}

Arguments Swarm(const Site& site, const Server& server, const Arguments& more) {
  Arguments all = {"swarm", "--store", site.Path("store"), "--server", Address(server.port)};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// The updates that the store's ledger says were reported.
uint64_t ReportedByLedger(const Site& site) {
  Do(site, {"account", "ledger", site.Path("store"), "--json", site.Path("ledger.json")});
  uint64_t reported = 0;
  const Json ledger = ReadJson(site, "ledger.json");
  for (const Json& release : ledger["releases"]) {
    reported += release["reported"].get<uint64_t>();
  }
  return reported;
}

TEST(LiveSwarmTest, AJobWithFaultyDevicesCompletesAndBothSidesCountTheSame) {
  Site site(24);
  Server server = site.Serve({"--cohort", "20", "--rounds", "5", "--noise-multiplier", "1",
                              "--round-timeout", "60", "--min-devices", "20"});
  const std::string text = Do(site, Swarm(site, server,
                                          {"--corrupt", "0.1", "--drop-out", "0.1", "--latency",
                                           "5", "--seed", "1", "--json", site.Path("swarm.json")}));
  EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log) << text;
  const Json swarm = ReadJson(site, "swarm.json");
  ASSERT_TRUE(swarm.is_object()) << text;
  EXPECT_EQ(swarm["rounds"], 5);
  EXPECT_EQ(swarm["connected_max"], 24);
  EXPECT_EQ(swarm["accepted"], ReportedByLedger(site)) << text;
  EXPECT_EQ(swarm["tasks"], 5 * 20) << text;
  EXPECT_EQ(swarm["accepted"].get<int>() + swarm["rejected"].get<int>(), 5 * 20) << text;
  EXPECT_LE(swarm["rejected"], swarm["corrupted"]);
  EXPECT_GT(swarm["corrupted"], 0) << "the seed has some";
  EXPECT_GT(swarm["dropped"], 0) << "the seed has some";
  EXPECT_EQ(swarm["handshakes"].get<int>(), 24 + swarm["dropped"].get<int>()) << text;
  EXPECT_EQ(swarm["failed_handshakes"], 0);
  EXPECT_GT(swarm["latency_ms"]["p50"], 10) << "a round has at least four requests";
}

// The line "all of it" of `sotto traffic`: bytes up and down.
double BytesByPlan(const Site& site, const Arguments& plan) {
  Arguments all = {"traffic", "--frame", "4096", "--devices", std::to_string(site.devices())};
  all.insert(all.end(), plan.begin(), plan.end());
  std::istringstream text(Do(site, all));
  double up = 0;
  double down = 0;
  for (std::string line; std::getline(text, line);) {
    const size_t found = line.find("all of it");
    if (found != std::string::npos) std::istringstream(line.substr(found + 9)) >> up >> down;
  }
  return up + down;
}

// The swarm counts what crosses TCP, polls between two rounds included.
TEST(LiveSwarmTest, AParticipationTakesTheBytesThatSottoTrafficSays) {
  Site site(8);
  const Arguments plan = {"--sampling",         "full", "--rounds", "4",
                          "--noise-multiplier", "1",    "--delta",  "1e-5"};
  Server server = site.Serve(plan);
  const std::string text =
      Do(site, Swarm(site, server, {"--max-frame", "4096", "--json", site.Path("swarm.json")}));
  EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log) << text;
  const Json swarm = ReadJson(site, "swarm.json");
  ASSERT_EQ(swarm["accepted"], 4 * 8) << text;
  const double counted =
      swarm["update_bytes_up"].get<double>() + swarm["update_bytes_down"].get<double>();
  const double planned = BytesByPlan(site, plan);
  EXPECT_GT(planned, 1000);
  EXPECT_NEAR(counted, planned, 0.05 * planned) << text;
}

TEST(LiveSwarmTest, DevicesTrainOnTheirShareInTwoThreadsWithKeyFiles) {
  Site site(6);
  Server server = site.Serve({"--cohort", "6", "--rounds", "2", "--noise-multiplier", "1",
                              "--min-devices", "6", "--local-epochs", "1"});
  const std::string text =
      Do(site, {"swarm", "--keys", site.Path("keys"), "--server", Address(server.port), "--train",
                "--threads", "2", "--max-frame", "1024", "--json", site.Path("swarm.json")});
  EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log) << text;
  EXPECT_EQ(ReadJson(site, "swarm.json")["accepted"], 12) << text;
}

TEST(LiveSwarmTest, SlowDevicesTakePartToo) {
  Site site(2);
  Server server = site.Serve({"--cohort", "2", "--rounds", "1", "--noise-multiplier", "1",
                              "--min-devices", "2", "--model", "softmax-64-10"});
  const std::string text =
      Do(site,
         Swarm(site, server,
               {"--model", "softmax-64-10", "--slow", "500", "--json", site.Path("swarm.json")}));
  EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log) << text;
  EXPECT_EQ(ReadJson(site, "swarm.json")["accepted"], 2) << text;
  EXPECT_GT(ReadJson(site, "swarm.json")["latency_ms"]["p50"], 100) << text;
}

TEST(LiveSwarmTest, WhatCannotWorkIsSaid) {
  Site site(2);
  const auto says = [&](const Arguments& arguments, int code, const std::string& words) {
    const std::string text = Do(site, arguments, code);
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  const std::string store = site.Path("store");
  says({"swarm"}, 2, "--store RUN or with --keys FOLDER");
  says({"swarm", "--store", store, "--devices", "3"}, 2, "keys of 2 devices, and --devices asks");
  says({"swarm", "--store", store, "--server", "nonsense"}, 2, "expected HOST:PORT");
  Server server = site.Serve({"--cohort", "2", "--rounds", "1", "--noise-multiplier", "1"});
  says(Swarm(site, server, {"--model", "softmax-64-10"}), 3,
       "--model must name the model of its job");
}

TEST(LiveSwarmTest, HelpNamesEveryOption) {
  Site site(1);
  const std::string help = Do(site, {"swarm", "--help"});
  for (const char* option : {"--store",     "--keys",
                             "--devices",   "--server",
                             "--model",     "--threads",
                             "--addresses", "--connect-rate",
                             "--max-frame", "--hold",
                             "--train",     "--data",
                             "--partition", "--samples-per-device",
                             "--latency",   "--drop-out",
                             "--corrupt",   "--slow",
                             "--duration",  "--seed",
                             "--json"}) {
    // At the start of its entry, or behind the argument's name.
    const std::string name = std::string(option) + " ";
    EXPECT_TRUE(help.find("\n  " + name) != std::string::npos ||
                help.find("\n  STORE," + name) != std::string::npos)
        << option << help;
  }
}

}  // namespace
}  // namespace sotto::live
