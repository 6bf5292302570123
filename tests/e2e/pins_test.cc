// What seeded runs gave, they still give: models to the last bit, and every figure of their JSON.
//
// tests/vectors/pins holds one file a run, {"command", "result"}: all trust modes, samplings,
// codings and mechanisms, adaptive clipping, and figures of `sotto account`. A result may gain
// fields, but none that stands there may change or go. After a change that is meant to change
// results, write the file anew with what the command prints under --json -, less the fields
// wall_seconds, threads and sotto_version, and say so in CHANGELOG.md.
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

// Every field of `pinned` is in `now`, with the same value.
void ExpectContains(const Json& now, const Json& pinned, const std::string& where) {
  if (pinned.is_object()) {
    for (const auto& item : pinned.items()) {
      const std::string field = where + "." + item.key();
      ASSERT_TRUE(now.contains(item.key())) << field << " is gone";
      ExpectContains(now[item.key()], item.value(), field);
    }
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

TEST(Pins, CoverWhatARunCanBe) { EXPECT_GE(Pins().size(), 16U); }

}  // namespace
}  // namespace sotto
