// Tests of STORE-live: what a running server says of this moment.
#include "service/live_file.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
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

TEST_F(LiveFileTest, SaysTheAttemptAndWhoIsConnectedToItsOwnerAlone) {
  live_.OnPhase({ServerPhase::Kind::kOpen, 2, 0, 3, 1000, 61000});
  live_.OnDevice("pi-1", true);
  live_.OnDevice("pi-2", true);
  live_.OnDevice("pi-2", false);
  Write(5);
  const nlohmann::ordered_json live = ReadLive(store_, "17");
  EXPECT_EQ(live["phase"]["kind"], "open");
  EXPECT_EQ(live["phase"]["round"], 3);
  EXPECT_EQ(live["phase"]["deadline"], 61.0);
  EXPECT_EQ(live["connected"], 1);
  const std::string text = DescribeLive(live, {"pi-1", "pi-2", "pi-3"});
  EXPECT_NE(text.find("connected  1: pi-1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("gone       1: pi-2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("not seen   1: pi-3\n"), std::string::npos) << text;
  struct stat info {};
  ASSERT_EQ(stat((store_ + "-live").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST_F(LiveFileTest, WritesAtMostOnceASecondAndOnlyWhatHasChanged) {
  Write(0);
  live_.OnDevice("pi-1", true);
  Write(999);
  EXPECT_EQ(ReadLive(store_, "17")["connected"], 0);
  Write(1000);
  EXPECT_EQ(ReadLive(store_, "17")["connected"], 1);
  std::filesystem::remove(store_ + "-live");
  Write(5000);
  EXPECT_FALSE(Exists());
}

TEST_F(LiveFileTest, AKilledServersFileIsNoNews) {
  Write(0);
  EXPECT_TRUE(ReadLive(store_, "17").is_object());
  EXPECT_TRUE(ReadLive(store_, "18").is_null());
  EXPECT_TRUE(ReadLive(store_, std::nullopt).is_null());
  EXPECT_EQ(DescribeLive(nullptr, {"pi-1"}), "");
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
