// Numbers, addresses and configuration files: every text is what it says, or is refused.
#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
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

TEST(Options, ServersAreAddressesWithCommasBetweenThem) {
  const auto texts = [](const char* text) {
    std::string all;
    for (const HostPort& server : ParseServers(text)) all += AddressText(server) + " ";
    return all;
  };
  EXPECT_EQ(texts("sotto.example:7177"), "sotto.example:7177 ");
  EXPECT_EQ(texts("a:1,[2001:db8::7]:7177,127.0.0.1:65535"),
            "a:1 [2001:db8::7]:7177 127.0.0.1:65535 ");
  for (const char* text : {"", ",", "a:1,", ",a:1", "a:1,,b:2", "a:1, b:2", "a:1,b", "a:1,b:0",
                           "a:0", "a:1;b:2", "a:1 b:2"}) {
    EXPECT_TRUE(ParseServers(text).empty()) << text;
  }
}

using Settings = std::vector<std::pair<std::string, int>>;

// "name=value kind" of each setting, and its line.
Settings SettingsOf(std::string_view text) {
  constexpr const char* kKinds[] = {"text",  "integer", "real", "boolean",
                                    "array", "texts",   "entry"};
  Settings settings;
  for (const Setting& setting : ParseToml(text, TomlArrays::kTaken)) {
    std::string shown = FullName(setting) + "=" + setting.value;
    for (const std::string& item : setting.items) shown += item + ";";
    shown += std::string(" ") + kKinds[static_cast<int>(setting.kind)];
    if (setting.entry > 0) shown += " " + std::to_string(setting.entry);
    settings.emplace_back(shown, setting.line);
  }
  return settings;
}

TEST(Toml, SectionsKeysAndValuesInTheOrderOfTheFile) {
  EXPECT_EQ(SettingsOf("# a comment\n"
                       "\n"
                       "z = 5\r\n"
                       "  b=\"x # \\\"y\\\\ \"  # a comment\n"
                       "c = '\\n#'\n"
                       "keys.d = true\n"
                       "[serve]\n"
                       "a = 'word'\n"
                       "[keys.new] # a comment\n"
                       "a = -1.5e-3"),
            (Settings{{"z=5 integer", 3},
                      {"b=x # \"y\\  text", 4},
                      {"c=\\n# text", 5},
                      {"keys.d=true boolean", 6},
                      {"serve.a=word text", 8},
                      {"keys.new.a=-1.5e-3 real", 10}}));
  EXPECT_TRUE(ParseToml("").empty());
  EXPECT_TRUE(ParseToml("\n").empty());
  EXPECT_TRUE(ParseToml("[empty]\n").empty());
}

TEST(Toml, AllWaysToWriteAnOptionAreOne) {
  for (const char* text :
       {"serve.rounds = 5", "[serve]\nrounds = 5", "\"serve\".'rounds' = 5", "serve . rounds = 5",
        "serve = {rounds = 5}", "serve = { \"rounds\" = 0x5 }", "[ serve ]\r\n\"rounds\" = +5\r\n",
        "\xEF\xBB\xBFserve.rounds = 5", "\xEF\xBB\xBF[serve]\nrounds = 0b101"}) {
    const std::vector<Setting> settings = ParseToml(text);
    ASSERT_EQ(settings.size(), 1u) << text;
    EXPECT_EQ(settings[0].section, std::vector<std::string>{"serve"}) << text;
    EXPECT_EQ(settings[0].key, "rounds") << text;
    EXPECT_EQ(settings[0].value, "5") << text;
    EXPECT_EQ(settings[0].kind, Setting::Kind::kInteger) << text;
  }
}

TEST(Toml, ARealKeepsItsTextAndAnIntegerIsDecimal) {
  for (const auto& [written, value] : std::vector<std::pair<std::string, std::string>>{
           {"0.1", "0.1"},
           {"1.0", "1.0"},
           {"4e-5", "4e-5"},
           {"1e-05", "1e-05"},
           {"+1_000.50", "1000.50"},
           {"-0.0", "-0.0"},
           {"3e+38", "3e+38"},
           {"inf", "inf"},
           {"+inf", "inf"},
           {"-inf", "-inf"},
           {"nan", "nan"},
           {"1_000", "1000"},
           {"0xFF", "255"},
           {"0o17", "15"},
           {"-0", "0"},
           {"9223372036854775807", "9223372036854775807"},
           {"\"18446744073709551615\"", "18446744073709551615"}}) {
    const std::vector<Setting> settings = ParseToml("\"ä\" = {a = \"ä\", b = " + written + "}");
    ASSERT_EQ(settings.size(), 2u) << written;
    EXPECT_EQ(settings[1].value, value) << written;
  }
  EXPECT_EQ(ParseCount(ParseToml("seed = \"18446744073709551615\"")[0].value), UINT64_MAX);
  EXPECT_FALSE(ParseCount(ParseToml("rounds = 1.0")[0].value)) << "no count";
  EXPECT_FALSE(ParseReal(ParseToml("clip = nan")[0].value)) << "no number";
}

