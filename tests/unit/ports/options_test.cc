// Numbers, addresses and configuration files: every text is what it says, or is refused.
#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "sotto/options/nearest.h"
#include "sotto/options/numbers.h"
#include "sotto/options/toml.h"

namespace sotto::posix {
namespace {

TEST(Options, CountsAreDecimalDigitsAndFit) {
  EXPECT_EQ(ParseCount("0"), 0u);
  EXPECT_EQ(ParseCount("18446744073709551615"), UINT64_MAX);
  for (const char* text : {"", "-1", "-0", "+1", "00", "010", "0x10", "1e3", "1.0", " 1", "1 ",
                           "18446744073709551616", "nan", "1_000", "true"}) {
    EXPECT_FALSE(ParseCount(text)) << text;
  }
}

TEST(Options, IntegersMayBeNegative) {
  EXPECT_EQ(ParseInteger("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(ParseInteger("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(ParseInteger("0"), 0);
  for (const char* text : {"", "-", "--1", "+1", "-0", "-01", "0x10", "9223372036854775808"}) {
    EXPECT_FALSE(ParseInteger(text)) << text;
  }
}

TEST(Options, RealsAreDecimalAndNeverNan) {
  EXPECT_EQ(ParseReal("0.1"), 0.1);
  EXPECT_EQ(ParseReal("-2.5e-3"), -2.5e-3);
  EXPECT_EQ(ParseReal("1e+06"), 1e6);
  EXPECT_EQ(ParseReal("inf"), INFINITY);
  EXPECT_EQ(ParseReal("-inf"), -INFINITY);
  for (const char* text : {"", "nan", "-nan", "NAN", "INF", "infinity", "0x1p3", "1e999", "1e-999",
                           "+1", " 1", "1 ", "1,5", "e5", "1f"}) {
    EXPECT_FALSE(ParseReal(text)) << text;
  }
}

TEST(Options, AnAddressIsAHostAndAPort) {
  struct Row {
    const char* text;
    const char* host;
    uint16_t port;
  };
  for (const Row& row : {Row{"sotto.example:7177", "sotto.example", 7177},
                         {"127.0.0.1:0", "127.0.0.1", 0},
                         {"[::1]:65535", "::1", 65535}}) {
    const std::optional<HostPort> address = ParseHostPort(row.text);
    ASSERT_TRUE(address) << row.text;
    EXPECT_EQ(address->host, row.host);
    EXPECT_EQ(address->port, row.port);
  }
  for (const char* text : {"", "host", ":1", "host:", "host:-1", "host:0x10", "host:65536",
                           "HOST:1:2", "::1:7177", "[]:1", "[::1]", "[a]b:1", "a b:1", "host: 1"}) {
    EXPECT_FALSE(ParseHostPort(text)) << text;
  }
}

TEST(Toml, SectionsKeysAndValues) {
  const std::vector<Setting> settings = ParseToml(
      "# a comment\n"
      "\n"
      "a = 5\r\n"
      "  b=\"x # \\\"y\\\\ \"  # a comment\n"
      "c = '\\n#'\n"
      "keys.d = true\n"
      "[serve]\n"
      "a = word\n"
      "[keys.new] # a comment\n"
      "a = -1.5e-3");
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"a", "5"},         {"b", "x # \"y\\ "}, {"c", "\\n#"},
      {"keys.d", "true"}, {"serve.a", "word"}, {"keys.new.a", "-1.5e-3"}};
  ASSERT_EQ(settings.size(), expected.size());
  for (size_t i = 0; i < settings.size(); ++i) {
    EXPECT_EQ(FullName(settings[i]), expected[i].first);
    EXPECT_EQ(settings[i].value, expected[i].second);
  }
  EXPECT_EQ(settings.back().line, 10);
  EXPECT_TRUE(ParseToml("").empty());
  EXPECT_TRUE(ParseToml("\n").empty());
}

TEST(Toml, EverythingElseIsRefusedWithItsLine) {
  struct Row {
    const char* text;
    const char* message;
  };
  for (const Row& row : {Row{"a = 1\na = 1", "line 2: a comes twice"},
                         {"a = 1\nb = 2\na = 3", "line 3: a comes twice"},
                         {"x.a = 1\n[x]\na = 2", "line 3: x.a comes twice"},
                         {"[x]\n[y]\n[x]", "line 3: [x] comes twice"},
                         {"a = [1]", "line 1: a has an array"},
                         {"a = [", "a has an array"},
                         {"a = 1, 2", "a = 1 is followed by , 2"},
                         {"a = {b = 1}", "a has a table"},
                         {"a = 1 2", "a = 1 is followed by 2"},
                         {"a = \"x\" y", "is followed by y"},
                         {"a = \"\"\"x\"\"\"", "is followed by"},
                         {"a = \"x", "a has no closing \""},
                         {"a = 'x", "a has no closing '"},
                         {"a = \"\\q\"", "unknown escape \\q"},
                         {"a = \"\\", "a has no closing"},
                         {"a =", "a has no value"},
                         {"a = # 1", "a has no value"},
                         {"a", "a: expected KEY = VALUE"},
                         {"= 1", "expected KEY = VALUE"},
                         {"a b = 1", "a: expected KEY = VALUE"},
                         {"; a", "expected KEY = VALUE"},
                         {"[x", "[x] has no closing ]"},
                         {"[x] y", "[x] is followed by y"},
                         {"[[x]]", "arrays of sections"},
                         {"[]", "expected KEY = VALUE or [SECTION]"}}) {
    try {
      ParseToml(row.text);
      ADD_FAILURE() << row.text;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(row.message), std::string::npos)
          << row.text << ": " << error.what();
    }
  }
}

TEST(Toml, ArraysAndEntriesWhereTheyAreTaken) {
  const std::vector<Setting> settings = ParseToml(
      "input = [28, 28,1] # height, width, channels\nname = \"a\"\n[[layer]]\nkind = 'relu'\n"
      "[[layer]]\nkind = 'tanh'\nempty = [ ]\nwords = [\"a, b\", 'c]' ]\n",
      TomlArrays::kTaken);
  ASSERT_EQ(settings.size(), 8u);
  EXPECT_EQ(settings[0].kind, Setting::Kind::kArray);
  EXPECT_EQ(settings[0].items, (std::vector<std::string>{"28", "28", "1"}));
  EXPECT_EQ(settings[1].kind, Setting::Kind::kText);
  EXPECT_EQ(settings[2].kind, Setting::Kind::kEntry);
  EXPECT_EQ(settings[3].entry, 1u);
  EXPECT_EQ(settings[4].line, 5);
  EXPECT_EQ(settings[5].entry, 2u);
  EXPECT_TRUE(settings[6].items.empty());
  EXPECT_EQ(settings[7].kind, Setting::Kind::kTexts);
  EXPECT_EQ(settings[7].items, (std::vector<std::string>{"a, b", "c]"}));
}

TEST(Toml, MalformedArraysAndEntriesAreRefusedWithTheirLine) {
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"a = [1, 2", "line 1: a has no closing ] on its line"},
           {"a = [1 2]", "line 1: a: expected , or ] before 2]"},
           {"a = [[1]]",
            "line 1: a: an array holds numbers, for example [28, 28, 1], or texts in quotes"},
           {"a = [,]",
            "line 1: a: an array holds numbers, for example [28, 28, 1], or texts in quotes"},
           {"a = [1, \"b\"]", "line 1: a: an array holds numbers, or texts in quotes, not both"},
           {"a = ['b', c]", "line 1: a: an array holds numbers, or texts in quotes, not both"},
           {"a = ['b, 'c']", "line 1: a: expected , or ] before c']"},
           {"a = [\"b]", "line 1: a has no closing \""},
           {"a = [1] 2", "line 1: the array of a is followed by 2"},
           {"[[b]", "line 1: [[b]] has no closing ]"},
           {"[b]\n[[b]]", "line 2: [[b]] comes twice"},
           {"[[b]]\n[b]", "line 2: [b] comes twice"},
           {"[[b]]\nc = 1\nc = 2", "line 3: b.c comes twice"}}) {
    try {
      ParseToml(text, TomlArrays::kTaken);
      ADD_FAILURE() << text;
    } catch (const TomlError& error) {
      EXPECT_EQ(error.what(), why) << text;
    }
  }
}

