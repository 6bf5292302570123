// Clients that keep the newest released model (--keep-model): what a folder holds is what the store
// exports, for a device that trained, for one that was never drawn, and for one without samples.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "backends/sql_store.h"
#include "e2e/live.h"
#include "sotto/bytes.h"

namespace sotto::live {
namespace {

// Two of three devices make one round of each job.
class LiveKeepTest : public testing::Test {
 protected:
  LiveKeepTest() {
    site_.stays = true;
    server_ = Serve();
  }

  // A round takes longer than the shortest poll, so every device sees a job begin and end.
  Server Serve() const {
    return site_.Serve({"--round-timeout", "1", "--release-allowance", "0.2"});
  }

  std::string Folder(size_t device) const { return site_.Path("kept-" + std::to_string(device)); }
  std::string Kept(size_t device, const char* file = "model.bin") const {
    return ReadFile(Folder(device) + "/" + file);
  }

  std::string Sotto(const Arguments& arguments, int status = 0) const {
    std::filesystem::remove(site_.Path("sotto.log"));
    Process process = site_.Sotto(arguments, "sotto.log");
    EXPECT_EQ(process.Wait(), status) << ReadFile(site_.Path("sotto.log"));
    return ReadFile(site_.Path("sotto.log"));
  }

  void StartJob() const {
    Sotto({"job", "start", site_.Path("store"), "--yes", "--accept-delta", "--sampling", "passes",
           "--cohort", "2", "--rounds", "1", "--noise-multiplier", "50", "--delta", "0.1"});
  }

  // A machine without samples. Returns what it says.
  std::string Fetch(size_t device, int status = 0) const {
    EXPECT_EQ(FetchOnce(device), status) << ReadFile(site_.Path("fetch.log"));
    return ReadFile(site_.Path("fetch.log"));
  }

  int FetchOnce(size_t device) const {
    std::filesystem::remove(site_.Path("fetch.log"));
    Process process = site_.Start(SOTTO_CLIENT_PROGRAM,
                                  {"--server", Address(server_.port), "--key",
                                   site_.Path("keys/" + site_.key(device).device_id + ".key"),
                                   "--fetch-only", "--keep-model", Folder(device), "--log", "json"},
                                  "fetch.log");
    return process.Wait();
  }

  // Parameters of a job's first release, as float32.
  std::string Released(int64_t job) const {
    const std::vector<float> model =
        server::SqlStore(site_.Path("store")).ReadModel(job, 0).parameters;
    std::string bytes(4 * model.size(), '\0');
    for (size_t i = 0; i < model.size(); ++i) {
      StoreU32Le(FloatBits(model[i]), reinterpret_cast<uint8_t*>(&bytes[4 * i]));
    }
    return bytes;
  }

  // What `sotto model export` writes: a head, then the same numbers.
  std::string Exported() const {
    Sotto({"model", "export", site_.Path("store"), "--out", site_.Path("m.safetensors")});
    const std::string file = ReadFile(site_.Path("m.safetensors"));
    return file.substr(file.size() - std::min<size_t>(file.size(), 31400));
  }

  bool AllKeep(const std::string& model) const {
    return Eventually([&] {
      for (size_t device = 0; device < site_.devices(); ++device) {
        const bool is_final = Says(Kept(device, "model.release"), "\nfinal 1\n");
        if (Kept(device) != model || !is_final) return false;
      }
      return true;
    });
  }

  std::vector<Process> KeepingClients() const {
    std::vector<Process> clients;
    for (size_t device = 0; device < site_.devices(); ++device) {
      clients.push_back(site_.StayingClient(device, server_.port,
                                            {"--keep-model", Folder(device), "--log", "json"}));
    }
    return clients;
  }

  void TrainOneJob() {
    std::vector<Process> clients = KeepingClients();
    StartJob();
    ASSERT_TRUE(Eventually([&] { return server_.releases() == 1; })) << ReadFile(server_.log);
    ASSERT_TRUE(AllKeep(Released(1))) << site_.ClientLog(0) << ReadFile(site_.ClientLog(0));
  }

