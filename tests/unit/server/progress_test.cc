// Tests of the progress line, of the CSV of rounds and of repeated runs.
#include "views/progress.h"

#include <cmath>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/mean_deviation.h"
#include "views/repeated_runs.h"
#include "views/simulation_csv.h"

namespace sotto::server {
namespace {

TEST(Progress, TheLineIsShorterThanTheTerminal) {
  EXPECT_EQ(ProgressLine(12, 24, "half"), "[############............] half");
  EXPECT_EQ(ProgressLine(24, 24, "all"), "[########################] all");
  EXPECT_EQ(ProgressLine(12, 24, "half", 30).size(), 29u);
  EXPECT_EQ(ProgressLine(12, 24, "half", 32), ProgressLine(12, 24, "half"));
}

TEST(Progress, TheTimeLeftIsRoundedUp) {
  EXPECT_EQ(TimeLeft(0.2), "1 s left");
  EXPECT_EQ(TimeLeft(59), "59 s left");
  EXPECT_EQ(TimeLeft(61), "2 min left");
  EXPECT_EQ(TimeLeft(3600), "1 h 0 min left");
  EXPECT_EQ(TimeLeft(7500), "2 h 5 min left");
}

TEST(RepeatedRuns, TheDeviationIsThatOfASample) {
  EXPECT_EQ(MeanDeviationOf({}).count, 0u);
  EXPECT_EQ(MeanDeviationOf({4}).deviation, 0.0);
  const MeanDeviation spread = MeanDeviationOf({1, 2, 3, 4});
  EXPECT_EQ(spread.mean, 2.5);
  EXPECT_NEAR(spread.deviation, std::sqrt(5.0 / 3), 1e-15);
}

TEST(RepeatedRuns, TheJsonHasEachRunAndWhatTheyHaveInCommon) {
  const FinishedRuns runs = {
      {{"accuracy", 0.5}, {"epsilon", nullptr}, {"evaluation", {{"loss", 1.0}}}},
      {{"accuracy", 0.7}, {"epsilon", nullptr}, {"evaluation", {{"loss", 2.0}}}}};
  const auto json = RunsToJson({1, 5, 6}, runs);
  EXPECT_EQ(json["seeds"], (std::vector<int>{1, 5}));
  EXPECT_EQ(json["mean"]["accuracy"], 0.6);
  EXPECT_NEAR(json["deviation"]["loss"].get<double>(), std::sqrt(0.5), 1e-15);
  EXPECT_TRUE(json["mean"]["epsilon"].is_null());
  EXPECT_EQ(json["runs"].size(), 2u);
  const std::string text = DescribeRuns(runs);
  EXPECT_NE(text.find("2 simulations"), std::string::npos);
  EXPECT_NE(text.find("accuracy       0.6000 +- 0.1414"), std::string::npos) << text;
  EXPECT_EQ(text.find("epsilon"), std::string::npos);
}

TEST(RepeatedRuns, OneRunHasNoDeviation) {
  const FinishedRuns runs = {{{"accuracy", 0.5}}};
  EXPECT_TRUE(RunsToJson({1}, runs)["deviation"]["accuracy"].is_null());
  EXPECT_EQ(DescribeRuns(runs).find("+-"), std::string::npos);
}

TEST(RoundsCsv, HasARowARound) {
  SimulationConfig config;
  SimulationResult result;
  result.rounds.resize(2);
  result.rounds[1].outcome.round = 1;
  result.rounds[1].evaluation.emplace();
  result.rounds[1].evaluation->samples = 4;
  result.rounds[1].evaluation->loss = 0.1;
  result.rounds[1].evaluation->classes = {{1, 4}};
  const std::string header = RoundsCsvHeader();
  EXPECT_EQ(header.rfind("seed,round,attempts,cohort,reported,", 0), 0u) << header;
  const std::string rows = RoundsCsvRows(config, result);
  EXPECT_EQ(rows.rfind(",1,0,0,0,", 0), 0u) << rows;
  EXPECT_NE(rows.find(",,,\n,2,0,"), std::string::npos) << "not evaluated: empty cells\n" << rows;
  EXPECT_EQ(rows.substr(rows.size() - 11), ",0.25,0.1,\n") << rows;
  config.seed = 7;
  EXPECT_EQ(RoundsCsvRows(config, result).rfind("7,1,", 0), 0u);
}

}  // namespace
}  // namespace sotto::server
