// Clients of a model with personal layers: what they keep in their files, and that the server gets
// none of it.
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "backends/sql_store.h"
#include "e2e/live.h"
#include "sotto/model/model_file.h"
#include "sotto/personal.h"

namespace sotto::live {
namespace {

using Json = nlohmann::json;

constexpr size_t kHead = 44;  // of a record, before its values

void WriteText(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

class LivePersonalTest : public testing::Test {
 protected:
  LivePersonalTest() : model_path_(site_.Path("personal.toml")) {
    WriteText(model_path_,
              "name = \"personal\"\ninput = [784]\npersonal = 1\n"
              "[[layer]]\nkind = \"dense\"\noutputs = 6\n[[layer]]\nkind = \"relu\"\n"
              "[[layer]]\nkind = \"dense\"\noutputs = 10\n");
    model_ = posix::ReadModelFile(model_path_);
  }

  std::string RecordPath(size_t device) const {
    return site_.Path("keys/" + site_.key(device).device_id + ".key.personal");
  }
  std::string Record(size_t device) const { return ReadFile(RecordPath(device)); }

  // One job, served to two clients that end with it. Its results.
  Json RunJob(const Arguments& more) const {
    const std::string results = site_.Path("results.json");
    Arguments job = {"--model", model_path_,   "--cohort", "2",      "--rounds",
                     "2",       "--mechanism", "none",     "--json", results};
    job.insert(job.end(), more.begin(), more.end());
    Server server = site_.Serve(job);
    std::vector<Process> clients =
        site_.Clients(server.port, {"--model", model_path_, "--allow-no-privacy"});
    EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
    ExpectAllDone(site_, clients);
    return Json::parse(ReadFile(results));
  }

  Site site_{2};
  std::string model_path_;
  posix::SharedModel model_;
};

// Eight bytes, two values one behind the other: they are nowhere by chance.
void ExpectNowhereIn(const std::string& text, const std::string& record, const std::string& where) {
  for (size_t at = kHead; at + 8 <= record.size() - 16; at += 4) {
    const std::string pair = record.substr(at, 8);
    if (pair == std::string(8, '\0')) continue;
    EXPECT_EQ(text.find(pair), std::string::npos) << where << ", value " << (at - kHead) / 4;
  }
}

TEST_F(LivePersonalTest, NoValueReachesTheServer) {
  const Json results = RunJob({});
  const size_t shared = model_->parameters;
  for (const Json& attempt : results["operator"]["attempts"]) {
    EXPECT_EQ(attempt["update_bytes"], 2 * 4 * shared)
        << "without a quantizer an update has four bytes for each shared parameter";
  }
  const std::vector<float> released =
      server::SqlStore(site_.Path("store")).ReadModel(1, 1).parameters;
  EXPECT_EQ(released.size(), shared);
  for (size_t device = 0; device < 2; ++device) {
    const std::string record = Record(device);
    ASSERT_EQ(record.size(), PersonalRecordBytes(model_->personal));
    for (const auto& file : std::filesystem::directory_iterator(site_.Path(""))) {
      const std::string name = file.path().filename().string();
      const bool is_of_server = name.rfind("store", 0) == 0 || name == "results.json";
      if (is_of_server) ExpectNowhereIn(ReadFile(file.path().string()), record, name);
    }
  }
  EXPECT_NE(Record(0), Record(1));
}

// With a learning rate of 0 a training leaves the values as it finds them.
TEST_F(LivePersonalTest, ADeviceThatIsStartedAgainGoesOnWithItsValues) {
  RunJob({});
  const std::string first[] = {Record(0), Record(1)};
  std::filesystem::remove(RecordPath(1));
  RunJob({"--learning-rate", "0"});
  EXPECT_EQ(Record(0), first[0]);
  const std::string again = Record(1);
  ASSERT_EQ(again.size(), first[1].size());
  EXPECT_NE(again, first[1]) << "it has lost them, and started over";
  std::vector<float> start(model_->personal);
  ASSERT_EQ(InitialPersonal(*model_, {start.data(), start.size()}), Status::kOk);
  EXPECT_EQ(std::memcmp(again.data() + kHead, start.data(), 4 * start.size()), 0);
}

TEST_F(LivePersonalTest, ARecordThatCannotBeReadIsToldAndNotReplaced) {
  WriteText(RecordPath(0), "");
  std::filesystem::permissions(RecordPath(0), std::filesystem::perms(0600));
  Server server = site_.Serve(
      {"--model", model_path_, "--cohort", "2", "--rounds", "1", "--mechanism", "none"});
  std::vector<Process> clients =
      site_.Clients(server.port, {"--model", model_path_, "--allow-no-privacy"});
  EXPECT_EQ(clients[0].Wait(), 2) << ReadFile(site_.ClientLog(0));
  const std::string log = ReadFile(site_.ClientLog(0));
  EXPECT_NE(log.find(".key.personal: it is empty"), std::string::npos) << log;
  EXPECT_EQ(Record(0), "");
  server.process.Signal(SIGTERM);
  clients[1].Signal(SIGTERM);
}

}  // namespace
}  // namespace sotto::live
