// The store under a live server: nothing is begun that cannot be run, signals, secrets in memory,
// and a server on an older copy of its store.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

#include <nlohmann/json.hpp>

#include "backends/open_store.h"
#include "e2e/live.h"
#include "sotto/bytes.h"

namespace sotto::live {
namespace {

Arguments SmallJob(const Arguments& more = {}) {
  Arguments arguments = {"--cohort", "2", "--rounds", "3", "--noise-multiplier", "1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

int64_t JobsIn(const Site& site) { return server::InspectStore(site.Path("store")).jobs; }

// A line of /proc/PID/FILE that begins with these words.
std::string ProcLine(pid_t pid, const std::string& file, const std::string& words) {
  std::istringstream lines(ReadFile("/proc/" + std::to_string(pid) + "/" + file));
  std::string line;
  while (std::getline(lines, line)) {
    if (line.rfind(words, 0) == 0) return line;
  }
  return "";
}

TEST(LiveStoreTest, APortInUseBeginsNoJob) {
  Site first(2);
  Site second(2);
  const Server server = first.Serve(SmallJob());
  EXPECT_EQ(second.StartServe(SmallJob({"--listen", Address(server.port)})).Wait(), 1);
  EXPECT_EQ(JobsIn(second), 0);
}

TEST(LiveStoreTest, AnOutputThatCannotBeWrittenBeginsNoJob) {
  Site site(2);
  for (const char* option : {"--json", "--model-out"}) {
    EXPECT_EQ(site.StartServe(SmallJob({option, site.Path("none/file")})).Wait(), 1) << option;
    EXPECT_TRUE(Says(ReadFile(site.Path("serve.log")), "cannot write " + site.Path("none/file")));
    EXPECT_EQ(JobsIn(site), 0) << option;
  }
  EXPECT_EQ(site.Sotto({"serve", site.Path("store"), "--test", "nix.csv"}, "test.log").Wait(), 1);
  EXPECT_TRUE(Says(ReadFile(site.Path("test.log")), "nix.csv")) << "though no job is served yet";
  EXPECT_FALSE(std::filesystem::exists(site.Path("port")));
}

TEST(LiveStoreTest, AServerWhoseLogIsLostEndsItsJobAndSaysSoByItsStatus) {
  Site site(2);
  const Arguments full_disk = {"/bin/sh", "-c", "exec \"$@\" 2>/dev/full", "sh"};
  Server server = site.Serve(
      {"--cohort", "2", "--rounds", "1", "--noise-multiplier", "1", "--json", site.Path("json")},
      full_disk);
  for (Process& client : site.Clients(server.port)) EXPECT_EQ(client.Wait(), 0);
  EXPECT_EQ(server.process.Wait(), 1);
  const nlohmann::json results = nlohmann::json::parse(ReadFile(site.Path("json")));
  EXPECT_EQ(results["rounds_released"], 1);
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(site.Path("json")).permissions(),
            perms::owner_read | perms::owner_write)
      << "it tells who took part";
}

// Figures on two test sets do not compare, and nothing said that there were two.
TEST(LiveStoreTest, AJobThatIsEvaluatedOnOtherSamplesSaysSo) {
  Site site(2);
  const std::string images = site.Path("data/t10k-images-idx3-ubyte");
  const auto serve = [&](const char* rounds) {
    Server server = site.Serve({"--cohort", "2", "--noise-multiplier", "50", "--delta", "0.1",
                                "--rounds", rounds, "--test", images, "--json", site.Path("json")});
    std::vector<Process> clients = site.Clients(server.port);
    EXPECT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
    return nlohmann::json::parse(ReadFile(site.Path("json")));
  };
  const nlohmann::json first = serve("1");
  const std::string digest = first["inputs"]["test"]["sha256"];
  EXPECT_EQ(digest.size(), 64U);
  EXPECT_EQ(first["evaluations"][0]["data_sha256"], digest);
  serve("2");
  EXPECT_EQ(Count(ReadFile(site.Path("serve.log")), "WARNING: --test"), 0U) << "the same samples";
  std::string pixels = ReadFile(images);
  pixels.back() = static_cast<char>(pixels.back() + 1);
  std::ofstream(images, std::ios::binary) << pixels;
  const nlohmann::json last = serve("3");
  const std::string says = "WARNING: --test " + images + ": round 2 was evaluated on ";
  EXPECT_EQ(Count(ReadFile(site.Path("serve.log")), says), 1U);
  EXPECT_EQ(last["operator"]["warnings"][0].get<std::string>().rfind(says, 0), 0U) << last;
  EXPECT_EQ(last["evaluations"][1]["data_sha256"], digest);
  EXPECT_GT(last["operator"]["initial_evaluation"]["samples"], 0)
      << "of the model with which an earlier process began the job";
  EXPECT_EQ(last["evaluations"][2]["data_sha256"], last["inputs"]["test"]["sha256"]);
  EXPECT_NE(last["evaluations"][2]["data_sha256"], digest);
}

// A killed backup leaves every secret of the store beside it.
TEST(LiveStoreTest, AServerNamesWhatAKilledBackupLeft) {
  Site site(2);
  const std::string left = site.Path("copy.part");
  std::filesystem::copy_file(site.Path("store"), left);
  const Server server = site.Serve(SmallJob());
  EXPECT_EQ(Count(ReadFile(server.log), "WARNING: " + left + ": a backup that was interrupted"), 1U)
      << ReadFile(server.log);
}

TEST(LiveStoreTest, AKilledServerResumesWithTheModelThatItsJobBeganWith) {
  Site site(2);
  const std::string file = site.Path("initial");
  std::ofstream(file, std::ios::binary) << std::string(4 * 7850, '\1');
  const Arguments job = SmallJob({"--round-timeout", "100"});
  const auto start_and_kill = [&](Arguments arguments) {
    arguments.insert(arguments.begin(), job.begin(), job.end());
    Server server = site.Serve(arguments);
    EXPECT_TRUE(Eventually([&] { return Says(ReadFile(server.log), "attempt 1"); }));
    server.process.Signal(SIGKILL);
    server.process.Wait();
    return server::OpenStore(site.Path("store"))->ReadModel(1, server::kFirstModel).parameters;
  };
  const std::vector<float> first = start_and_kill({"--initial-model", file});
  EXPECT_EQ(first, std::vector<float>(7850, FloatFromBits(0x01010101)));
  std::filesystem::remove(file);
  EXPECT_EQ(start_and_kill({"--keep-models", "2"}), first);
  // A job that has released nothing is replaced.
  std::ofstream(file, std::ios::binary) << std::string(4 * 7850, '\2');
  EXPECT_EQ(start_and_kill({"--initial-model", file}), first);
  EXPECT_EQ(server::OpenStore(site.Path("store"))->ReadModel(2, server::kFirstModel).parameters,
            std::vector<float>(7850, FloatFromBits(0x02020202)));
}

TEST(LiveStoreTest, EachStopSignalHasItsExitStatusAndAHangUpStopsNothing) {
  Site site(2);
  for (const int signal : {SIGINT, SIGTERM}) {
    Server server = site.Serve(SmallJob({"--round-timeout", "100"}));
    EXPECT_TRUE(Eventually([&] { return Says(ReadFile(server.log), "attempt 1"); }));
    server.process.Signal(SIGHUP);
    EXPECT_EQ(server.process.Wait(200), -1) << "it still runs";
    server.process.Signal(signal);
    EXPECT_EQ(server.process.Wait(), 128 + signal) << ReadFile(server.log);
  }
}

TEST(LiveStoreTest, ASimulationThatIsStoppedWritesWhatItHas) {
  Site site(2);
  const std::string json = site.Path("out.json");
  const std::string model = site.Path("model.f32");
  Process simulation = site.Sotto(
      {"simulate", "--data", "synthetic", "--devices", "50", "--cohort", "5", "--rounds", "100000",
       "--noise-multiplier", "50", "--local-epochs", "1", "--json", json, "--model-out", model},
      "simulate.log");
  EXPECT_TRUE(Eventually([&] { return Count(ReadFile(site.Path("simulate.log")), "\n") >= 3; }));
  simulation.Signal(SIGINT);
  EXPECT_EQ(simulation.Wait(), 128 + SIGINT) << ReadFile(site.Path("simulate.log"));
  const auto results = nlohmann::json::parse(ReadFile(json), nullptr, false);
  ASSERT_FALSE(results.is_discarded());
  EXPECT_TRUE(Says(results["finish_reason"], "stopped: ")) << results["finish_reason"];
  EXPECT_GE(results["rounds"].size(), 1u);
  EXPECT_EQ(std::filesystem::file_size(model), 4u * 7850);
}

// A person who lists the folder, reads a core file or the swap space must not find a secret.
// SECURITY.md S20.
TEST(LiveStoreTest, SecretsStayInMemoryAndOutOfCoreFiles) {
  Site site(2);
  const Server server = site.Serve(SmallJob());
  EXPECT_TRUE(Eventually([&] { return Says(ReadFile(server.log), "attempt 1"); }));
  const std::string core = ProcLine(server.process.pid(), "limits", "Max core file size");
  EXPECT_TRUE(core.empty() || Says(core, "Max core file size        0")) << core;
#ifndef SOTTO_SANITIZED  // the sanitizers ignore mlock()
  const std::string locked = ProcLine(server.process.pid(), "status", "VmLck:");
  const bool refused = Says(ReadFile(server.log), "cannot be locked in memory");
  EXPECT_NE(refused, !Says(locked, " 0 kB")) << locked;
#endif
  EXPECT_EQ(std::filesystem::status(site.Path("keys")).permissions(),
            std::filesystem::perms::owner_all);
}

// A device that took part in an attempt, and its receipt.
struct Witness {
  size_t device = 0;
  std::vector<uint8_t> receipt;
};

Witness TakePart(const Site& site, const Server& server) {
  Witness witness;
  EXPECT_TRUE(Eventually([&] {
    for (size_t i = 0; i < site.devices() && witness.receipt.empty(); ++i) {
      Caller caller(server.port, site.key(i));
      if (caller.Connect() != Status::kOk) continue;
      const Reply reply = caller.Hello();
      if (reply.kind != Reply::Kind::kTrain) continue;
      witness = {i, {reply.receipt.begin(), reply.receipt.end()}};
    }
    return !witness.receipt.empty();
  }));
  return witness;
}

// The attack: the store is put back to an older copy, so that its devices would be served as if
// nothing had been spent on them.
// SECURITY.md S22.
TEST(LiveStoreTest, AServerOnAnOlderCopyOfItsStoreStopsWhenADeviceShowsItsReceipt) {
  Site site(2);
  std::filesystem::copy_file(site.Path("store"), site.Path("backup"));
  const Arguments job = SmallJob({"--round-timeout", "100"});
  Server server = site.Serve(job);
  const Witness witness = TakePart(site, server);
  server.process.End();
  std::filesystem::copy_file(site.Path("backup"), site.Path("store"),
                             std::filesystem::copy_options::overwrite_existing);
  server = site.Serve(job);
  Caller caller(server.port, site.key(witness.device));
  ASSERT_EQ(caller.Connect(), Status::kOk);
  caller.Hello({witness.receipt.data(), witness.receipt.size()});
  EXPECT_EQ(server.process.Wait(), 4);
  const std::string log = ReadFile(server.log);
  EXPECT_TRUE(Says(log, "the store is an older copy")) << log;
  EXPECT_TRUE(Says(log, site.Path("store"))) << log;
}

// SECURITY.md S22.
TEST(LiveStoreTest, AMadeUpReceiptStopsNothingAndIsCounted) {
  Site site(2);
  Server server = site.Serve(SmallJob({"--round-timeout", "100"}));
  Witness witness = TakePart(site, server);
  witness.receipt.back() ^= 1;
  Caller caller(server.port, site.key(witness.device));
  ASSERT_EQ(caller.Connect(), Status::kOk);
  EXPECT_EQ(caller.Hello({witness.receipt.data(), witness.receipt.size()}).kind,
            Reply::Kind::kTrain);
  server.process.Signal(SIGTERM);
  EXPECT_EQ(server.process.Wait(), 128 + SIGTERM);
  EXPECT_TRUE(Says(ReadFile(server.log), "1 receipt not of this store, ignored"));
}

TEST(LiveStoreTest, AReleasedModelIsExportedWhileTheServerGoesOn) {
  Site site(2);
  Server server = site.Serve(
      {"--cohort", "2", "--rounds", "1000", "--noise-multiplier", "50", "--delta", "0.1"});
  std::vector<Process> clients = site.Clients(server.port);
  ASSERT_TRUE(server.WaitForReleases(2)) << ReadFile(server.log);
  Process process = site.Sotto(
      {"model", "export", site.Path("store"), "--round", "2", "--out", site.Path("model.npz")},
      "export.log");
  EXPECT_EQ(process.Wait(), 0) << ReadFile(site.Path("export.log"));
  EXPECT_TRUE(Says(ReadFile(site.Path("export.log")), "softmax-784-10, round 2, epsilon "))
      << ReadFile(site.Path("export.log"));
  EXPECT_TRUE(server.WaitForReleases(server.releases() + 2)) << ReadFile(server.log);
  server.process.Signal(SIGTERM);
  EXPECT_EQ(server.process.Wait(), 128 + SIGTERM) << ReadFile(server.log);
}

TEST(LiveStoreTest, TheStoreOfAKilledServerIsWhole) {
  Site site(2);
  Server server = site.Serve(SmallJob());
  std::vector<Process> clients = site.Clients(server.port);
  ASSERT_TRUE(server.WaitForReleases(1)) << ReadFile(server.log);
  server.process.End();
  const server::StoreReport report = server::InspectStore(site.Path("store"));
  EXPECT_GE(report.releases, 1);
  EXPECT_GE(report.attempts, report.releases);
  Process inspect =
      site.Sotto({"status", site.Path("store"), "--verify", "--json", site.Path("inspect.json")},
                 "inspect.log");
  EXPECT_EQ(inspect.Wait(), 0) << ReadFile(site.Path("inspect.log"));
  const auto json = nlohmann::json::parse(ReadFile(site.Path("inspect.json")), nullptr, false);
  EXPECT_EQ(json["head"], report.head);
  EXPECT_EQ(json["releases"], report.releases);
  EXPECT_TRUE(Says(ReadFile(site.Path("inspect.log")), "each as it was written"));
}

}  // namespace
}  // namespace sotto::live
