// Tests of the list of the papers' tables and figures, of what an experiment costs, and of the
// spectra of updates.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "aggregate/tensors.h"
#include "experiment/cost.h"
#include "experiment/coverage.h"
#include "experiment/grid.h"
#include "experiment/library.h"
#include "experiment/run_kinds.h"
#include "formulas/spectra.h"
#include "sim/peer_data.h"
#include "sim/simulation_request.h"
#include "sotto/data/dataset.h"
#include "sotto/models.h"

namespace sotto::server {
namespace {

std::string Page(const char* path) {
  std::ifstream file(std::string(SOTTO_SOURCE_DIR) + path);
  std::stringstream page;
  page << file.rdbuf();
  return page.str();
}

// A paper with a table and a figure, and one experiment.
Coverage SmallCoverage() {
  return ParseCoverage("small.toml", R"toml([[paper]]
key = "p"
title = "A paper"
tables = 1
figures = 1
[[item]]
paper = "p"
name = "Table 1"
what = "accuracies"
experiments = ["one"]
[[item]]
paper = "p"
name = "Figure 1 (a)"
what = "curves"
experiments = ["one"]
[[item]]
paper = "p"
name = "Figure 1 (b)"
what = "a drawing"
reason = "nothing to compute"
)toml");
}

std::vector<Definition> OneExperiment() {
  Definition definition;
  definition.name = "one";
  return {definition};
}

std::string OnlyFault(const Coverage& coverage) {
  const std::vector<std::string> faults = FaultsOf(coverage, OneExperiment());
  EXPECT_EQ(faults.size(), 1u);
  return faults.empty() ? "" : faults.front();
}

TEST(ExperimentCoverage, EveryTableAndFigureHasAnEntryAndEveryExperimentARow) {
  const std::vector<std::string> faults = FaultsOf(BuiltInCoverage(), BuiltInExperiments());
  for (const std::string& fault : faults) ADD_FAILURE() << fault;
  EXPECT_EQ(BuiltInCoverage().papers.size(), 5u);
}

TEST(ExperimentCoverage, ARowWithoutAnEntryIsAFault) {
  Coverage coverage = SmallCoverage();
  EXPECT_TRUE(FaultsOf(coverage, OneExperiment()).empty());
  coverage.items[1].experiments.clear();
  EXPECT_EQ(OnlyFault(coverage),
            "p, Figure 1 (a): no experiment, no reason, and not said to be open");
  coverage.items[1].open = "its data";
  EXPECT_TRUE(FaultsOf(coverage, OneExperiment()).empty());
}

TEST(ExperimentCoverage, ARowThatIsMissingOrTwiceThereIsAFault) {
  Coverage coverage = SmallCoverage();
  coverage.papers[0].figures = 2;
  EXPECT_EQ(OnlyFault(coverage), "p: the paper has 2 figures, the list 1");
  coverage = SmallCoverage();
  coverage.items.push_back(coverage.items[2]);
  EXPECT_EQ(FaultsOf(coverage, OneExperiment()).size(), 2u);
  coverage = SmallCoverage();
  coverage.items[0].paper = "q";
  EXPECT_EQ(FaultsOf(coverage, OneExperiment()).size(), 2u);
}

TEST(ExperimentCoverage, AnExperimentWithoutARowAndARowOfNoExperimentAreFaults) {
  Coverage coverage = SmallCoverage();
  coverage.items[0].experiments = {"one", "two"};
  EXPECT_EQ(OnlyFault(coverage), "two: there is no such experiment");
  coverage.items[0].experiments = {"two"};
  coverage.items[1].experiments = {"two"};
  EXPECT_EQ(FaultsOf(coverage, OneExperiment()).size(), 2u);
  coverage.beside.push_back({"one", "our own"});
  EXPECT_EQ(OnlyFault(coverage), "two: there is no such experiment");
}

TEST(ExperimentCoverage, AFigureCountsWhereItsWorstPanelDoes) {
  Coverage coverage = SmallCoverage();
  CoveredCounts counts = CountCovered(coverage, coverage.papers[0]);
  EXPECT_EQ(counts.with_experiment, 1u);
  EXPECT_EQ(counts.with_reason, 1u);
  coverage.items[2].reason.clear();
  counts = CountCovered(coverage, coverage.papers[0]);
  EXPECT_EQ(counts.with_reason, 0u);
  EXPECT_EQ(counts.with_nothing, 1u);
}

TEST(ExperimentCoverage, AMistakeInTheListIsNamedWithItsLine) {
  const auto complaint = [](const char* text) {
    try {
      ParseCoverage("list.toml", text);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(complaint("[[paper]]\ntable = 3\n"), "list.toml:2: [[paper]] has no key table");
  EXPECT_EQ(complaint("[[paper]]\ntables = \"x\"\n"), "list.toml:2: tables: expected a count");
  EXPECT_EQ(complaint("[[row]]\n"),
            "list.toml:1: [[row]]: the list has [[paper]], [[item]] and [[beside]]");
}

// The verdicts of an experiment as its row of RESULTS.md has them: "agrees 2, differs 1; quick".
std::string VerdictOnPage(const std::string& page, const std::string& experiment) {
  const size_t at = page.find("\n| `" + experiment + "` |");
  const std::string row = page.substr(at + 1, page.find('\n', at + 1) - at - 1);
  if (row.find("not run with") != std::string::npos) return kNotRun;
  std::string text;
  for (const char* seen : {"agrees", "differs", "open", "shown"}) {
    size_t count = 0;
    for (const char* before : {"**", "**so far: "}) {
      const std::string mark = std::string(before) + seen;
      for (size_t i = row.find(mark); i != std::string::npos; i = row.find(mark, i + 1)) ++count;
    }
    if (count > 0) text += (text.empty() ? "" : ", ") + (seen + (" " + std::to_string(count)));
  }
  if (row.find("**so far: ") != std::string::npos) text.insert(0, "so far: ");
  if (row.find(", stand-in for ") != std::string::npos) text += "; stand-in";
  if (row.find(" a cell, quick") != std::string::npos) text += "; quick";
  return text;
}

TEST(ExperimentCoverage, ThePageIsTheListWithTheVerdictsOfThePageOfResults) {
  const std::string results = Page("/server/experiments/RESULTS.md");
  const std::string list = CoverageMarkdown(
      BuiltInCoverage(), BuiltInExperiments(),
      [&](const std::string& experiment) { return VerdictOnPage(results, experiment); });
  EXPECT_NE(Page("/server/experiments/COVERAGE.md").find("\n" + list), std::string::npos)
      << "paste into server/experiments/COVERAGE.md what `sotto-lab experiment coverage --markdown "
         "--out FOLDER` prints, with the folder of the results:\n"
      << list;
}

TEST(ExperimentCost, IsThatOfTheTrainingInAllRuns) {
  const std::string text = R"(name = "costs"
title = "t"
kind = "simulation"
figure = "accuracy"
seeds = 3
[options]
data = "synthetic"
model = "softmax-64-10"
sampling = "uniform"
devices = 100
samples-per-device = 20
cohort = 10
rounds = 4
local-epochs = 2
[[axis]]
name = "smoothing"
values = ["0", "1"]
)";
  const double once = MultiplyAccumulatesOf(ParseDefinition("costs.toml", text));
  // 6 runs of 4 rounds, 10 devices, 2 passes over 20 samples: each forward, and the gradient.
  EXPECT_EQ(once, 6.0 * 4 * 10 * 40 * (640 + 640));
  EXPECT_EQ(MultiplyAccumulatesOf(OpenExperiment("dp-fed-ls-fig1")), 0);
  EXPECT_LT(MultiplyAccumulatesOf(OpenExperiment("dp-fed-ls-table4")), 0);
  EXPECT_GT(MultiplyAccumulatesOf(OpenExperiment("gau-lrq-table4-cifar100")), 1e15);
}

// The spectra of one update of softmax-64-10, of which only the first layer has values.
Outcome SpectraOf(const std::vector<float>& weights, const SpectraOptions& options) {
  SimulationRequest request;
  request.job.model = FindModel("softmax-64-10");
  SimulationConfig config;
  config.job = request.job;
  SimulationResult result;
  result.updates.push_back({4, weights});
  result.updates.back().values.resize(config.job.model->parameters);
  Outcome outcome;
  PutSpectra(options, config, result, &outcome);
  return outcome;
}

TEST(ExperimentSpectra, AnImpulseIsFlatAndASlowWaveIsNot) {
  SpectraOptions options;
  options.orders = {"natural"};
  std::vector<float> impulse(640, 0.0F);
  impulse[100] = 1;
  const Outcome flat = SpectraOf(impulse, options);
  EXPECT_NEAR(flat.figures.at("slope_layer1_natural_round5"), 0, 1e-5);
  EXPECT_NEAR(flat.figures.at("top_share_layer1_natural_last"), 1, 1e-5);
  EXPECT_NEAR(flat.series.at("projection_layer1_natural_round5").at(7), 1 / std::sqrt(640.0), 1e-6);
  std::vector<float> wave(640);
  for (size_t i = 0; i < wave.size(); ++i)
    wave[i] = std::sin(0.0098174770F * static_cast<float>(i));
  EXPECT_LT(SpectraOf(wave, options).figures.at("top_share_layer1_natural_last"), 1e-8);
}

TEST(ExperimentSpectra, PermutationsMoveTheOutputsAndKeepTheRest) {
  SpectraOptions options;
  options.orders = {"natural", "OIHW"};
  options.permutations = 2;
  options.seed = 1;
  std::vector<float> weights(640);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>((i * i) % 97);
  const Outcome outcome = SpectraOf(weights, options);
  const std::vector<double>& first = outcome.series.at("layer1_permuted1_round5");
  EXPECT_NE(first, outcome.series.at("layer1_natural_round5"));
  EXPECT_NE(first, outcome.series.at("layer1_permuted2_round5"));
  EXPECT_EQ(outcome.series.at("layer1_OIHW_round5").size(), first.size());
  EXPECT_GT(outcome.figures.at("slope_spread_layer1"), 0);
  options.layers = {2};
  EXPECT_EQ(SpectraOf(weights, options).series.count("layer1_natural_round5"), 0u);
}

class Samples : public SharedSamples {
 public:
  TrainTest Open(const SimulationRequest& request) override { return OpenDataOf(request); }
  TrainTest Open(const PeersRequest& request) override { return OpenPeerData(request); }
};

Outcome RunWith(const char* kind, const Settings& settings) {
  Samples samples;
  FindRunKind(kind).check(settings);
  return FindRunKind(kind).run(settings, {samples, [] { return false; }});
}

Outcome RunOf(const char* kind, Settings more) {
  more.insert({{"data", "synthetic"},
               {"model", "softmax-64-10"},
               {"devices", "12"},
               {"cohort", "6"},
               {"samples-per-device", "8"},
               {"rounds", "3"},
               {"grid", "0"},
               {"sampling", "uniform"},
               {"seed", "1"}});
  return RunWith(kind, more);
}

TEST(ExperimentRunKinds, ASpectrumRunShowsUpdatesWithoutNoise) {
  const Settings settings = {{"mechanism", "none"},
                             {"spectrum", "spectrum.csv"},
                             {"spectrum-rounds", "1,3,9"},
                             {"spectrum-orders", "natural"}};
  const Outcome outcome = RunOf("spectrum", settings);
  EXPECT_EQ(outcome.series.count("layer1_natural_round1"), 1u);
  EXPECT_EQ(outcome.series.count("layer1_natural_round3"), 1u);
  EXPECT_EQ(outcome.series.count("layer1_natural_round9"), 0u);
  EXPECT_EQ(outcome.figures.count("accuracy"), 1u);
  EXPECT_EQ(FindRunKind("spectrum").command(settings),
            "sotto simulate --mechanism none --spectrum spectrum.csv --spectrum-rounds 1,3,9");
  EXPECT_THROW(RunOf("spectrum", {{"mechanism", "none"}}), std::invalid_argument);
  Settings private_one = settings;
  private_one["mechanism"] = "float32";
  EXPECT_THROW(RunOf("spectrum", private_one), std::invalid_argument);
}

TEST(ExperimentRunKinds, ASensitivityRunMeasuresTwins) {
  const Settings settings = {
      {"mechanism", "float32"}, {"unit", "device"}, {"pairs", "2"}, {"noise-multiplier", "1"}};
  const Outcome outcome = RunOf("sensitivity", settings);
  EXPECT_EQ(outcome.series.at("round").size(), 3u);
  EXPECT_GT(outcome.figures.at("distance_most"), 0);
  EXPECT_LE(outcome.figures.at("one_round"), outcome.figures.at("bound"));
  EXPECT_EQ(outcome.note, "");
  EXPECT_THROW(RunOf("sensitivity", {{"unit", "fleet"}}), std::invalid_argument);
  EXPECT_THROW(RunOf("sensitivity", {{"pair", "2"}}), std::invalid_argument);
}

// A definition may ask for these names alone.
TEST(ExperimentRunKinds, WhatARunHasIsInTheListsOfItsKind) {
  const Settings peers = {{"data", "synthetic"}, {"samples-per-device", "60"}, {"peers", "2"},
                          {"epsilon", "1"},      {"batch-size", "10"},         {"seed", "1"}};
  const std::pair<const char*, Outcome> runs[] = {
      {"simulation", RunOf("simulation", {{"noise-multiplier", "1"}})},
      {"membership", RunOf("membership", {{"noise-multiplier", "1"}, {"audit-samples", "20"}})},
      {"sensitivity",
       RunOf("sensitivity", {{"mechanism", "float32"}, {"noise-multiplier", "1"}, {"pairs", "1"}})},
      {"peers", RunWith("peers", peers)}};
  for (const auto& [name, outcome] : runs) {
    const RunKind& kind = FindRunKind(name);
    EXPECT_FALSE(outcome.figures.empty());
    for (const auto& [figure, value] : outcome.figures) {
      EXPECT_EQ(std::count(kind.figures.begin(), kind.figures.end(), figure), 1) << figure;
    }
    for (const auto& [series, values] : outcome.series) {
      EXPECT_EQ(std::count(kind.series.begin(), kind.series.end(), series), 1) << series;
    }
  }
}

}  // namespace
}  // namespace sotto::server
