// Tests of what `sotto serve` tells its operator (service/report.h).
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "service/report.h"
#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

DeviceRegistry ThreeDevices() {
  DeviceRegistry devices;
  for (uint8_t i = 0; i < 3; ++i) {
    Device device;
    device.id = "device-" + std::to_string(i);
    device.secret.bytes[0] = static_cast<uint8_t>(i + 1);
    devices.Register(device);
  }
  return devices;
}

RoundOutcome RoundWith(uint32_t cohort, uint32_t reported) {
  RoundOutcome outcome;
  outcome.released = true;
  outcome.cohort = cohort;
  outcome.reported = reported;
  return outcome;
}

bool Says(const std::vector<std::string>& lines, const std::string& words) {
  for (const std::string& line : lines) {
    if (line.find(words) != std::string::npos) return true;
  }
  return false;
}

TEST(ServeReport, AQuietRoundWarnsOfNothing) {
  const DeviceRegistry devices = ThreeDevices();
  EXPECT_TRUE(WarningsOf(RoundWith(4, 2), devices).empty());
}

TEST(ServeReport, LessThanHalfOfTheCohortIsAWarning) {
  const DeviceRegistry devices = ThreeDevices();
  EXPECT_TRUE(Says(WarningsOf(RoundWith(4, 1), devices), "WARNING: round 1: 1 of 4 reported"));
}

TEST(ServeReport, AnAttemptThatIsGivenUpNamesWhatWasTooFew) {
  RoundOutcome outcome = RoundWith(4, 1);
  outcome.released = false;
  outcome.devices = outcome.checked_in = 12;
  JobConfig config = SmallPassesConfig();
  config.quorum = 2;
  EXPECT_TRUE(
      Says({DescribeOutcome(config, outcome, false)}, "1 of 4 reported, and the quorum is 2"));
  config = SmallConfig();
  config.min_devices = 13;
  EXPECT_TRUE(
      Says({DescribeOutcome(config, outcome, false)}, "12 of 12 devices checked in, too few"));
}

TEST(ServeReport, ALateResultIsAnAlarm) {
  const DeviceRegistry devices = ThreeDevices();
  RoundOutcome outcome = RoundWith(3, 3);
  outcome.late_ms = 70;
  EXPECT_TRUE(Says(WarningsOf(outcome, devices), "came 70 ms after its time"));
}

TEST(ServeReport, DevicesThatExceedTheBoundAreNamedAndCounted) {
  const DeviceRegistry devices = ThreeDevices();
  OperatorReport report([&] { return Unowned(devices); });
  RoundOutcome outcome = RoundWith(3, 2);
  outcome.beyond_bound = {0, 2};
  EXPECT_TRUE(Says(WarningsOf(outcome, devices), "device-0, device-2"));
  report.Add(outcome);
  outcome.beyond_bound = {2};
  report.Add(outcome);
  const nlohmann::ordered_json json = report.ToJson();
  EXPECT_EQ(json["beyond_bound"], (nlohmann::ordered_json{{"device-0", 1}, {"device-2", 2}}));
  EXPECT_EQ(json["warnings"].size(), 2U);
  EXPECT_EQ(json["attempts"].size(), 2U);
}

TEST(ServeReport, DevicesThatLackSomethingAreCountedAndIfAllDoItWarns) {
  const DeviceRegistry devices = ThreeDevices();
  OperatorReport report([&] { return Unowned(devices); });
  RoundOutcome outcome = RoundWith(3, 2);
  outcome.checked_in = 2;
  outcome.lacking = {1, 1, {{1, 1, 10, 4}, {}}};
  EXPECT_TRUE(WarningsOf(outcome, devices).empty());
  JobConfig config = SmallConfig();
  config.codec = FindCodec("none");
  const std::string suits = "a job with --batch-size 4 suits all of them";
  EXPECT_TRUE(Says({DescribeOutcome(config, outcome, false)}, suits));
  report.Add(outcome);
  outcome.released = false;
  outcome.checked_in = 0;
  EXPECT_TRUE(Says({DescribeOutcome(config, outcome, false)}, suits));
  EXPECT_TRUE(Says(WarningsOf(outcome, devices), "NO device that asked for work has what"));
  report.Add(RoundWith(3, 3));
  const nlohmann::ordered_json attempts = report.ToJson()["attempts"];
  EXPECT_EQ(attempts[0]["lacking"].dump(),
            R"({"devices":1,"drawn":1,)"
            R"("largest_batch":{"devices":1,"drawn":1,"needed":10,"least":4}})");
  EXPECT_EQ(attempts[1]["lacking"].dump(), R"({"devices":0,"drawn":0})");
}

// A resumed job's object begins at the resume, and says so.
TEST(ServeReport, TheOperatorsObjectSaysFromWhichAttemptItKnows) {
  const DeviceRegistry devices = ThreeDevices();
  OperatorReport report([&] { return Unowned(devices); });
  EXPECT_TRUE(report.ToJson()["first_attempt"].is_null());
  RoundOutcome outcome = RoundWith(3, 3);
  outcome.round = 4;
  outcome.attempt = 1;
  report.Add(outcome);
  outcome.round = 5;
  report.Add(outcome);
  const nlohmann::ordered_json json = report.ToJson();
  EXPECT_EQ(json["first_attempt"], (nlohmann::ordered_json{{"round", 5}, {"attempt", 2}}));
  EXPECT_NE(json["note"].get<std::string>().find("this start"), std::string::npos);
}

}  // namespace
}  // namespace sotto::server
