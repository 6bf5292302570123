// The log of a program that runs for long: formats, levels, repeats, and texts that come from
// others; and the table of sotto-client's events.
#include "sotto/log/event_log.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>

#include "ports/posix/client/events.h"
#include "sotto/log/json_text.h"

namespace sotto::posix {
namespace {

constexpr EventKind kDrawn = {"drawn", LogLevel::kInfo, "drawn for round {round} of {name}"};
constexpr EventKind kLost = {"lost", LogLevel::kWarning, "lost: {reason}", true};
constexpr EventKind kEnded = {"ended", LogLevel::kError, "ended"};
constexpr EventKind kDetail = {"detail", LogLevel::kDebug,
                               "{bytes} bytes in {seconds}, {pause_ms}"};

// A log whose lines and clocks are the test's.
struct Log {
  explicit Log(LogFormat format, LogLevel level = LogLevel::kInfo)
      : log("program", {format, level, [this](const std::string& line) { text += line; },
                        [] { return uint64_t{1795452040123}; }, [this] { return now_ms; }}) {}

  std::string text;
  uint64_t now_ms = 5'000'000;
  EventLog log;
};

TEST(EventLog, ALineHasWhatItsFormatSays) {
  const EventFields fields = {{"round", 3}, {"name", "lenet"}};
  for (const auto& [format, line] :
       {std::pair<LogFormat, const char*>{TerminalLine, "kitchen: drawn for round 3 of lenet\n"},
        {TimedLine, "2026-11-23 16:40:40Z kitchen: drawn for round 3 of lenet\n"},
        {JournalLine, "<6>kitchen: drawn for round 3 of lenet\n"},
        {JsonLine,
         "{\"time\":\"2026-11-23T16:40:40.123Z\",\"level\":\"info\",\"event\":\"drawn\","
         "\"device\":\"kitchen\",\"round\":3,\"name\":\"lenet\"}\n"}}) {
    Log log(format);
    log.log.SetDevice("kitchen");
    log.log.Write(kDrawn, fields);
    EXPECT_EQ(log.text, line);
  }
}

TEST(EventLog, BeforeTheDeviceIsKnownTheProgramSpeaks) {
  Log lines(TerminalLine);
  lines.log.Write(kEnded);
  EXPECT_EQ(lines.text, "program: ended\n");
  Log json(JsonLine);
  json.log.Write(kEnded);
  EXPECT_EQ(json.text,
            "{\"time\":\"2026-11-23T16:40:40.123Z\",\"level\":\"error\",\"event\":\"ended\"}\n");
}

TEST(EventLog, TimesAreSecondsForPeopleAndNumbersForPrograms) {
  const EventFields fields = {
      {"bytes", 12}, {"seconds", Seconds{1.25}}, {"pause_ms", Milliseconds{730}}};
  Log lines(TerminalLine, LogLevel::kDebug);
  lines.log.Write(kDetail, fields);
  EXPECT_EQ(lines.text, "program: 12 bytes in 1.2 s, 0.7 s\n");
  Log json(JsonLine, LogLevel::kDebug);
  json.log.Write(kDetail, fields);
  EXPECT_NE(json.text.find("\"bytes\":12,\"seconds\":1.25,\"pause_ms\":730}\n"), std::string::npos);
}

TEST(EventLog, EventsBelowTheLevelAreNotWritten) {
  const std::vector<std::string>& names = LogLevelNames();
  const char* const expected[] = {"ended", "lost", "drawn", "bytes"};
  for (size_t level = 0; level < names.size(); ++level) {
    Log log(TerminalLine, LogLevelOf(names[level]));
    for (const EventKind* kind : {&kEnded, &kLost, &kDrawn, &kDetail}) log.log.Write(*kind);
    for (size_t i = 0; i < names.size(); ++i) {
      EXPECT_EQ(log.text.find(expected[i]) != std::string::npos, i <= level) << log.text;
    }
  }
  EXPECT_THROW(LogLevelOf("loud"), std::invalid_argument);
  EXPECT_THROW(LogFormatFor("xml"), std::invalid_argument);
}

// The first at once, then one at most in a minute, in two, ..., in an hour; and anew after End().
TEST(EventLog, WhatRepeatsIsToldAtOnceAndThenSeldom) {
  Log log(TerminalLine);
  EXPECT_FALSE(log.log.End(kLost));
  const uint64_t begin_ms = log.now_ms;
  constexpr uint64_t kDayMs = 86'400'000;
  std::vector<uint64_t> minutes;
  for (; log.now_ms - begin_ms <= kDayMs; log.now_ms += 1000) {
    const size_t before = log.text.size();
    log.log.Write(kLost, {{"reason", "no server"}});
    if (log.text.size() > before) minutes.push_back((log.now_ms - begin_ms) / 60'000);
  }
  ASSERT_GE(minutes.size(), 9u);
  EXPECT_EQ(std::vector<uint64_t>(minutes.begin(), minutes.begin() + 9),
            (std::vector<uint64_t>{0, 1, 3, 7, 15, 31, 63, 123, 183}));
  EXPECT_TRUE(log.log.End(kLost));
  const size_t before = log.text.size();
  log.log.Write(kLost);
  EXPECT_GT(log.text.size(), before);
}

TEST(EventLog, BetweenTheyAreForDebugging) {
  Log log(JournalLine, LogLevel::kDebug);
  for (int i = 0; i < 2; ++i) log.log.Write(kLost, {{"reason", "x"}});
  EXPECT_EQ(log.text, "<4>program: lost: x\n<7>program: lost: x\n");
}

TEST(EventLog, AHostileTextNeitherAddsALineNorChangesATerminalNorNamesAField) {
  const std::string hostile = "\x1b[31m\nfake: line\r\x7f\xc2\x9b{round}\"},\\\xff";
  const EventFields fields = {{"round", 3}, {"name", hostile}};
  Log lines(TerminalLine);
  lines.log.Write(kDrawn, fields);
  EXPECT_EQ(
      lines.text,
      "program: drawn for round 3 of \\x1b[31m\\x0afake: line\\x0d\\x7f\\xc2\\x9b{round}\"},\\"
      "\\xff\n");
  Log json(JsonLine);
  json.log.Write(kDrawn, fields);
  EXPECT_NE(json.text.find("\"name\":\"\\u001b[31m\\u000afake: line\\u000d\\u007f\\u009b{round}"
                           "\\\"},\\\\\\ufffd\"}\n"),
            std::string::npos)
      << json.text;
}

TEST(JsonText, ATextIsValidUtf8WhateverItsBytes) {
  EXPECT_EQ(JsonText("k\xc3\xbc"
                     "che \xe2\x82\xac \xf0\x9f\x8d\x9e"),
            "\"k\xc3\xbc"
            "che \xe2\x82\xac \xf0\x9f\x8d\x9e\"");
  EXPECT_EQ(JsonText("\xe2\x80\xa8"), "\"\\u2028\"");
  for (const char* bad : {"\x80", "\xc1", "\xff", "\xf5"}) EXPECT_EQ(JsonText(bad), "\"\\ufffd\"");
  EXPECT_EQ(JsonText("\xc3"), "\"\\ufffd\"") << "cut off";
  EXPECT_EQ(JsonText("\xc3("), "\"\\ufffd(\"");
  EXPECT_EQ(JsonText("\xc0\xaf"), "\"\\ufffd\\ufffd\"") << "longer than it need be";
  EXPECT_EQ(JsonText("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"") << "a surrogate";
  EXPECT_EQ(JsonText("\xf4\x90\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"") << "above U+10FFFF";
  EXPECT_EQ(JsonText(std::string_view("\0", 1)), "\"\\u0000\"");
}

TEST(JsonText, NumbersReadBack) {
  EXPECT_EQ(JsonText(UINT64_MAX), "18446744073709551615");
  EXPECT_EQ(JsonText(0.1), "0.1");
  EXPECT_EQ(std::strtod(JsonText(1.0 / 3).c_str(), nullptr), 1.0 / 3);
  EXPECT_EQ(JsonText(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(JsonText(std::numeric_limits<double>::quiet_NaN()), "null");
}

std::string ClientPage() {
  std::ifstream file(SOTTO_SOURCE_DIR "/ports/posix/client/README.md");
  std::stringstream page;
  page << file.rdbuf();
  return page.str();
}

// Its row names the event, its level and all of its fields.
void ExpectOnPage(const std::string& page, const EventKind& kind) {
  const std::string start = "| `" + std::string(kind.name) + "` | " +
                            LogLevelNames()[static_cast<size_t>(kind.level)] + " | ";
  const size_t begin = page.find(start);
  ASSERT_NE(begin, std::string::npos) << start;
  const std::string row = page.substr(begin, page.find('\n', begin) - begin);
  for (std::string_view rest = kind.text; rest.find('{') != std::string_view::npos;) {
    rest.remove_prefix(rest.find('{') + 1);
    const std::string field = "`" + std::string(rest.substr(0, rest.find('}'))) + "`";
    EXPECT_NE(row.find(field), std::string::npos) << row << ": no " << field;
  }
}

TEST(ClientEvents, TheTablesOfThePageAreThoseOfTheCode) {
  const std::string page = ClientPage();
  for (const EventKind* kind : event::kAll) ExpectOnPage(page, *kind);
  for (const EventKind* kind : peer_event::kAll) ExpectOnPage(page, *kind);
}

}  // namespace
}  // namespace sotto::posix