TEST(Nearest, CountsCharactersToInsertDeleteReplaceOrExchange) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("abc", "abc"), 0u);
  EXPECT_EQ(EditDistance("abc", "ac"), 1u);
  EXPECT_EQ(EditDistance("abc", "acb"), 1u) << "neighbours exchanged";
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
}

TEST(Nearest, TheNearestNameIsOneThatSomebodyMayHaveMeant) {
  const std::vector<std::string> names = {"rounds", "cohort", "epsilon", "epsilon-budget", "id"};
  EXPECT_EQ(NearestName("roundz", names), "rounds");
  EXPECT_EQ(NearestName("chort", names), "cohort");
  EXPECT_EQ(NearestName("ronuds", names), "rounds");
  EXPECT_EQ(NearestName("eps", names), "epsilon") << "the first of two that begin with it";
  EXPECT_EQ(NearestName("epsilon-b", names), "epsilon-budget");
  EXPECT_EQ(NearestName("xyzzy", names), "");
  EXPECT_EQ(NearestName("xy", names), "") << "no character in common";
  EXPECT_EQ(NearestName("", names), "");
  EXPECT_EQ(NearestName("rounds", {}), "");
  EXPECT_EQ(DidYouMean("roundz", names, "--"), "; did you mean --rounds?");
  EXPECT_EQ(DidYouMean("xyzzy", names), "");
}

}  // namespace
}  // namespace sotto::posix
