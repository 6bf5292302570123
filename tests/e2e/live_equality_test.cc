// A fleet of real clients and a simulation of the same job agree byte for byte.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <random>

#include <nlohmann/json.hpp>

#include "backends/sql_store.h"
#include "e2e/live.h"
#include "unit/test_folder.h"

namespace sotto::live {
namespace {

using Json = nlohmann::json;

// The options of a client that takes its share of a partition, if there is one.
Arguments ShareOptions(size_t device, const std::string& partition) {
  if (partition.empty()) return {};
  return {"--device",
          std::to_string(device),
          "--devices",
          "8",
          "--samples-per-device",
          std::to_string(Site::kSamples),
          "--partition",
          partition,
          "--partition-seed",
          "7"};
}

// What a server finds of its models on a test set is what a simulation finds: in its JSON, in its
// log and in its store. It evaluates the second of three rounds, and the last.
void ExpectTheSameFigures(const Site& site, const Json& live, const Json& simulated) {
  const Json& evaluations = live["operator"]["evaluations"];
  ASSERT_EQ(evaluations.size(), 2u);
  const std::vector<server::StoredEvaluation> stored =
      server::SqlStore(site.Path("store")).Evaluations();
  ASSERT_EQ(stored.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const Json& expected = simulated["rounds"][i + 1]["evaluation"];
    EXPECT_EQ(evaluations[i]["round"], i + 2);
    for (const auto& item : expected.items()) {
      EXPECT_EQ(evaluations[i][item.key()], item.value()) << item.key();
    }
    EXPECT_EQ(stored[i].evaluation.loss, expected["loss"]);
    EXPECT_EQ(*stored[i].evaluation.accuracy(), expected["accuracy"]);
    EXPECT_EQ(stored[i].data.name, live["operator"]["test_data"]);
  }
  const std::string log = ReadFile(site.Path("serve.log"));
  EXPECT_EQ(Count(log, "round 2/3 evaluated: accuracy 0."), 1u) << log;
  EXPECT_EQ(Count(log, "round 3/3 evaluated: accuracy 0."), 1u) << log;
}

// The same seeded job, eight devices and three rounds, served to clients and simulated.
void ExpectTheSimulatorsModel(const Arguments& job_options, const Arguments& client_options = {},
                              const std::string& partition = "") {
  Site site(8, {"--seed", "7", "--insecure-seed"});
  Arguments job = {"--cohort", "4", "--rounds", "3", "--noise-multiplier", "1", "--seed", "7"};
  job.insert(job.end(), job_options.begin(), job_options.end());
  if (std::find(job.begin(), job.end(), "--sampling") == job.end()) {
    job.insert(job.end(), {"--sampling", "uniform"});
  }
  job.push_back("--json");
  Arguments serve = job;
  serve.insert(serve.end(), {site.Path("serve.json"), "--insecure-seed", "--test",
                             site.Path("data"), "--evaluate-every", "2"});
  Server server = site.Serve(serve);
  Arguments client = {"--seed", "7", "--insecure-seed"};
  client.insert(client.end(), client_options.begin(), client_options.end());
  std::vector<Process> clients;
  for (size_t i = 0; i < 8; ++i) {
    Arguments options = ShareOptions(i, partition);
    options.insert(options.end(), client.begin(), client.end());
    clients.push_back(site.Client(i, server.port, options));
  }
  ASSERT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  ExpectAllDone(site, clients);
  Arguments simulate = {"simulate",
                        "--data",
                        site.Path("data"),
                        "--devices",
                        "8",
                        "--samples-per-device",
                        std::to_string(Site::kSamples)};
  if (!partition.empty()) simulate.insert(simulate.end(), {"--partition", partition});
  simulate.insert(simulate.end(), job.begin(), job.end());
  simulate.push_back(site.Path("simulate.json"));
  ASSERT_EQ(site.Sotto(simulate, "simulate.log").Wait(), 0) << ReadFile(site.Path("simulate.log"));
  const Json live = Json::parse(ReadFile(site.Path("serve.json")));
  const Json simulated = Json::parse(ReadFile(site.Path("simulate.json")));
  EXPECT_EQ(live["rounds_released"], 3);
  EXPECT_EQ(live["seeded"], true);
  EXPECT_EQ(live["parameters_sha256"], simulated["parameters_sha256"]);
  ASSERT_EQ(simulated["rounds"].size(), 3u);
  ExpectTheSameFigures(site, live, simulated);
  const std::vector<server::LedgerEntry> ledger = server::SqlStore(site.Path("store")).Ledger();
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(live["operator"]["attempts"][i]["device_accuracy"],
              simulated["rounds"][i]["device_accuracy"]);
    EXPECT_EQ(ledger[i].plan.clip_l2, simulated["rounds"][i]["clip_l2"]);
    EXPECT_EQ(ledger[i].plan.noise_sigma, simulated["rounds"][i]["noise_sigma"]);
  }
}

// A net of layers, named in no program.
std::string WriteModel(const std::string& path, int units, const std::string& more = "") {
  std::ofstream(path) << "name = \"mine\"\ninput = [784]\n"
                      << more << "[[layer]]\nkind = \"dense\"\noutputs = " << units
                      << "\n[[layer]]\nkind = \"relu\"\n"
                      << "[[layer]]\nkind = \"dense\"\noutputs = 10\n";
  return path;
}

TEST(LiveEquality, TheLiveFleetReachesTheSimulatorsModel) { ExpectTheSimulatorsModel({}); }

// Some of these devices hold no sample.
TEST(LiveEquality, TheLiveFleetHoldsTheSimulatorsShares) {
  ExpectTheSimulatorsModel({}, {}, "dirichlet-split:0.02");
}

TEST(LiveEquality, TheLiveFleetReachesTheSimulatorsModelUnderAdaptiveClipping) {
  ExpectTheSimulatorsModel({"--adaptive-clip", "--clip", "0.1"});
}

// The simulation holds out the same fifth.
TEST(LiveEquality, TheLiveFleetFindsTheSimulatorsAccuracyOnDevices) {
  ExpectTheSimulatorsModel({"--evaluate-on-devices", "--adaptive-clip"}, {"--held-out", "0.2"});
}

TEST(LiveEquality, TheLiveFleetReachesTheSimulatorsModelUnderPrivateNoise) {
  ExpectTheSimulatorsModel({"--trust-mode", "private-noise", "--private-noise-multiplier", "0.3"},
                           {"--min-private-noise", "0.3"});
}

TEST(LiveEquality, TheLiveFleetReachesTheSimulatorsLeNet) {
  ExpectTheSimulatorsModel({"--model", "lenet", "--local-epochs", "1"}, {"--model", "lenet"});
}

// Devices keep their personal layers in files, the simulation in memory.
TEST(LiveEquality, TheLiveFleetReachesTheSimulatorsModelWithPersonalLayers) {
  const std::string model = WriteModel(TestFile("personal.toml"), 12, "personal = 1\n");
  ExpectTheSimulatorsModel({"--model", model, "--sampling", "poisson"}, {"--model", model});
}

// The last of three rounds measures. The threshold is in the results, in the store beside the final
// release, and so in what a device fetches.
//   write_data  writes samples of four numbers for eight devices; what --data names
//   input       of the model
void ExpectTheSimulatorsThreshold(const std::function<std::string(const Site&)>& write_data,
                                  const std::string& input, const Arguments& more) {
  Site site(8, {"--seed", "7", "--insecure-seed"});
  const std::string model = site.Path("detector.toml");
  std::ofstream(model) << "name = \"detector\"\ninput = " << input
                       << "\nloss = \"mean-squared-error\"\ntarget = \"input\"\n"
                          "[[layer]]\nkind = \"dense\"\noutputs = 2\n"
                          "[[layer]]\nkind = \"dense\"\noutputs = 4\n";
  const std::string data = write_data(site);
  const Arguments job = {"--model",
                         model,
                         "--cohort",
                         "8",
                         "--rounds",
                         "3",
                         "--sampling",
                         "full",
                         "--noise-multiplier",
                         "0.05",
                         "--learning-rate",
                         "0.05",
                         "--batch-size",
                         "3",
                         "--seed",
                         "7",
                         "--threshold-bins",
                         "0.25,0.5,1,2,4",
                         "--threshold-quantile",
                         "0.6",
                         "--json"};
  Arguments serve = job;
  serve.insert(serve.end(), {site.Path("serve.json"), "--insecure-seed"});
  Server server = site.Serve(serve);
  std::vector<Process> clients;
  for (size_t i = 0; i < 8; ++i) {
    Arguments options = {"--seed",
                         "7",
                         "--insecure-seed",
                         "--model",
                         model,
                         "--data",
                         data,
                         "--keep-model",
                         site.Path("kept-" + std::to_string(i))};
    options.insert(options.end(), more.begin(), more.end());
    clients.push_back(site.Client(i, server.port, options));
  }
  ASSERT_EQ(server.process.Wait(), 0) << ReadFile(server.log);
  ExpectAllDone(site, clients);
  Arguments simulate = {"simulate",
                        "--data",
                        data,
                        "--test",
                        data,
                        "--devices",
                        "8",
                        "--samples-per-device",
                        std::to_string(Site::kSamples)};
  simulate.insert(simulate.end(), more.begin(), more.end());
  simulate.insert(simulate.end(), job.begin(), job.end());
  simulate.push_back(site.Path("simulate.json"));
  ASSERT_EQ(site.Sotto(simulate, "simulate.log").Wait(), 0) << ReadFile(site.Path("simulate.log"));
  const Json live = Json::parse(ReadFile(site.Path("serve.json")));
  const Json simulated = Json::parse(ReadFile(site.Path("simulate.json")));
  EXPECT_EQ(live["parameters_sha256"], simulated["parameters_sha256"]);
  ASSERT_TRUE(simulated["threshold"].is_number()) << simulated["error_histogram"].dump();
  const auto threshold = simulated["threshold"].get<float>();
  const std::vector<server::ModelThreshold> attached =
      server::SqlStore(site.Path("store")).Thresholds();
  ASSERT_EQ(attached.size(), 1u) << ReadFile(server.log);
  EXPECT_EQ(attached[0].round, 2);
  EXPECT_EQ(attached[0].threshold, threshold);
  EXPECT_EQ(live["rounds"][2]["threshold"].get<float>(), threshold) << live["rounds"].dump();
  EXPECT_TRUE(live["rounds"][1]["threshold"].is_null());
  const std::string kept = ReadFile(site.Path("kept-0") + "/model.release");
  EXPECT_EQ(Count(kept, "\nthreshold "), 1u) << kept;
}

std::string WriteRows(const Site& site) {
  std::ofstream file(site.Path("fleet.csv"));
  std::mt19937 random(4);
  file << "a,b,c,d\n";
  for (size_t i = 0; i < 8 * Site::kSamples; ++i) {
    for (int j = 0; j < 4; ++j)
      file << static_cast<int>(random() % 40) - 20 << (j < 3 ? "e-1," : "e-1\n");
  }
  return site.Path("fleet.csv");
}

// Images of 2 x 2 pixels of three classes, which the model does not look at.
std::string WriteImages(const Site& site) {
  const auto write = [&](const char* name, const std::string& head, size_t bytes, int below) {
    std::ofstream file(site.Path(name), std::ios::binary);
    std::mt19937 random(5);
    file.write(head.data(), static_cast<std::streamsize>(head.size()));
    for (size_t i = 0; i < bytes; ++i) file.put(static_cast<char>(random() % below));
  };
  constexpr size_t kCount = 8 * Site::kSamples;
  static_assert(kCount < 256);
  const std::string count = {0, 0, 0, static_cast<char>(kCount)};
  const std::string side = {0, 0, 0, 2};
  write("fleet-images-idx3-ubyte", std::string("\0\0\x8\x3", 4) + count + side + side, 4 * kCount,
        256);
  write("fleet-labels-idx1-ubyte", std::string("\0\0\x8\x1", 4) + count, kCount, 3);
  return site.Path("fleet-images-idx3-ubyte") + ":labels=" + site.Path("fleet-labels-idx1-ubyte");
}

TEST(LiveEquality, TheLiveFleetFindsTheSimulatorsThreshold) {
  ExpectTheSimulatorsThreshold(WriteRows, "[4]", {});
}

TEST(LiveEquality, TheLiveFleetFindsTheSimulatorsThresholdOnHeldOutSamples) {
  ExpectTheSimulatorsThreshold(WriteRows, "[4]", {"--held-out", "0.25"});
}

TEST(LiveEquality, TheLiveFleetFindsTheSimulatorsThresholdOfImagesWithLabels) {
  ExpectTheSimulatorsThreshold(WriteImages, "[2, 2, 1]", {"--held-out", "0.25"});
}

TEST(LiveEquality, TheLiveFleetReachesTheSimulatorsModelWithMomentum) {
  ExpectTheSimulatorsModel({"--momentum", "0.9"});
}

// Steps with replacement, a rate that falls from step to step, a proximal term and a gradient clip
// of batches, for which this model needs memory; and a gradient clip of samples with momentum.
TEST(LiveEquality, TheLiveFleetReachesTheSimulatorsModelWithEveryTrainingMethod) {
  ExpectTheSimulatorsModel({"--local-steps", "7", "--batches", "with-replacement",
                            "--learning-rate-schedule", "inverse-sqrt-all-steps", "--proximal",
                            "0.5", "--gradient-clip", "0.5"});
}

TEST(LiveEquality, TheLiveFleetReachesTheSimulatorsNetWithClippedSamples) {
  const std::string path = WriteModel(TestFile("clipped.toml"), 8);
  ExpectTheSimulatorsModel({"--model", path, "--local-epochs", "1", "--learning-rate-schedule",
                            "inverse-step", "--momentum", "0.5", "--gradient-clip", "1",
                            "--gradient-clip-of", "sample", "--clip-by-layer", "size"},
                           {"--model", path});
}

TEST(LiveEquality, TheLiveFleetReachesTheSimulatorsModelOfAFile) {
  const std::string path = WriteModel(TestFile("mine.toml"), 8);
  ExpectTheSimulatorsModel({"--model", path}, {"--model", path});
}

TEST(LiveEquality, TheLiveFleetReachesTheSimulatorsModelOfPreparedSamples) {
  const std::string path = TestFile("prepared.toml");
  std::ofstream(path) << "name = \"prepared\"\ninput = [28, 28, 1]\nmissing = 0.0\n"
                         "[[prepare]]\nkind = \"normalise\"\nmean = 0.1307\n"
                         "deviation = 0.3081\n"
                         "[[prepare]]\nkind = \"random-crop\"\npadding = 2\n"
                         "[[prepare]]\nkind = \"random-flip\"\n"
                         "[[layer]]\nkind = \"dense\"\noutputs = 10\n";
  ExpectTheSimulatorsModel({"--model", path}, {"--model", path});
}

TEST(LiveEquality, AJobGoesOnWithTheFileItBeganWithOrWithoutAnyAndAClientNeedsTheSame) {
  Site site(2);
  const std::string path = WriteModel(site.Path("mine.toml"), 8);
  const Arguments plan = {"--cohort", "2", "--rounds", "3", "--noise-multiplier", "1"};
  Arguments job = plan;
  job.insert(job.end(), {"--model", path});
  Server server = site.Serve(job);
  const std::string other = WriteModel(site.Path("other.toml"), 9);
  EXPECT_EQ(site.Client(0, server.port, {"--model", other}).Wait(), 3);
  EXPECT_EQ(Count(ReadFile(site.ClientLog(0)), "with --model"), 1u) << ReadFile(site.ClientLog(0));
  server.process.Signal(SIGTERM);
  EXPECT_EQ(server.process.Wait(), 143);
  WriteModel(path, 9);
  Server replacing = site.Serve(job);
  EXPECT_EQ(Count(ReadFile(replacing.log), "job 2: "), 1u) << "the first one has released nothing";
  replacing.process.Signal(SIGTERM);
  EXPECT_EQ(replacing.process.Wait(), 143);
  std::filesystem::remove(path);
  Server again = site.Serve(plan);
  again.process.Signal(SIGTERM);
  EXPECT_EQ(again.process.Wait(), 143) << "it goes on with the model that the store has";
  EXPECT_EQ(Count(ReadFile(site.Path("serve.log")), "model mine, "), 3u);
  const std::string store = site.Path("store");
  for (const Arguments& command :
       {Arguments{"model", "export", store, "--out", site.Path("mine.npz")},
        Arguments{"model", "evaluate", store, "--data", "synthetic"},
        Arguments{"model", "show", "--store", store, "--toml"}}) {
    EXPECT_EQ(site.Sotto(command, "command.log").Wait(), 0) << command[1];
  }
  EXPECT_EQ(Count(ReadFile(site.Path("command.log")), "name = \"mine\""), 1u);
}

}  // namespace
}  // namespace sotto::live