  Site site_{3};
  Server server_;
};

size_t Drawn(const Site& site, size_t device) {
  return Count(ReadFile(site.ClientLog(device)), "\"event\":\"drawn\"");
}

TEST_F(LiveKeepTest, EveryDeviceKeepsWhatTheStoreExportsAndTheNextJobsModelAsADifference) {
  EXPECT_TRUE(Says(Fetch(0, 4), "the server has released no model yet"));
  std::vector<Process> clients = KeepingClients();
  StartJob();
  ASSERT_TRUE(Eventually([&] { return server_.releases() == 1; })) << ReadFile(server_.log);
  ASSERT_TRUE(AllKeep(Released(1))) << ReadFile(site_.ClientLog(0));
  EXPECT_EQ(Kept(0), Exported());
  // Of two that are drawn one may have come too late on a busy machine.
  EXPECT_LE(Drawn(site_, 0) + Drawn(site_, 1) + Drawn(site_, 2), 2u) << "one never was";

  const std::string first = Kept(0);
  StartJob();
  ASSERT_TRUE(Eventually([&] { return Count(ReadFile(server_.log), "no job runs; ") == 3; }))
      << ReadFile(server_.log);
  for (const Process& client : clients) client.Signal(SIGTERM);
  for (Process& client : clients) EXPECT_EQ(client.Wait(), 128 + SIGTERM);
  clients = KeepingClients();  // they hold the first job's model
  ASSERT_TRUE(AllKeep(Released(2))) << ReadFile(site_.ClientLog(0));
  EXPECT_NE(Kept(0), first);
  for (size_t device = 0; device < site_.devices(); ++device) {
    std::string log;
    EXPECT_TRUE(Eventually([&] {
      log = ReadFile(site_.ClientLog(device));
      return Count(log, "\"event\":\"released-model\"") >= 2;
    })) << log;
    EXPECT_FALSE(Says(log, "\"bytes\":31400")) << "a difference is shorter\n" << log;
  }
  StartJob();
  ASSERT_TRUE(Eventually([&] { return Count(ReadFile(server_.log), "no job runs; ") == 4; }))
      << ReadFile(server_.log);
  EXPECT_TRUE(AllKeep(Released(3))) << "also one that has seen nothing of the job\n"
                                    << ReadFile(site_.ClientLog(0));
  EXPECT_FALSE(Says(ReadFile(site_.ClientLog(0)), "kBusy"));
}

TEST_F(LiveKeepTest, AfterARestartAMachineWithoutSamplesFetchesTheModelAndThenNothing) {
  TrainOneJob();
  server_.process.Signal(SIGTERM);
  EXPECT_EQ(server_.process.Wait(), 128 + SIGTERM);
  server_ = Serve();
  EXPECT_TRUE(Says(Fetch(2), "\"bytes\":0")) << "its folder holds it";
  std::filesystem::remove_all(Folder(2));
  EXPECT_FALSE(Says(Fetch(2), "\"bytes\":0"));
  EXPECT_EQ(Kept(2), Released(1));
}

// The server runs when the threshold is attached, and the device holds its model already.
TEST_F(LiveKeepTest, AThresholdReachesADeviceThatHoldsItsModel) {
  TrainOneJob();
  const std::string model = Kept(0);
  EXPECT_FALSE(Says(Kept(0, "model.release"), "threshold"));
  const std::vector<Process> clients = KeepingClients();
  for (const float threshold : {0.5F, 0.100000001F}) {
    server::SqlStore(site_.Path("store")).AttachThreshold({1, 0, threshold});
    EXPECT_TRUE(Eventually([&] {
      return Says(Kept(0, "model.release"),
                  threshold == 0.5F ? "\nthreshold 0.5\n" : "\nthreshold 0.100000001\n");
    })) << Kept(0, "model.release")
        << ReadFile(server_.log);
    EXPECT_EQ(Kept(0), model);
  }
}

TEST_F(LiveKeepTest, AWrongFileIsReplacedOrRefusedAndARevokedDeviceGetsNothing) {
  TrainOneJob();
  const std::string model = Kept(0);
  std::string wrong = model;
  wrong[1234] ^= 1;
  std::ofstream(Folder(0) + "/model.bin", std::ios::binary) << wrong;
  EXPECT_TRUE(Says(Fetch(0), "\"event\":\"kept-model-damaged\""));
  EXPECT_EQ(Kept(0), model);
  std::filesystem::remove(Folder(0) + "/model.bin");
  EXPECT_TRUE(Says(Fetch(0), "it is missing"));
  EXPECT_EQ(Kept(0), model);

  std::string release = Kept(1, "model.release");
  release[release.find("rounds ") + 7] = '7';
  std::ofstream(Folder(1) + "/model.release", std::ios::binary) << release;
  EXPECT_TRUE(Says(Fetch(1, 2), "model.release: it is damaged"));
  EXPECT_EQ(Kept(1, "model.release"), release);
  std::filesystem::remove(Folder(1) + "/model.release");
  EXPECT_TRUE(Says(Fetch(1, 2), "model.bin: --keep-model would replace it"));

  std::filesystem::remove_all(Folder(2));
  Sotto({"keys", "revoke", site_.Path("store"), site_.key(2).device_id, "--yes"});
  EXPECT_TRUE(Eventually([&] {  // the server looks for news of its fleet
    std::filesystem::remove_all(Folder(2));
    return FetchOnce(2) == 3;
  }));
  EXPECT_TRUE(Says(ReadFile(site_.Path("fetch.log")), "kKeyRevoked"));
  EXPECT_EQ(Kept(2), "");
}

}  // namespace
}  // namespace sotto::live
