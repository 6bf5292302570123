// The command `sotto data show`, and fleets of every partition, as a user sees them.
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "data/synthetic.h"
#include "e2e/program.h"
#include "sotto/data/partitions.h"
#include "sotto/key_labels.h"
#include "sotto/posix/run_key.h"
#include "sotto/shard.h"
#include "unit/test_folder.h"
#include "unit/trials.h"

namespace sotto {
namespace {

std::vector<uint32_t> ShareOf(const std::string& text, uint32_t devices, uint32_t each,
                              uint64_t seed, uint32_t device) {
  const Partition partition =
      MakePartition(text, *server::SyntheticFor(nullptr, devices * each).train, devices, each,
                    posix::DeriveKey(posix::RunKey(seed), key_label::kPartition));
  const DeviceIndices samples = partition.DeviceSamples(device);
  std::vector<uint32_t> share;
  for (uint32_t i = 0; i < samples.size(); ++i) share.push_back(samples[i]);
  return share;
}

TEST(Shares, ShowPrintsAChartThatFitsATerminal) {
  const Outcome run =
      Sotto("data show synthetic --devices 100 --partition dirichlet:0.3 --first 5");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_NE(run.output.find("synthetic: 60000 training samples of 28 x 28 x 1, 10 classes\n"
                            "partition dirichlet:0.3 over 100 devices, seed 1\n"),
            std::string::npos)
      << run.output;
  EXPECT_NE(run.output.find("    ... and 95 devices more\n"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("samples dealt out     5000 of 60000\n"), std::string::npos)
      << run.output;
  std::istringstream lines(run.output);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(Shares, AnEvaluationOnDevicesThatHoldNothingOutIsRefused) {
  const std::string fleet =
      "simulate --data synthetic --model softmax-64-10 --devices 20 --cohort 5 --rounds 1 --seed 1 "
      "--evaluate-on-devices --held-out ";
  const Outcome refused = Sotto(fleet + "0");
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  EXPECT_NE(refused.output.find("--held-out 0 leaves no samples for --evaluate-on-devices"),
            std::string::npos)
      << refused.output;
  const Outcome too_few = Sotto(fleet + "0.1 --samples-per-device 4");
  EXPECT_NE(too_few.exit_code, 0);
  EXPECT_NE(too_few.output.find("every device has too few samples"), std::string::npos)
      << too_few.output;
  EXPECT_EQ(Sotto(fleet + "0.1").exit_code, 0);
}

TEST(Shares, ShowWritesCountsAndAChart) {
  const std::string svg = TestFile("shares.svg");
  const Json json =
      SottoJson("data show synthetic --devices 30 --partition quantity:0.5 --seed 3 --svg " + svg);
  EXPECT_EQ(json["data"], "synthetic");
  EXPECT_EQ(json["partition"], "quantity:0.5");
  EXPECT_EQ(json["seed"], 3);
  EXPECT_EQ(json["samples_dealt"], 1500);
  ASSERT_EQ(json["shares"].size(), 30U);
  EXPECT_EQ(json["shares"][7]["samples"], ShareOf("quantity:0.5", 30, 50, 3, 7).size());
  EXPECT_EQ(ReadFile(svg).substr(0, 5), "<svg ");
}

TEST(Shares, ShowDealsOutDataForAModel) {
  const int devices = Trials(100000);
  const Json json = SottoJson(fmt::format(
      "data show synthetic --model softmax-64-10 --devices {} --partition shards", devices));
  EXPECT_EQ(json["samples_dealt"], 50 * devices);
  EXPECT_EQ(json["shares"][devices - 1]["samples"], 50);
}

TEST(Shares, ASmallFileIsDealtOutToAsManyDevicesAsItIsEnoughFor) {
  const std::string path = TestFile("small.csv");
  std::string rows = "x,label\n";
  for (int i = 0; i < 130; ++i) rows += fmt::format("{},{}\n", i, i % 2);
  WriteFile(path, rows);
  const Json json = SottoJson("data show " + path);
  EXPECT_EQ(json["shares"].size(), 2U) << "117 samples, the rest is split off for tests";
}

TEST(Shares, WhatCannotBeDealtOutIsAUsageError) {
  ExpectUsageError("data show synthetic --partition nonsense", "there is no such partition");
  ExpectUsageError("data show synthetic --partition dirichlet", "expected dirichlet:ALPHA");
  ExpectUsageError("data show synthetic --partition group", "does not say from whom");
  ExpectUsageError("simulate --data synthetic --partition shards:0", "expected shards:K with");
  ExpectUsageError("data show synthetic --svg " + TestFile("x") + " --json " + TestFile("x"),
                   "--json");
  ExpectUsageError("data", "subcommand");
}

TEST(Shares, APartitionIsPartOfTheResults) {
  const Json json = SottoJson(
      "simulate --data synthetic --model softmax-64-10 --devices 60 --cohort 10 --rounds 1 "
      "--local-epochs 1 --seed 1 --partition quantity:0.05 --partition-seed 9");
  EXPECT_EQ(json["partition"], "quantity:0.05");
  EXPECT_EQ(json["partition_seed"], 9);
  EXPECT_EQ(json["samples_per_device"], 50);
  EXPECT_GT(json["devices_without_samples"], 0);
}

TEST(Shares, AHundredThousandSyntheticDevicesSimplyWork) {
  const Json json = SottoJson(
      "simulate --data synthetic --devices 100000 --cohort 10 --rounds 1 --local-epochs 1 --seed "
      "1");
  EXPECT_EQ(json["rounds"][0]["reported"], 10);
  EXPECT_EQ(json["devices_without_samples"], 0);
}

TEST(Shares, AShardHoldsWhatTheSimulatorGivesTheDevice) {
  const std::string file = TestFile("shard.bin");
  const auto shard = [&](const std::string& options) {
    return RunCommand(std::string(SOTTO_SHARD_PROGRAM) + " --data synthetic --out " + file + " " +
                      options + " 2>&1");
  };
  const Outcome run =
      shard("--device 3 --devices 50 --samples 20 --partition dirichlet:0.5 --seed 5");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  const SharedDataset data = server::SyntheticFor(nullptr, 1000).train;
  std::string expected;
  for (const uint32_t sample : ShareOf("dirichlet:0.5", 50, 20, 5, 3)) {
    expected += static_cast<char>(data->Label(sample));
    for (const uint8_t byte : data->Bytes(sample)) expected += static_cast<char>(byte);
  }
  EXPECT_EQ(ReadFile(file).substr(kShardHeadSize), expected);

  EXPECT_EQ(shard("--device 99999 --devices 100000 --seed 5").exit_code, 0);
  EXPECT_EQ(ReadFile(file).size(), kShardHeadSize + 50 * 785U);
  EXPECT_NE(shard("--device 3 --partition shards --seed 1").output.find("needs --devices"),
            std::string::npos);
  EXPECT_NE(shard("--device 3 --devices 9 --partition shards")
                .output.find("drawn from a seed: give --seed"),
            std::string::npos);
  EXPECT_NE(shard("--device 9 --devices 9").output.find("expected 0 to 8"), std::string::npos);
}

TEST(Shares, AClientRefusesAHalfNamedShare) {
  const auto why = [](const std::string& options) {
    const Outcome run =
        RunCommand(std::string(SOTTO_CLIENT_PROGRAM) + " --key k --data d " + options + " 2>&1");
    EXPECT_EQ(run.exit_code, 2) << options;
    return run.output;
  };
  for (const auto& [options, message] : {
           std::pair("--device 3", "expected --devices, too"),
           std::pair("--device 3 --devices 3", "--device 3: expected a number below --devices"),
           std::pair("--device 1 --devices 3",
                     "--partition iid is random: it needs --partition-seed"),
           std::pair("--device 1 --samples 0:5", "--samples"),
           std::pair("--devices 3", "--device"),
           std::pair("--device 1 --devices 3 --partition shards:x", "expected shards:K"),
       }) {
    EXPECT_NE(why(options).find(message), std::string::npos) << why(options);
  }
}

TEST(Shares, ADeviceOfAGroupBearsItsName) {
  const std::string csv = TestFile("users.csv");
  std::ofstream(csv) << "user,a,label\nann,1,0\nbob,2,1\nann,3,1\nbob,4,0\n";
  const Json json = SottoJson("data show " + csv + ":group=user,label=label --test " + csv +
                              ":group=user,label=label --partition group");
  ASSERT_EQ(json["shares"].size(), 2U);
  EXPECT_EQ(json["shares"][0]["group"], "ann");
  EXPECT_EQ(json["shares"][1]["samples"], 2);
}

TEST(Shares, ASimulationHasADeviceForEachGroup) {
  const std::string csv = TestFile("fleet.csv");
  std::ofstream file(csv);
  file << "user,a,label\n";
  for (int i = 0; i < 24; ++i) file << "u" << i % 3 << "," << i << "," << i / 3 % 2 << "\n";
  file.close();
  const std::string model = TestFile("fleet.toml");
  std::ofstream(model)
      << "name = \"fleet\"\ninput = [1]\n[[layer]]\nkind = \"dense\"\noutputs = 2\n";
  const std::string data = csv + ":group=user,label=label --partition group --model " + model;
  const std::string run = "simulate --data " + data +
                          " --cohort 2 --rounds 1 --seed 1 --noise-multiplier 1 --delta 0.1 ";
  EXPECT_EQ(SottoJson(run)["devices"], 3);
  EXPECT_EQ(SottoJson(run + "--devices 2")["devices"], 2);
  const std::string says =
      "--samples-per-device: partition group gives each device the samples that";
  ExpectUsageError(run + "--samples-per-device 5", says);
  ExpectUsageError("data show " + data + " --samples-per-device 5", says);
}

TEST(Shares, ThePageHasTheTableOfPartitions) {
  const Outcome table = Sotto("data partitions");
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_NE(ReadFile(SOTTO_SOURCE_DIR "/server/SIMULATE.md").find("\n\n" + table.output + "\n"),
            std::string::npos)
      << "the table should be:\n"
      << table.output;
}

}  // namespace
}  // namespace sotto
