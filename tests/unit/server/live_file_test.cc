// Tests of STORE-live: what a running server says of this moment.
#include "service/live_file.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "unit/test_folder.h"

namespace sotto::server {
namespace {

class LiveFileTest : public testing::Test {
 protected:
  void Write(uint64_t now_ms) {
    live_.Alive(now_ms);
    live_.Write();
  }
  bool Exists() const { return std::filesystem::exists(store_ + "-live"); }

  const TestFolder folder_;
  const std::string store_ = folder_.Path("fleet.db");
  LiveFile live_{store_, "17"};
};

TEST_F(LiveFileTest, SaysTheAttemptToItsOwnerAloneAndStatusWhoIsInWhichState) {
  live_.OnPhase({ServerPhase::Kind::kOpen, 2, 0, 3, 1000, 61000});
  Write(5);
  const nlohmann::ordered_json live = ReadLive(store_, "17");
  EXPECT_EQ(live["phase"]["kind"], "open");
  EXPECT_EQ(live["phase"]["round"], 3);
  EXPECT_EQ(live["phase"]["deadline"], 61.0);
  const nlohmann::ordered_json states = {{"devices",
                                          {{{"id", "pi-1"}, {"state", "training"}},
                                           {{"id", "pi-2"}, {"state", "never-seen"}},
                                           {{"id", "pi-3"}, {"state", "training"}}}}};
  const std::string text = DescribeLive(live, states);
  EXPECT_NE(text.find("open: round 3 attempt 1: 3 drawn"), std::string::npos) << text;
  EXPECT_NE(text.find("never-seen 1: pi-2\n  training   2: pi-1, pi-3\n"), std::string::npos)
      << text;
  struct stat info {};
  ASSERT_EQ(stat((store_ + "-live").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST(LiveFile, IsNoOtherStoreThatHasItsName) {
  const TestFolder folder;
  const std::string store = folder.Path("fleet");
  std::ofstream(store + "-live") << "SQLite format 3";
  EXPECT_THROW(LiveFile(store, "17"), std::runtime_error);
  EXPECT_TRUE(std::filesystem::exists(store + "-live"));
  std::ofstream(store + "-live") << std::string(4096, '\0');
  EXPECT_NO_THROW(LiveFile(store, "17")) << "what a loss of power left";
}

TEST_F(LiveFileTest, WritesAtMostOnceASecondAndOnlyWhatHasChanged) {
  Write(0);
  live_.OnPhase({ServerPhase::Kind::kOpen, 2, 0, 3, 1000, 61000});
  Write(999);
  EXPECT_EQ(ReadLive(store_, "17")["phase"]["kind"], "waiting");
  Write(1000);
  EXPECT_EQ(ReadLive(store_, "17")["phase"]["kind"], "open");
  std::filesystem::remove(store_ + "-live");
  Write(5000);
  EXPECT_FALSE(Exists());
}

TEST_F(LiveFileTest, AKilledServersFileIsNoNews) {
  Write(0);
  EXPECT_TRUE(ReadLive(store_, "17").is_object());
  EXPECT_TRUE(ReadLive(store_, "18").is_null());
  EXPECT_TRUE(ReadLive(store_, std::nullopt).is_null());
  EXPECT_EQ(DescribeLive(nullptr, nullptr), "");
  { const LiveFile next(store_, "18"); }
  EXPECT_FALSE(Exists());
}

TEST_F(LiveFileTest, AForeignFileIsNoNews) {
  std::ofstream(store_ + "-live") << R"({"server": 17})";
  EXPECT_TRUE(ReadLive(store_, "17").is_null());
  std::ofstream(store_ + "-live") << "[[";
  EXPECT_TRUE(ReadLive(store_, "17").is_null());
}

}  // namespace
}  // namespace sotto::server