TEST(Toml, TextsOfAllKinds) {
  EXPECT_EQ(SettingsOf("a = \"\"\"\nx\n  y\"\"\"\nb = '''\\z'''\nc = \"\\u00e4\\t\"\nd = \"\"\n"
                       "e = 'C:\\data'"),
            (Settings{{"a=x\n  y text", 1},
                      {"b=\\z text", 4},
                      {"c=ä\t text", 5},
                      {"d= text", 6},
                      {"e=C:\\data text", 7}}));
}

TEST(Toml, ArraysAndEntriesWhereTheyAreTaken) {
  EXPECT_EQ(SettingsOf("input = [28, 28,1] # height, width, channels\nname = \"a\"\n[[layer]]\n"
                       "kind = 'relu'\n[[layer]]\nkind = 'tanh'\nempty = [ ]\n"
                       "words = [\"a, b\",\n  'c]', # the last\n]\nmeans = [1, 2.50,\n3e1]\n"),
            (Settings{{"input=28;28;1; array", 1},
                      {"name=a text", 2},
                      {"layer.= entry 1", 3},
                      {"layer.kind=relu text 1", 4},
                      {"layer.= entry 2", 5},
                      {"layer.kind=tanh text 2", 6},
                      {"layer.empty= array 2", 7},
                      {"layer.words=a, b;c]; texts 2", 8},
                      {"layer.means=1;2.50;3e1; array 2", 11}}));
  EXPECT_EQ(SettingsOf("layer = [{kind = 'relu'}, {kind = 'tanh', b.c = 1}]"),
            (Settings{{"layer.= entry 1", 1},
                      {"layer.kind=relu text 1", 1},
                      {"layer.= entry 2", 1},
                      {"layer.kind=tanh text 2", 1},
                      {"layer.b.c=1 integer 2", 1}}));
}

struct Refused {
  std::string text;
  std::string message;
};

void ExpectTomlRefused(const std::vector<Refused>& rows, TomlArrays arrays = TomlArrays::kTaken) {
  for (const Refused& row : rows) {
    try {
      ParseToml(row.text, arrays);
      ADD_FAILURE() << "taken: " << row.text;
    } catch (const TomlError& error) {
      EXPECT_EQ(error.what(), row.message) << row.text;
    }
  }
}

TEST(Toml, AWordWithoutQuotesIsRefusedWithWhatToDo) {
  ExpectTomlRefused({
      {"a = 1\nmechanism = gau-lrq\n",
       "line 2, column 13: mechanism = gau-lrq: could not determine value type; put a text in "
       "quotes: \"gau-lrq\""},
      {"level = info",
       "line 1, column 9: level = info: expected value-terminator, saw 'o'; put a text in quotes: "
       "\"info\""},
      {"\"ä\" = ö\n",
       "line 1, column 7: \"ä\" = ö: could not determine value type; put a text in quotes: \"ö\""},
      {"server = 10.0.0.1:7177",
       "line 1, column 10: server = 10.0.0.1:7177: expected ':', saw '.'; put a text in quotes: "
       "\"10.0.0.1:7177\""},
      {"  data = ./x.csv # here",
       "line 1, column 10: data = ./x.csv # here: expected decimal digit, saw '.'; put a text in "
       "quotes: \"./x.csv\""},
      {"a = ['b',\n c]\n",
       "line 2, column 2: c]: could not determine value type; put a text in quotes: \"c\""},
      {"a = [b, c]",
       "line 1, column 6: a = [b, c]: could not determine value type; put a text in quotes: \"b\""},
      {"a = 010",
       "line 1, column 5: a = 010: leading zeroes are prohibited; put a text in quotes: \"010\""},
      {"seed = 18446744073709551615\n",
       "line 1, column 8: seed = 18446744073709551615: '18446744073709551615' is not representable "
       "in 64 bits; put a text in quotes: \"18446744073709551615\""},
  });
}

TEST(Toml, WhatComesTwiceIsRefusedWithBothLines) {
  ExpectTomlRefused({
      {"a = 1\na = 1", "line 2, column 1: a comes twice, in line 1 and here; take one out"},
      {"a = 1\r\nb = 2\r\n  a = [\r\n3]",
       "line 3, column 3: a comes twice, in line 1 and here; take one out"},
      {"x.a = 1\n[x]\na = 2", "line 2, column 1: x comes twice, in line 1 and here; take one out"},
      {"\n[x]\r\na = 1\n[y]\n[x]",
       "line 5, column 1: x comes twice, in line 2 and here; take one out"},
      {"[x]\r\na = [\n  [1],\n]\na = 2",
       "line 5, column 1: x.a comes twice, in line 2 and here; take one out"},
      {"x = {a = 1}\nx.b = 2", "line 2, column 1: x comes twice, in line 1 and here; take one out"},
      {"a = 1\n[[a]]", "line 2, column 1: a comes twice, in line 1 and here; take one out"},
      {"[b]\n[[b]]", "line 2, column 1: b comes twice, in line 1 and here; take one out"},
      {"[[b]]\n[b]", "line 2, column 1: b comes twice, in line 1 and here; take one out"},
      {"[[b]]\nc = 0\n[[b]]\nc = 1\n'c' = 2",
       "line 5, column 1: b.c comes twice, in line 4 and here; take one out"},
      {"a = {b = 1, b = 2}",
       "line 1, column 17: key-value pair: cannot redefine existing integer 'b', in: a = {b = 1, b "
       "= 2}"},
  });
}

