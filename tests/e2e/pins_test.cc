// Seeded runs still give the same results: models to the last bit, and every figure of their JSON.
//
// tests/vectors/pins holds one file a run, {"command", "result"}: all trust modes, samplings,
// codings and mechanisms, adaptive clipping, exact models and models on a grid, and figures of
// `sotto account`. A result may gain fields. No field in the file may change or disappear. After an
// intended change of results, write the file again from the output of the command with --json -,
// without the fields wall_seconds, threads and sotto_version, and note the change in CHANGELOG.md.
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "e2e/program.h"

namespace sotto {
namespace {

std::vector<std::string> Pins() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(SOTTO_VECTORS "/pins")) {
    names.push_back(file.path().stem().string());
  }
  return names;
}

// The row of an accountant; accountants may be added.
Json RowOf(const Json& rows, const Json& accountant) {
  for (const Json& row : rows) {
    if (row["accountant"] == accountant) return row;
  }
  return nullptr;
}

// Every field of `pinned` is in `now`, with the same value.
void ExpectContains(const Json& now, const Json& pinned, const std::string& where) {
  if (pinned.is_object()) {
    for (const auto& item : pinned.items()) {
      const std::string field = where + "." + item.key();
      ASSERT_TRUE(now.contains(item.key())) << field << " is gone";
      ExpectContains(now[item.key()], item.value(), field);
    }
  } else if (pinned.is_array() && !pinned.empty() && pinned[0].contains("accountant")) {
    for (const Json& row : pinned) ExpectContains(RowOf(now, row["accountant"]), row, where);
  } else if (pinned.is_array()) {
    ASSERT_EQ(now.size(), pinned.size()) << where;
    for (size_t i = 0; i < pinned.size(); ++i) {
      ExpectContains(now[i], pinned[i], where + "[" + std::to_string(i) + "]");
    }
  } else {
    EXPECT_EQ(now, pinned) << where;
  }
}

class PinnedRun : public testing::TestWithParam<std::string> {};

TEST_P(PinnedRun, GivesTheSameResult) {
  const Json pin = Json::parse(ReadFile(SOTTO_VECTORS "/pins/" + GetParam() + ".json"));
  ExpectContains(SottoJson(pin["command"]), pin["result"], GetParam());
}

INSTANTIATE_TEST_SUITE_P(Pins, PinnedRun, testing::ValuesIn(Pins()), [](const auto& pin) {
  std::string name = pin.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

TEST(Pins, CoverWhatARunCanBe) { EXPECT_GE(Pins().size(), 17U); }

}  // namespace
}  // namespace sotto
