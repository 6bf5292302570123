// The states of devices, what limits the log's lines, and the tables of SERVE.md about both.
#include "views/device_states.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/last_words.h"
#include "net/rates.h"
#include "service/log.h"
#include "service/served_devices.h"
#include "unit/test_folder.h"

namespace sotto::server {
namespace {

using Kind = DeviceSign::Kind;

DeviceRecord RecordNamed(const std::string& id) {
  DeviceRecord record;
  record.id = id;
  record.owner = "ward";
  return record;
}

DeviceSign SignOf(Kind kind, const std::string& text = "") {
  DeviceSign sign;
  sign.kind = kind;
  sign.id = "pi";
  sign.text = text;
  sign.from = "10.0.0.1";
  sign.other = "10.0.0.2";
  sign.round = 6;
  sign.late_ms = 3200;
  return sign;
}

class DeviceStatesTest : public testing::Test {
 protected:
  DeviceView View(double now) const { return states_.Of(pi_, now); }
  std::string StateAt(double now) const { return View(now).row->name; }

  DeviceRecord pi_ = RecordNamed("pi");
  DeviceStates states_;
};

TEST_F(DeviceStatesTest, ADeviceGoesThroughARound) {
  EXPECT_EQ(StateAt(1), "never-seen");
  EXPECT_EQ(View(1).last_seen, 0);
  states_.OnDevice("pi", true, 2);
  EXPECT_EQ(StateAt(2), "waiting");
  states_.OnSign(SignOf(Kind::kTrains), 3);
  EXPECT_EQ(View(4).text, "drawn for round 7, and has the task");
  EXPECT_EQ(View(4).since, 3);
  states_.OnSign(SignOf(Kind::kUploaded), 5);
  states_.OnSign(SignOf(Kind::kWaits), 6);
  EXPECT_EQ(StateAt(7), "uploaded");
  EXPECT_EQ(View(7).since, 5);
  states_.OnRound();
  EXPECT_EQ(View(8).rounds_silent, 0u) << "it is connected";
  EXPECT_EQ(StateAt(8), "waiting") << "that round is over";
  states_.OnDevice("pi", false, 9);
  EXPECT_EQ(StateAt(9), "away");
  EXPECT_EQ(View(9).text, "not connected, last seen 1970-01-01 00:00:09Z");
  states_.OnRound();
  states_.OnRound();
  EXPECT_EQ(StateAt(10), "silent");
  EXPECT_EQ(View(10).rounds_silent, 2u);
  EXPECT_EQ(View(10).since, 9);
  EXPECT_EQ(View(10).text, "not connected for 2 rounds, last seen 1970-01-01 00:00:09Z");
}

// Such as a cable that was pulled: what it did last is over with the attempt.
TEST_F(DeviceStatesTest, ADeviceThatIsLostAmidARoundIsSaidToBe) {
  states_.OnDevice("pi", true, 1);
  states_.OnSign(SignOf(Kind::kTrains), 2);
  states_.OnRound();
  EXPECT_EQ(View(10).text, "drawn for round 7, and has not asked again since that attempt ended");
  states_.OnSign(SignOf(Kind::kTrains), 12);
  EXPECT_EQ(View(20).last_seen, 12);
  states_.OnDevice("pi", false, 30, 16);
  EXPECT_EQ(View(30).last_seen, 14) << "when it was heard, not when its connection was given up";
  EXPECT_EQ(View(30).text,
            "drawn for round 7, and has the task; not connected since 1970-01-01 00:00:14Z");
  states_.OnRound();
  EXPECT_EQ(StateAt(31), "silent");
  states_.OnDevice("pi", true, 40);
  states_.OnSign(SignOf(Kind::kWaits), 40);
  EXPECT_EQ(StateAt(41), "waiting");
  EXPECT_EQ(View(41).since, 40);
}

TEST_F(DeviceStatesTest, WhatAJobAskedForIsOverWithIt) {
  states_.OnDevice("pi", true, 1);
  states_.OnSign(SignOf(Kind::kLacks, "momentum"), 2);
  states_.OnSign(SignOf(Kind::kLate), 3);
  states_.OnJob();
  EXPECT_EQ(StateAt(4), "waiting");
  states_.OnSign(SignOf(Kind::kTrains), 5);
  states_.OnJob();
  EXPECT_EQ(StateAt(6), "waiting") << "the round was another job's";
  states_.OnSign(SignOf(Kind::kTrains), 7);
  EXPECT_EQ(StateAt(8), "training");
}

TEST_F(DeviceStatesTest, WhatShutsItOutIsOverOnceItIsServed) {
  states_.OnDevice("pi", true, 1);
  states_.OnSign(SignOf(Kind::kLacks, "momentum"), 2);
  EXPECT_EQ(View(3).text, "told to wait, it lacks momentum");
  states_.OnSign(SignOf(Kind::kOtherModel, "it has a, and the job trains b"), 3);
  EXPECT_EQ(StateAt(3), "other-model");
  EXPECT_EQ(DescribeState("pi", View(3)),
            "pi: refused, it has a, and the job trains b; start it with that model, or let it "
            "take the job's: accept-model in its kit, --accept-model");
  states_.OnSign(SignOf(Kind::kOtherModel, "class 0 is \x1b[31mred"), 4);
  EXPECT_EQ(View(4).text, "refused, class 0 is \\x1b[31mred") << "its words change no terminal";
  states_.OnSign(SignOf(Kind::kWaits), 5);
  EXPECT_EQ(StateAt(5), "waiting");
}

TEST_F(DeviceStatesTest, ASlowDeviceIsToldByHowMuchUntilItIsInTime) {
  states_.OnDevice("pi", true, 1);
  states_.OnSign(SignOf(Kind::kLate), 2);
  states_.OnSign(SignOf(Kind::kWaits), 3);
  states_.OnSign(SignOf(Kind::kLate), 4);
  EXPECT_EQ(StateAt(5), "too-slow");
  EXPECT_EQ(View(5).text, "its update of round 7 came 3.2 s after the deadline, 2 times in a row");
  EXPECT_EQ(View(5).since, 2);
  states_.OnSign(SignOf(Kind::kUploaded), 6);
  EXPECT_EQ(StateAt(6), "uploaded");
}

// A name is no proof.
TEST_F(DeviceStatesTest, AClaimChangesNothingOfADeviceThatIsThere) {
  states_.OnSign(SignOf(Kind::kClaim), 1);
  EXPECT_EQ(StateAt(1), "claimed");
  EXPECT_EQ(View(1).last_seen, 0) << "nobody has seen the device";
  states_.OnDevice("pi", true, 2);
  for (int i = 0; i < 1000; ++i) states_.OnSign(SignOf(Kind::kClaim), 3);
  EXPECT_EQ(StateAt(3), "waiting");
  EXPECT_EQ(View(3).claims, 1000u);
}

TEST_F(DeviceStatesTest, AFormerKeyIsNamedUntilTheDeviceHasItsNewOne) {
  states_.OnSign(SignOf(Kind::kFormerKey), 1);
  EXPECT_EQ(StateAt(1), "old-key");
  EXPECT_EQ(View(1).text,
            "somebody with a key that was replaced connected 1 time, last from 10.0.0.1");
  states_.OnDevice("pi", true, 2);
  EXPECT_EQ(StateAt(2), "waiting");
  states_.OnSign(SignOf(Kind::kFormerKey), 2.5);
  EXPECT_EQ(StateAt(3), "old-key") << "somebody else has it";
  EXPECT_EQ(StateAt(700), "waiting") << "and tries no more";
  states_.OnDevice("pi", true, 2.7);
  pi_.revoked = 3;
  EXPECT_EQ(StateAt(4), "revoked");
  states_.OnSign(SignOf(Kind::kFormerKey), 5);
  EXPECT_EQ(View(6).text,
            "revoked 1970-01-01 00:00:03Z; somebody with its key connected 1 time, last from "
            "10.0.0.1");
}

// One takeover may be a close that was long on its way.
TEST_F(DeviceStatesTest, ThreeTakeoversAreTwoMachinesUntilTheyMeetNoMore) {
  states_.OnDevice("pi", true, 1);
  states_.OnSign(SignOf(Kind::kTakeover), 2);
  states_.OnSign(SignOf(Kind::kTakeover), 3);
  EXPECT_EQ(StateAt(3), "waiting");
  states_.OnSign(SignOf(Kind::kTakeover), 4);
  EXPECT_EQ(StateAt(5), "two-machines");
  EXPECT_NE(View(5).text.find("at 10.0.0.1 and 10.0.0.2, 3 times"), std::string::npos);
  EXPECT_EQ(StateAt(185), "waiting");
  states_.OnSign(SignOf(Kind::kTakeover), 200);
  EXPECT_EQ(StateAt(201), "two-machines") << "again";
  states_.OnNewKey("pi");
  EXPECT_EQ(StateAt(201), "waiting") << "the other machine has the old key";
  states_.OnSign(SignOf(Kind::kTakeover), 202);
  EXPECT_EQ(StateAt(203), "waiting") << "counted anew";
}

TEST_F(DeviceStatesTest, TheFileTellsTheNextStartWhenADeviceWasSeen) {
  const TestFolder folder;
  const std::string store = folder.Path("store");
  const auto records =
      std::make_shared<const std::vector<DeviceRecord>>(std::vector{pi_, RecordNamed("late")});
  std::vector<std::string> lines;
  const auto tell = [&](const std::string&, const DeviceView&, const std::string& line) {
    lines.push_back(line);
  };
  const auto before = ReadDeviceStates(store, *records, {});
  EXPECT_TRUE(before["as_of"].is_null());
  EXPECT_EQ(before["devices"][0]["state"], "never-seen");
  {
    ServedDevices served(
        store, [&] { return records; }, tell);
    served.OnDevice("pi", true);
    for (int i = 0; i < 9; ++i) served.OnSign(SignOf(Kind::kLacks, "momentum"));
    served.Write(true);
    EXPECT_EQ(served.Counts().at("lacks-feature"), 1u);
  }
  EXPECT_EQ(lines.size(), 1u) << "named once";
  const auto after = ReadDeviceStates(store, *records, {});
  EXPECT_EQ(after["devices"][0]["state"], "lacks-feature");
  EXPECT_EQ(after["devices"][0]["owner"], "ward");
  EXPECT_EQ(after["devices"][1]["state"], "never-seen");
  EXPECT_NE(DescribeDeviceStates(after, false).find("pi: told to wait, it lacks momentum; "),
            std::string::npos);
  ServedDevices next(
      store, [&] { return records; }, tell);
  EXPECT_STREQ(next.Of(pi_).row->name, "away");
  EXPECT_EQ(next.Of(pi_).text.find("not connected since this start of the server, last seen 20"),
            0u);
  EXPECT_STREQ(next.Of(RecordNamed("late")).row->name, "never-seen");
  std::ofstream(DeviceStatesFile(store)) << "{\"devices\": [7, {\"id\": 3}]}";
  EXPECT_EQ(ReadDeviceStates(store, *records, {})["devices"][0]["state"], "never-seen");
}

TEST_F(DeviceStatesTest, AStateThatIsOverIsToldAtOnceWhenItComesAgain) {
  const TestFolder folder;
  const auto records = std::make_shared<const std::vector<DeviceRecord>>(std::vector{pi_});
  size_t lines = 0;
  ServedDevices served(
      folder.Path("store"), [&] { return records; },
      [&](const std::string&, const DeviceView&, const std::string&) { ++lines; });
  served.OnDevice("pi", true);
  for (int i = 0; i < 3; ++i) served.OnSign(SignOf(Kind::kLacks, "momentum"));
  EXPECT_EQ(lines, 1u);
  served.OnSign(SignOf(Kind::kWaits));
  served.OnSign(SignOf(Kind::kLacks, "momentum"));
  EXPECT_EQ(lines, 2u);
}

// A device that waits and asks again and again is no reason to write the file.
TEST_F(DeviceStatesTest, TheFileIsWrittenWhenAStateChanges) {
  const TestFolder folder;
  const std::string store = folder.Path("store");
  const auto records = std::make_shared<const std::vector<DeviceRecord>>(std::vector{pi_});
  ServedDevices served(
      store, [&] { return records; },
      [](const std::string&, const DeviceView&, const std::string&) {});
  served.OnDevice("pi", true);
  served.Write(true);
  std::filesystem::remove(DeviceStatesFile(store));
  served.OnSign(SignOf(Kind::kWaits));
  served.Write();
  EXPECT_FALSE(std::filesystem::exists(DeviceStatesFile(store)));
  served.OnSign(SignOf(Kind::kLacks, "momentum"));  // which the log tells, so it is due at once
  served.Write();
  EXPECT_EQ(ReadDeviceStates(store, *records, {})["devices"][0]["state"], "lacks-feature");
}

TEST(LimitedLinesTest, AReasonIsLoggedAtOnceAndThenEverMoreSeldom) {
  LimitedLines lines;
  EXPECT_EQ(lines.Take("old-key", "pi", "pi", 1000), "pi");
  EXPECT_EQ(lines.Take("old-key", "pi", "pi", 2000), std::nullopt);
  EXPECT_EQ(lines.Take("old-key", "mo", "mo", 2000), "mo; 1 more before") << "another device";
  EXPECT_EQ(lines.Take("claimed", "pi", "pi", 2000), "pi") << "another reason";
  EXPECT_EQ(lines.Take("old-key", "pi", "pi", 61'000), "pi");
  EXPECT_EQ(lines.Take("old-key", "pi", "pi", 161'000), std::nullopt) << "two minutes now";
  EXPECT_EQ(lines.Take("old-key", "pi", "pi", 181'000), "pi; 1 more before");
  lines.End("old-key", "pi");
  EXPECT_EQ(lines.Take("old-key", "pi", "pi", 182'000), "pi") << "new again";
}

TEST(LimitedLinesTest, AWholeFleetWithOneFaultDoesNotFillTheLog) {
  LimitedLines lines;
  int told = 0;
  for (int i = 0; i < 10'000; ++i) {
    told += lines.Take("other-model", std::to_string(i), "a line", 1) ? 1 : 0;
  }
  EXPECT_EQ(told, 20);
  EXPECT_EQ(lines.Take("other-model", "9999", "a line", 10'001), "a line; 9980 more before");
}

std::string LoggedBy(const ServeLog& log) {
  testing::internal::CaptureStderr();
  log.Write("listening on 127.0.0.1");
  log.Write("WARNING: the disk");
  log.Write(event::kDetail, "a stranger: left");
  log.Write(event::kDeviceState, "pi: it lacks \"x\"", {{"device", "pi"}, {"round", uint64_t{3}}});
  return testing::internal::GetCapturedStderr();
}

TEST(ServeLogTest, JsonHasEventsAndLevelsAndTheLinesForPeople) {
  std::stringstream lines(LoggedBy(ServeLog("json", "warning")));
  std::vector<nlohmann::json> events;
  for (std::string line; std::getline(lines, line);) events.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(events.size(), 2u) << "of this level and above";
  EXPECT_EQ(events[0]["event"], "warning");
  EXPECT_EQ(events[0]["text"], "WARNING: the disk");
  EXPECT_EQ(events[1]["level"], "warning");
  EXPECT_EQ(events[1]["device"], "pi");
  EXPECT_EQ(events[1]["round"], 3);
  EXPECT_EQ(events[1]["text"], "pi: it lacks \"x\"");
}

TEST(ServeLogTest, LinesAreAsTheListenerGetsThem) {
  ServeLog log;
  std::vector<std::string> heard;
  log.Listen([&](const std::string& line) { heard.push_back(line); });
  const std::string lines = LoggedBy(log);
  ASSERT_EQ(heard.size(), 3u);
  EXPECT_EQ(lines, heard[0] + "\n" + heard[1] + "\n" + heard[2] + "\n");
  EXPECT_EQ(heard[0].substr(19), "Z listening on 127.0.0.1") << heard[0];
}

TEST(ServeLogTest, TheLastWordsOfALogForMachinesAreForThem) {
  LogLastWords("lines");
  EXPECT_FALSE(TheLastWords()) << "as any program says them";
  LogLastWords("json");
  testing::internal::CaptureStderr();
  TheLastWords()("stopped; a later start goes on here", 143);
  TheLastWords()("fleet.db: it is damaged", 1);
  TheLastWords() = {};
  std::stringstream lines(testing::internal::GetCapturedStderr());
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(nlohmann::json::parse(line)["event"], "stopped");
  EXPECT_EQ(nlohmann::json::parse(line)["status"], 143);
  std::getline(lines, line);
  EXPECT_EQ(nlohmann::json::parse(line)["event"], "failed");
  EXPECT_EQ(nlohmann::json::parse(line)["text"], "fleet.db: it is damaged");
}

std::string ServePageText() {
  std::ifstream file(SOTTO_SOURCE_DIR "/server/SERVE.md");
  std::stringstream page;
  page << file.rdbuf();
  return page.str();
}

TEST(ServePageTables, TheStatesAreThoseOfTheCode) {
  const std::string page = ServePageText();
  for (const DeviceStateRow& row : kDeviceStates) {
    const std::string text = std::string("| `") + row.name + "` | " + Name(row.severity) + " | " +
                             row.meaning + " | " + row.todo + " |";
    EXPECT_NE(page.find(text), std::string::npos) << text;
  }
}

TEST(ServePageTables, TheEventsAreThoseOfTheCode) {
  const std::string page = ServePageText();
  for (const event::Row& row : event::kAll) {
    const std::string level = posix::LogLevelNames()[static_cast<size_t>(row.kind->level)];
    const std::string text = std::string("| `") + row.kind->name + "` | " + level + " | " +
                             row.fields + " | " + row.meaning + " |";
    EXPECT_NE(page.find(text), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace sotto::server