TEST(Toml, WhatIsNoTomlIsRefusedWithLineAndColumn) {
  ExpectTomlRefused({
      {"a = 1, 2",
       "line 1, column 6: key-value pair: expected a comment or whitespace, saw ',', in: a = 1, 2"},
      {"a = 1 2",
       "line 1, column 7: key-value pair: expected a comment or whitespace, saw '2', in: a = 1 2"},
      {"a = \"x", "line 1, column 7: string: encountered end-of-file, in: a = \"x"},
      {"a = \"\\q\"",
       "line 1, column 7: string: unknown escape sequence '\\q', in: a = \"\\q\"; write \\\\ for a "
       "backslash, or put the text in single quotes"},
      {"a = “x”", "line 1, column 5: typographic quotes, in: a = “x”; write \" for them"},
      {"a =", "line 1, column 4: key-value pair: encountered end-of-file, in: a ="},
      {"a", "line 1, column 2: key-value pair: encountered end-of-file, in: a"},
      {"a b = 1", "line 1, column 3: key-value pair: expected '=', saw 'b', in: a b = 1"},
      {"a = 1\n; b",
       "line 2, column 1: root table: expected keys, tables, whitespace or comments, saw ';', in: "
       "; b"},
      {"ä = 1",
       "line 1, column 1: root table: expected keys, tables, whitespace or comments, saw 'ä', in: "
       "ä = 1"},
      {"[x", "line 1, column 3: table header: encountered end-of-file, in: [x"},
      {"[x\n]", "line 1, column 3: table header: expected ']', saw '\\n', in: [x"},
      {"[x y]", "line 1, column 4: table header: expected ']', saw 'y', in: [x y]"},
      {"a = [1, 2", "line 1, column 10: array: encountered end-of-file, in: a = [1, 2"},
      {"a = [1 2]",
       "line 1, column 8: array: expected comma or closing ']', saw '2', in: a = [1 2]"},
      {"a = \"\xE4\"", "line 1, column 5: the file is no UTF-8; save it as UTF-8"},
      {"\xFF\xFE"
       "a",
       "line 1, column 1: the file is no UTF-8; save it as UTF-8"},
      {"a = 1 " + std::string(80, 'b'),
       "line 1, column 7: key-value pair: expected a comment or whitespace, saw 'b', in: a = 1 " +
           std::string(54, 'b') + "..."},
  });
}

TEST(Toml, WhatNoOptionTakesIsRefused) {
  const std::string mixed = ": an array holds numbers, for example [28, 28, 1], or texts, not both";
  ExpectTomlRefused({
      {"a = 2024-01-01", "line 1, column 5: a has a date or a time; put a text in quotes"},
      {"[x]\na = 07:32:00", "line 2, column 5: x.a has a date or a time; put a text in quotes"},
      {"a = [1979-05-27T07:32:00Z]",
       "line 1, column 6: a has a date or a time; put a text in quotes"},
      {"a = [[1]]", "line 1, column 6: a" + mixed},
      {"a = [1,\n \"b\"]", "line 2, column 2: a" + mixed},
      {"a = ['b', {c = 1}]", "line 1, column 11: a" + mixed},
      {"a = {}", "line 1, column 1: a has no value"},
      {"\"\" = 1", "line 1, column 1: a name is empty"},
      {"\"a\\u0000\" = 1", "line 1, column 1: a name has the character U+0000"},
      {"a = \"b\\u0000\"",
       "line 1, column 5: a has the character U+0000, which no text here may have"},
  });
  ExpectTomlRefused(
      {
          {"a = [5]", "line 1, column 1: a has an array where one value is expected"},
          {"a = [", "line 1, column 6: array: encountered end-of-file, in: a = ["},
          {"\n[[a]]", "line 2, column 3: [[a]]: arrays of sections have no meaning here"},
      },
      TomlArrays::kRefused);
}

TEST(Toml, ANameOfManyPartsIsRefusedAndOverflowsNoStack) {
  std::string names;
  for (int i = 0; i < 32000; ++i) names += "a.";
  ExpectTomlRefused({
      {names + "a = 1", "line 1, column 64: more than 32 names in a row"},
      {"\n[" + names + "a]", "line 2, column 65: more than 32 names in a row"},
      {"[" + names.substr(0, 40) + "a]\n" + names.substr(0, 40) + "a = 1",
       "line 2, column 23: more than 32 names"},
  });
  const std::string text = "# 1.2.3 and so on ........................................ a. b. c.\n" +
                           names.substr(0, 60) + "a = 1";
  EXPECT_EQ(ParseToml(text).size(), 1u);
}

TEST(Toml, AnErrorNamesTheFileAsCompilersDo) {
  EXPECT_EQ(TomlError(3, 5, "why").In("a.toml"), "a.toml:3:5: why");
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
