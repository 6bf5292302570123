// `sotto peers simulate` as a user runs it: messages, report, files.
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <string>

#include "e2e/small_run.h"

namespace sotto {
namespace {

std::string Peers() {
  return "peers simulate --data synthetic --model ova-logistic --peers 3 "
         "--samples-per-device 500 --seed 1 ";
}

Json PeersRun(const std::string& arguments) {
  const std::string path = TestFile("peers.json");
  const Outcome run = Sotto(Peers() + arguments + " --json " + path);
  EXPECT_EQ(run.exit_code, 0) << run.output;
  return Json::parse(ReadFile(path), nullptr, false);
}

TEST(PeersCli, OptionsOfASimulationWithAServerAreRefusedByName) {
  for (const char* option : {"--cohort", "--rounds", "--devices"}) {
    ExpectUsageError(Peers() + option + " 5",
                     option + std::string(" is no option of `sotto peers simulate`"));
  }
  ExpectUsageError(Peers() + "--mechanism gau-lrq",
                   "--mechanism: a publication carries discrete Gaussian noise");
  ExpectUsageError(Peers() + "--share sometimes", "sometimes");
  ExpectUsageError(Peers() + "--seeds 1-2", "--seed");
}

TEST(PeersCli, OldSpellingsAnswerWithTheNewOnes) {
  for (const char* option : {"--topology peers", "--peers 10", "--share always", "--unit none"}) {
    ExpectUsageError(std::string("simulate --data synthetic --rounds 1 ") + option,
                     "it is now `sotto peers simulate`");
  }
  ExpectUsageError("directory --store x", "it is now `sotto peers directory`");
  ExpectUsageError("account peers", "it is now `sotto peers account`");
}

TEST(PeersCli, EveryCommandHasTheSameRangeOfASetting) {
  const std::string most = "4294967296";
  const std::string device = "--unit device --clip 1 --most-releases " + most;
  const std::string words = most + " is not in the range [0 - 4294967295]";
  ExpectUsageError(Peers() + device, words);
  ExpectUsageError("peers account " + device, words);
  ExpectUsageError("peers directory --store x --state y " + device, words);
  const Json json = PeersRun("--unit device --clip 1 --most-releases 5000000 --epsilon 5000");
  EXPECT_EQ(json["settings"]["most_releases"], 5000000);
}

TEST(PeersCli, TheReportHasItsRivalAndAllThatAnEpsilonNeeds) {
  const Outcome run = Sotto(Peers() + "--share coin:0.5 --epsilon 2");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  for (const char* words :
       {"3 nodes without a server", "shared model", "nodes' own", "never sharing", "publications",
        "epsilon 2.000 at delta", "one sample", "replace-one adjacency", "seeded: not private"}) {
    EXPECT_NE(run.output.find(words), std::string::npos) << words << "\n" << run.output;
  }
}

TEST(PeersCli, ComponentsFittedOnTrainingSamplesAreSaidToBe) {
  const Outcome run =
      Sotto("peers simulate --data synthetic --pca 8 --peers 3 --samples-per-device 500");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_NE(run.output.find("fitted on the training data: no epsilon covers the fit"),
            std::string::npos)
      << run.output;
}

TEST(PeersCli, DeepQStatesNoEpsilonAndSaysWhy) {
  const Outcome run = Sotto(Peers() + "--share deep-q");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_NE(run.output.find("NO EPSILON"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("depends on its private data"), std::string::npos) << run.output;
  EXPECT_EQ(run.output.find("at delta"), std::string::npos) << run.output;
  const Json json = PeersRun("--share deep-q");
  EXPECT_TRUE(json["epsilon"].is_null());
  EXPECT_TRUE(json["claims"].empty());
  EXPECT_NE(json["privacy_note"].get<std::string>(), "");
}

TEST(PeersCli, NoNoiseHasNoEpsilon) {
  for (const char* without : {"--unit none", "--epsilon inf", "--mechanism none"}) {
    const Json json = PeersRun(without);
    EXPECT_TRUE(json["epsilon"].is_null()) << without;
    EXPECT_EQ(json["noise_sigma"], 0.0) << without;
  }
}

// The words in backquotes of the page's table of fields.
std::set<std::string> NamedFields() {
  std::istringstream page(ReadFile(SOTTO_SOURCE_DIR "/server/PEERS.md"));
  std::set<std::string> names;
  bool is_inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.rfind("| fields of a training without a server", 0) == 0) is_inside = true;
    if (line.empty()) is_inside = false;
    if (!is_inside) continue;
    const std::string first = line.substr(0, line.find('|', 1));
    for (size_t at = first.find('`'); at != std::string::npos;) {
      const size_t end = first.find('`', at + 1);
      names.insert(first.substr(at + 1, end - at - 1));
      at = first.find('`', end + 1);
    }
  }
  return names;
}

TEST(PeersCli, ThePageNamesTheFieldsOfTheJson) {
  const Json json = PeersRun("--share period:5");
  std::set<std::string> fields;
  for (const auto& item : json.items()) fields.insert(item.key());
  EXPECT_EQ(fields, NamedFields());
  EXPECT_EQ(json["publications"].size(), 6u);
  EXPECT_EQ(json["publications"][0]["local_steps"], 4);
  EXPECT_EQ(json["node_reports"].size(), 3u);
  EXPECT_GT(json["accuracy_never"].get<double>(), 0.1);
}

TEST(PeersCli, ModelAndJobAreWritten) {
  const std::string model = TestFile("model.bin");
  const std::string job = TestFile("job.toml");
  const Outcome run = Sotto(Peers() + "--model-out " + model + " --job-out " + job);
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_EQ(ReadFile(model).size(), 4u * 510);
  EXPECT_NE(ReadFile(job).find("rule = \"average\""), std::string::npos) << ReadFile(job);
  EXPECT_EQ(Sotto("peers account --model ova-logistic --job " + job).exit_code, 0);
}

TEST(PeersCli, SeveralJobsOnTheSameSamplesHaveOneEpsilon) {
  const auto account = [](const std::string& more) {
    const std::string file = TestFile("account.json");
    const Outcome run = Sotto("peers account --epsilon 3 --delta 1e-9 --json " + file + more);
    EXPECT_EQ(run.exit_code, 0) << run.output;
    return Json::parse(ReadFile(file), nullptr, false);
  };
  const Json one = account("");
  EXPECT_TRUE(one["all_jobs"].is_null());
  const Json two = account(" --jobs 2")["all_jobs"];
  EXPECT_NEAR(two["rho"], 2 * one["rho"].get<double>(), 1e-9);
  EXPECT_GT(two["epsilon"], 4);
  EXPECT_LT(two["epsilon"], 6);
  const Json other = account(" --other-rho " + one["rho"].dump())["all_jobs"];
  EXPECT_NEAR(other["epsilon"], two["epsilon"].get<double>(), 1e-6);
  EXPECT_NE(Sotto("peers account --epsilon 3 --delta 1e-9 --jobs 2").output.find("  all jobs "),
            std::string::npos);
}

TEST(PeersCli, SeedsAreSummarised) {
  const Outcome run = Sotto(
      "peers simulate --data synthetic --model ova-logistic --peers 3 "
      "--samples-per-device 500 --seeds 1-2");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  for (const char* words :
       {"2 simulations", "accuracy", "own accuracy", "never sharing", "epsilon", "publications"}) {
    EXPECT_NE(run.output.find(words), std::string::npos) << words << "\n" << run.output;
  }
}

}  // namespace
}  // namespace sotto
