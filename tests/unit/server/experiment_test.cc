// Tests of experiments: definitions, grids, runs that go on, summaries and charts.
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/built_in.h"
#include "experiment/charts.h"
#include "experiment/library.h"
#include "experiment/origins.h"
#include "experiment/result_files.h"
#include "experiment/results_page.h"
#include "experiment/run_kinds.h"
#include "experiment/runner.h"
#include "unit/test_folder.h"

namespace sotto::server {
namespace {

const std::string kFolder = std::string(SOTTO_VECTORS) + "/experiments";

Definition Tiny() { return OpenExperiment(kFolder + "/tiny.toml"); }

// The cells of the small experiment, with its model in `folder`.
struct TinyGrid {
  explicit TinyGrid(const std::string& folder, bool is_quick = true) {
    options.is_quick = is_quick;
    options.out = folder;
    WriteModels(definition, folder);
    data = ChooseData(definition, options);
    cells = MakeCells(definition, options, data);
  }

  std::vector<CellResult> Run(RunLogFile& log, uint64_t seeds, int jobs,
                              std::function<bool()> stop = nullptr) const {
    RunnerOptions runner;
    runner.seeds = seeds;
    runner.jobs = jobs;
    runner.stop = std::move(stop);
    return RunCells(FindRunKind(definition.kind), cells, runner, log);
  }

  Definition definition = Tiny();
  GridOptions options;
  ChosenData data;
  std::vector<Cell> cells;
};

std::string WhyRefused(const std::string& text) {
  try {
    ParseDefinition("mine.toml", text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

const std::string kHead = "name = \"a\"\ntitle = \"b\"\nkind = \"formula\"\nfigure = \"c\"\n";

TEST(ExperimentDefinition, AMistakeIsNamedWithItsLine) {
  EXPECT_EQ(WhyRefused(kHead), "accepted");
  EXPECT_NE(WhyRefused(kHead + "seed = 3\n").find("mine.toml:5: there is no such key"),
            std::string::npos);
  EXPECT_NE(WhyRefused("name = \"a\"\n").find("the key title is missing"), std::string::npos);
  EXPECT_NE(
      WhyRefused(kHead + "[[axis]]\nname = \"x\"\nvalues = [\"1\"]\n[[paper]]\nalong = \"x\"\n"
                         "means = [1, 2]\n")
          .find("expected 1 means"),
      std::string::npos);
  EXPECT_NE(WhyRefused(kHead + "[[set]]\nat = [\"x=1\"]\n").find("x is no axis"),
            std::string::npos);
  EXPECT_NE(WhyRefused(kHead + "[[claim]]\ntext = \"t\"\n").find("either than or value"),
            std::string::npos);
}

TEST(ExperimentDefinition, AWordWithoutQuotesAndAKeyThatIsATableTooAreRefused) {
  // The reason between is the library's.
  const std::string bare = WhyRefused(kHead + "[options]\nmechanism = none\n");
  EXPECT_EQ(bare.find("mine.toml:6:13: mechanism = none: "), 0u) << bare;
  EXPECT_NE(bare.find("; put a text in quotes: \"none\""), std::string::npos) << bare;
  EXPECT_EQ(WhyRefused(kHead + "data = \"MNIST\"\n"),
            "mine.toml:5: there is no such key; did you mean dataset?");
  EXPECT_EQ(WhyRefused(kHead + "data = \"MNIST\"\n[[data]]\nname = \"mnist\"\n"),
            "mine.toml:6:1: data comes twice, in line 5 and here; take one out");
  EXPECT_EQ(WhyRefused(kHead + "[options]\nrounds = 5\nweight-decay = 4e-5\n[[axis]]\n"
                               "name = \"cohort\"\nvalues = [ # on two lines\n\"1\", \"2\",\n]\n"),
            "accepted");
}

TEST(ExperimentDefinition, LaterSettingsWin) {
  const TestFolder folder;
  const TinyGrid full(folder.path(), false);
  ASSERT_EQ(full.cells.size(), 4u);
  const Settings& slow = full.cells.front().settings;
  EXPECT_EQ(slow.at("learning-rate"), "0.01");
  EXPECT_EQ(slow.at("rounds"), "3");
  EXPECT_EQ(slow.at("smoothing"), "0");
  EXPECT_EQ(slow.at("data"), "synthetic");
  EXPECT_EQ(slow.at("model"), folder.Path("models/tiny-net.toml"));
  EXPECT_FALSE(full.cells.front().paper.has_value());
  ASSERT_TRUE(full.cells.back().paper.has_value());
  EXPECT_EQ(full.cells.back().paper->mean, 41);
  const TinyGrid quick(folder.path());
  ASSERT_EQ(quick.cells.size(), 2u);
  EXPECT_EQ(quick.cells.front().settings.at("rounds"), "1");
}

TEST(ExperimentDefinition, AnAxisThatDecidesNothingIsRefused) {
  Definition definition = Tiny();
  definition.axes.push_back({"smoothnig", {"1"}, {}, {}});
  EXPECT_THROW(MakeCells(definition, {}, {}), std::invalid_argument);
  definition.axes.back().name = "rounds";
  EXPECT_NO_THROW(MakeCells(definition, {}, {}));
}

TEST(ExperimentDefinition, AValueOfAnAxisStandsForOptions) {
  Definition definition = Tiny();
  definition.axes[1].values = {"slow", "fast"};
  definition.axes[1].options = {{}, {{"cohort", "7"}, {"rounds", "9"}}};
  GridOptions options;
  options.only = {"smoothing=0"};
  const std::vector<Cell> cells = MakeCells(definition, options, {});
  ASSERT_EQ(cells.size(), 2u);
  EXPECT_EQ(cells[0].settings.at("cohort"), "10");
  EXPECT_EQ(cells[1].settings.at("cohort"), "7");
  EXPECT_EQ(cells[1].settings.at("rounds"), "9");
  const std::string axis = "[[axis]]\nname = \"x\"\nvalues = [\"1\", \"2\"]\n";
  EXPECT_EQ(WhyRefused(kHead + axis + "options = [\"a=1 b=2\", \"\"]\n"), "accepted");
  EXPECT_NE(WhyRefused(kHead + axis + "options = [\"a=1\"]\n").find("as many texts of options"),
            std::string::npos);
}

TEST(ExperimentDefinition, AnEqualityNeedsItsBoundAndAReason) {
  const std::string claim = "[[claim]]\ntext = \"t\"\nvalue = 1\nexpected = \"equal\"\n";
  EXPECT_NE(WhyRefused(kHead + claim).find("it needs within"), std::string::npos);
  EXPECT_NE(WhyRefused(kHead + claim + "within = 1\n").find("within-why"), std::string::npos);
  EXPECT_EQ(WhyRefused(kHead + claim + "within = 1\nwithin-why = \"a deviation\"\n"), "accepted");
}

TEST(ExperimentDefinition, AFigureThatNoRunHasIsRefusedBeforeTheFirst) {
  const std::string head = "name = \"a\"\ntitle = \"b\"\nkind = \"simulation\"\nfigure = ";
  EXPECT_EQ(WhyRefused(head + "\"accuracy\"\n"), "accepted");
  EXPECT_NE(WhyRefused(head + "\"acuracy\"\n").find("figure = acuracy: expected one of accuracy,"),
            std::string::npos);
  const std::string good = head + "\"accuracy\"\n";
  EXPECT_NE(WhyRefused(good + "columns = [\"epsilom\"]\n").find("columns: epsilom"),
            std::string::npos);
  EXPECT_NE(WhyRefused(good + "[[claim]]\ntext = \"t\"\nvalue = 1\nfigure = \"epsilom\"\n")
                .find("the [[claim]] \"t\": figure = epsilom"),
            std::string::npos);
  EXPECT_NE(WhyRefused(good + "[chart]\nx = \"round\"\ny = [\"los\"]\n").find("[chart] y: los"),
            std::string::npos);
  EXPECT_NE(WhyRefused(good + "[chart]\nx = \"rounds\"\ny = [\"loss\"]\n")
                .find("[chart] x = rounds is no axis: expected one of accuracy, loss"),
            std::string::npos);
  EXPECT_EQ(WhyRefused(good + "[chart]\nx = \"round\"\ny = [\"loss\"]\n"), "accepted");
}

TEST(ExperimentDefinition, WhoDecidesAnOptionIsOneOfThreeWithAReason) {
  EXPECT_EQ(WhyRefused(kHead + "[origin]\nrounds = \"paper\"\n"), "accepted");
  EXPECT_NE(WhyRefused(kHead + "[origin]\nrounds = \"ours\"\n").find("say why"), std::string::npos);
  EXPECT_NE(WhyRefused(kHead + "[origin]\nrounds = \"mine: x\"\n").find("paper, open, ours"),
            std::string::npos);
}

TEST(ExperimentDefinition, TheDataThatAreThereAreTaken) {
  const Definition definition = Tiny();
  const TestFolder folder;
  GridOptions options;
  options.data_folder = folder.path();
  EXPECT_TRUE(ChooseData(definition, options).is_stand_in);
  std::ofstream(folder.Path("mnist")) << "x";
  const ChosenData own = ChooseData(definition, options);
  EXPECT_FALSE(own.is_stand_in);
  EXPECT_EQ(own.settings.at("data"), folder.Path("mnist"));
  EXPECT_EQ(own.advice, "");
  options.data = "synthetic";
  EXPECT_TRUE(ChooseData(definition, options).is_stand_in);
  options.data = "cifar";
  EXPECT_THROW(ChooseData(definition, options), std::invalid_argument);
}

TEST(ExperimentRuns, TheResultsDoNotDependOnHowManyRunAtATime) {
  const TestFolder folder;
  const TinyGrid grid(folder.path());
  RunLogFile one(folder.Path("one.jsonl"));
  RunLogFile four(folder.Path("four.jsonl"));
  const Definition& d = grid.definition;
  const Summary a = Summarise(d, grid.data, true, 3, grid.Run(one, 3, 1));
  const Summary b = Summarise(d, grid.data, true, 3, grid.Run(four, 3, 4));
  EXPECT_EQ(ResultJson(a).dump(), ResultJson(b).dump());
  EXPECT_EQ(ResultText(ReportOf(a)), ResultText(ReportOf(b)));
  EXPECT_EQ(a.runs, 6u);
}

TEST(ExperimentRuns, AnInterruptedExperimentGoesOnWithTheOthers) {
  const TestFolder folder;
  const TinyGrid grid(folder.path());
  const std::string path = folder.Path("runs.jsonl");
  std::vector<CellResult> whole;
  {
    RunLogFile log(folder.Path("whole.jsonl"));
    whole = grid.Run(log, 3, 1);
  }
  {
    // Stopped after two runs.
    RunLogFile log(path);
    const auto runs = grid.Run(log, 3, 1, [&] { return log.size() >= 2; });
    EXPECT_EQ(runs[0].runs.size() + runs[1].runs.size(), 2u);
  }
  // Killed in the middle of a line.
  std::ofstream(path, std::ios::app) << "{\"key\": \"ab";
  RunLogFile log(path);
  EXPECT_EQ(log.size(), 2u);
  const std::vector<CellResult> rest = grid.Run(log, 3, 2);
  const Definition& d = grid.definition;
  EXPECT_EQ(ResultJson(Summarise(d, grid.data, true, 3, rest)).dump(),
            ResultJson(Summarise(d, grid.data, true, 3, whole)).dump());
  EXPECT_EQ(RunLogFile(path).size(), 6u);
}

// The former figures belong to other data.
TEST(ExperimentRuns, ARunOfAFileThatHasAnotherContentNowIsMadeAnew) {
  const TestFolder folder;
  TinyGrid grid(folder.path());
  const std::string data = folder.Path("partition.csv");
  const auto deal = [&](int first) {
    std::ofstream file(data);
    for (int i = 0; i < 600; ++i) file << (i + first) % 20 << "\n";
  };
  deal(0);
  for (Cell& cell : grid.cells) cell.settings["partition"] = "file:" + data;
  const std::string path = folder.Path("runs.jsonl");
  const auto kept = [&] {
    RunLogFile log(path);
    KeptRuns seen;
    RunnerOptions options;
    options.stop = [] { return true; };  // looks only
    options.on_begin = [&](const KeptRuns& now) { seen = now; };
    RunCells(FindRunKind(grid.definition.kind), grid.cells, options, log);
    return seen;
  };
  {
    RunLogFile log(path);
    const InputDigests inputs = InputReader().Read({{"partition", "file:" + data}});
    for (const Cell& cell : grid.cells) {
      const Settings settings = SettingsOfRun(cell, 1);
      log.Append(RunKey("simulation", settings), "simulation", settings,
                 {Outcome(), inputs, "another build"});
    }
  }
  EXPECT_EQ(kept().done, 2U);
  EXPECT_EQ(kept().of_other_builds, (std::map<std::string, size_t>{{"another build", 2}}));
  deal(1);
  const KeptRuns changed = kept();
  EXPECT_EQ(changed.done, 0U);
  ASSERT_EQ(changed.changed.size(), 1U);
  EXPECT_EQ(changed.changed.begin()->second, 2U);
  EXPECT_EQ(changed.changed.begin()->first.find("--partition file:" + data), 0U);
  std::filesystem::remove(data);
  EXPECT_EQ(kept().done, 2U) << "what is gone cannot be compared";
}

TEST(ExperimentRuns, ALineThatIsNotAsItWasWrittenCountsForNothing) {
  const TestFolder folder;
  const std::string path = folder.Path("runs.jsonl");
  Outcome outcome;
  outcome.figures["accuracy"] = 0.25;
  outcome.core_seconds = 1.5;
  RunLogFile(path).Append("key", "simulation", {}, {outcome, {}, "build"});
  ASSERT_TRUE(RunLogFile(path).Find("key").has_value());
  EXPECT_EQ(RunLogFile(path).Find("key")->build, "build");
  EXPECT_EQ(RunLogFile(path).Find("key")->outcome.core_seconds, 1.5);
  std::string text;
  {
    std::ifstream file(path);
    std::getline(file, text);
  }
  for (size_t at = 0; at < text.size(); ++at) {
    std::string bad = text;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    std::ofstream(path) << bad << "\n";
    EXPECT_EQ(RunLogFile(path).size(), 0U) << at;
  }
}

TEST(ExperimentRuns, TheKeyIsAllThatDecidesARun) {
  const TestFolder folder;
  const TinyGrid grid(folder.path());
  Settings settings = SettingsOfRun(grid.cells.front(), 1);
  const std::string key = RunKey("simulation", settings);
  settings["seed"] = "2";
  EXPECT_NE(RunKey("simulation", settings), key);
  settings["seed"] = "1";
  EXPECT_EQ(RunKey("simulation", settings), key);
  EXPECT_NE(RunKey("formula", settings), key);
  // A model counts by its contents, not by its place.
  const TestFolder other;
  const TinyGrid same(other.path());
  settings["model"] = other.Path("models/tiny-net.toml");
  EXPECT_EQ(RunKey("simulation", settings), key);
  std::ofstream(settings["model"], std::ios::app) << "# changed\n";
  EXPECT_NE(RunKey("simulation", settings), key);
}

TEST(ExperimentRuns, ABudgetThatNoNoiseMeetsIsARefusedRun) {
  const TestFolder folder;
  TinyGrid grid(folder.path());
  for (Cell& cell : grid.cells) {
    cell.settings.erase("noise-multiplier");
    cell.settings["epsilon"] = "1e-9";
  }
  RunLogFile log(folder.Path("runs.jsonl"));
  const std::vector<CellResult> results = grid.Run(log, 1, 1);
  ASSERT_EQ(results.front().runs.size(), 1u);
  EXPECT_TRUE(results.front().runs.front().outcome.is_refused);
  const Summary summary = Summarise(grid.definition, grid.data, true, 1, results);
  const std::string text = ResultText(ReportOf(summary));
  EXPECT_NE(text.find("note: smoothing=0 pace=fast and 1 more"), std::string::npos) << text;
}

// As two processes do: each has its own view of the file.
TEST(ExperimentRuns, TwoThatShareAFileMakeEachRunOnce) {
  const TestFolder folder;
  const TinyGrid grid(folder.path());
  const std::string path = folder.Path("runs.jsonl");
  std::vector<CellResult> results[2];
  {
    RunLogFile logs[2] = {RunLogFile(path), RunLogFile(path)};
    std::thread other([&] { results[0] = grid.Run(logs[0], 4, 2); });
    results[1] = grid.Run(logs[1], 4, 2);
    other.join();
  }
  const Definition& d = grid.definition;
  EXPECT_EQ(ResultJson(Summarise(d, grid.data, true, 4, results[0])).dump(),
            ResultJson(Summarise(d, grid.data, true, 4, results[1])).dump());
  std::ifstream file(path);
  size_t lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  EXPECT_EQ(lines, 8u);
}

TEST(ExperimentRuns, WhatAnotherOneIsAtIsLeftAndWaitedFor) {
  const TestFolder folder;
  const TinyGrid grid(folder.path());
  const std::string path = folder.Path("runs.jsonl");
  RunLogFile other(path);
  RunLogFile log(path);
  std::optional<posix::Claim> claim =
      other.TryClaim(RunKey("simulation", SettingsOfRun(grid.cells[0], 1)));
  ASSERT_TRUE(claim);
  RunnerOptions options;
  size_t waited_for = 0;
  options.on_wait = [&](size_t left) {
    waited_for = left;
    claim.reset();  // the other one is gone, without a run
  };
  const std::vector<CellResult> results =
      RunCells(FindRunKind("simulation"), grid.cells, options, log);
  EXPECT_EQ(waited_for, 1u);
  EXPECT_EQ(results[0].runs.size() + results[1].runs.size(), 2u);
}

TEST(ExperimentRuns, RunsOfOtherFoldersAreTakenOver) {
  const TestFolder folder;
  const TinyGrid grid(folder.path());
  {
    RunLogFile log(folder.Path("a.jsonl"));
    grid.Run(log, 2, 1);
  }
  RunLogFile log(folder.Path("b.jsonl"));
  EXPECT_EQ(log.Import(folder.Path("a.jsonl")), 4u);
  EXPECT_EQ(log.Import(folder.Path("a.jsonl")), 0u);
  EXPECT_EQ(RunLogFile(folder.Path("b.jsonl")).size(), 4u);
  EXPECT_THROW(log.Import(folder.Path("c.jsonl")), std::runtime_error);
}

TEST(ExperimentRuns, SettingsThatNoRunHasAreRefusedBeforeTheFirst) {
  const std::string kind_name = "simulation";
  const RunKind& kind = FindRunKind(kind_name);
  EXPECT_THROW(CheckCells(kind, {{{}, {{"no-such-option", "1"}}, {}}}), std::invalid_argument);
  EXPECT_THROW(CheckCells(kind, {{{}, {{"rounds", "many"}}, {}}}), std::invalid_argument);
  EXPECT_THROW(CheckCells(kind, {{{}, {{"rounds", "0"}}, {}}}), std::invalid_argument);
  EXPECT_THROW(CheckCells(kind, {{{}, {{"sampling", "none"}}, {}}}), std::invalid_argument);
  EXPECT_THROW(CheckCells(kind, {{{}, {{"epsilon", "1"}, {"noise-multiplier", "1"}}, {}}}),
               std::invalid_argument);
  EXPECT_NO_THROW(CheckCells(kind, {{{}, {{"rounds", "2"}}, {}}}));
}

// Two cells with given accuracies, without running anything.
Summary SummaryOf(std::vector<double> without, std::vector<double> with) {
  const Definition definition = Tiny();
  std::vector<CellResult> results;
  for (const auto& [smoothing, values] : {std::pair("0", without), std::pair("2", with)}) {
    CellResult result;
    result.cell.at = {{"smoothing", smoothing}, {"pace", "fast"}};
    result.cell.paper = PaperFigureOf(definition, result.cell.at);
    for (size_t i = 0; i < values.size(); ++i) {
      Outcome outcome;
      outcome.figures["accuracy"] = values[i];
      result.runs.push_back({i + 1, outcome});
    }
    results.push_back(result);
  }
  Summary summary = Summarise(definition, {}, false, without.size(), results);
  summary.data.label = "x";
  return summary;
}

TEST(ExperimentSummary, AVerdictFollowsFromThePairedDifferences) {
  Summary summary = SummaryOf({0.5, 0.6}, {0.51, 0.61});
  const Difference& seen = summary.verdicts[0].differences.front();
  EXPECT_NEAR(seen.here.mean, 1, 1e-12);
  EXPECT_NEAR(seen.here.deviation, 0, 1e-12);
  EXPECT_EQ(*seen.paper, 1);
  EXPECT_TRUE(seen.is_equal);  // within 100 points
  EXPECT_EQ(seen.Seen(100), "higher, by less than 100");
  EXPECT_EQ(summary.verdicts[0].text(), "agrees");
  EXPECT_EQ(summary.verdicts[1].text(), "differs");
  EXPECT_NEAR(summary.verdicts[1].differences.front().here.mean, 55 - 200, 1e-9);
  const PaperCount count = CountAgainstPaper(summary);
  EXPECT_EQ(count.cells, 2u);
  EXPECT_EQ(count.differ, 0u);
}

TEST(ExperimentSummary, OnePairOfTrainingsDecidesNothing) {
  const Summary summary = SummaryOf({0.5}, {0.9});
  EXPECT_TRUE(summary.verdicts[0].differences.front().is_open());
  EXPECT_EQ(summary.verdicts[0].text(), "open: one run decides nothing");
  // A mean of two differences of 30 and 50 points is within 12.7 standard errors of nothing.
  const Summary two = SummaryOf({0.5, 0.5}, {0.8, 1.0});
  EXPECT_FALSE(two.verdicts[0].differences.front().is_different);
}

TEST(ExperimentSummary, ARowWithoutTheFigureIsCounted) {
  Definition definition = Tiny();
  definition.comparisons.resize(1);
  definition.comparisons[0].figure = "epsilon";
  std::vector<CellResult> results;
  for (const char* pace : {"fast", "slow"}) {
    for (const char* smoothing : {"0", "2"}) {
      CellResult result;
      result.cell.at = {{"smoothing", smoothing}, {"pace", pace}};
      for (uint64_t seed = 1; seed <= 2; ++seed) {
        Outcome outcome;
        outcome.figures["accuracy"] = 0.5;
        if (pace == std::string("fast")) outcome.figures["epsilon"] = 1;
        result.runs.push_back({seed, outcome});
      }
      results.push_back(result);
    }
  }
  const ClaimVerdict verdict = Summarise(definition, {}, false, 2, results).verdicts[0];
  EXPECT_EQ(verdict.differences.size(), 1u);
  EXPECT_EQ(verdict.without_figure, 1u);
  EXPECT_EQ(verdict.text(), "agrees; no figure in 1 row");
  results[3].runs.clear();  // not run, which is another thing
  EXPECT_EQ(Summarise(definition, {}, false, 2, results).verdicts[0].text(), "agrees");
}

TEST(ExperimentSummary, NothingIsComparedWithThePaperOnAStandIn) {
  Summary summary = SummaryOf({0.5, 0.6}, {0.51, 0.61});
  EXPECT_TRUE(summary.cells[0].against);
  ChosenData stand_in;
  stand_in.is_stand_in = true;
  const Summary other = Summarise(summary.definition, stand_in, false, 2, {});
  EXPECT_FALSE(other.compares());
  for (const CellSummary& cell : other.cells) EXPECT_FALSE(cell.against);
}

TEST(ExperimentSummary, TheCsvHasALineACellAndNamesTheStandIn) {
  Summary summary = SummaryOf({0.5, 0.6}, {0.51, 0.61});
  summary.data.is_stand_in = true;
  std::istringstream csv(ResultCsv(summary));
  std::string line;
  std::getline(csv, line);
  EXPECT_EQ(line,
            "experiment,data,stand_in,size,smoothing,pace,runs,mean,deviation,paper_mean,"
            "paper_deviation,learned_nothing,prediction_half_width,differs,also_epsilon,command\r");
  size_t cells = 0;
  for (; std::getline(csv, line); ++cells) {
    EXPECT_NE(line.find("\"x, stand-in for MNIST\",yes,full"), std::string::npos) << line;
  }
  EXPECT_EQ(cells, 2u);
}

TEST(ExperimentSummary, TheJsonHasItsFields) {
  const nlohmann::ordered_json json = ResultJson(SummaryOf({0.5, 0.6}, {0.51, 0.61}));
  for (const char* field :
       {"experiment",   "title",     "paper",       "claim",        "paper_data",   "data",
        "stand_in",     "asked_for", "quick",       "figure",       "scale",        "runs",
        "runs_missing", "seeds",     "seeds_fixed", "paper_runs",   "beside_paper", "cells",
        "verdicts",     "notes",     "settings",    "sotto_version"}) {
    EXPECT_TRUE(json.contains(field)) << field;
  }
  const auto& cell = json["cells"][0];
  EXPECT_EQ(cell["at"]["smoothing"], "0");
  EXPECT_NEAR(cell["figures"]["accuracy"]["mean"], 0.55, 1e-12);
  EXPECT_EQ(cell["figures"]["accuracy"]["runs"], 2);
  EXPECT_EQ(cell["paper"]["mean"], 40);
  EXPECT_EQ(json["verdicts"][0]["verdict"], "agrees");
}

TEST(ExperimentCharts, ThereIsALineForEachCellAndOneOfThePaper) {
  const std::vector<ChartPanel> panels = PanelsOf(SummaryOf({0.5}, {0.7}));
  ASSERT_EQ(panels.size(), 1u);  // pace=slow was not run
  EXPECT_EQ(panels[0].x, (std::vector<double>{0, 2}));
  ASSERT_EQ(panels[0].lines.size(), 2u);
  EXPECT_EQ(panels[0].lines[0].values, (std::vector<double>{50, 70}));
  EXPECT_TRUE(panels[0].lines[1].is_paper);
  EXPECT_EQ(panels[0].lines[1].values, (std::vector<double>{40, 41}));
  const std::string svg = ResultSvg(panels);
  EXPECT_NE(svg.find("<polyline"), std::string::npos);
  EXPECT_NE(svg.find("stroke-dasharray"), std::string::npos);
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
}

TEST(ExperimentCharts, PointsHaveErrorBars) {
  const std::vector<ChartPanel> panels = PanelsOf(SummaryOf({0.5, 0.6}, {0.7, 0.9}));
  const ChartLine& here = panels[0].lines[0];
  EXPECT_NEAR(here.errors[1], 100 * std::sqrt(0.02), 1e-9);
  EXPECT_EQ(panels[0].lines[1].errors, (std::vector<double>{50, 50}));  // the paper's
  EXPECT_TRUE(panels[0].has_bars());
  const std::string svg = ResultSvg(panels);
  EXPECT_NE(svg.find("class=\"bar\""), std::string::npos);
  EXPECT_NE(svg.find(kBarsText), std::string::npos);
  EXPECT_TRUE(std::isnan(PanelsOf(SummaryOf({0.5}, {0.7}))[0].lines[0].errors[0]));
}

TEST(ExperimentCharts, SeveralFiguresAreALineEach) {
  Summary summary = SummaryOf({0.5}, {0.7});
  summary.definition.chart.y = {"accuracy", "epsilon"};
  const ChartPanel panel = PanelsOf(summary).front();
  std::vector<std::string> names;
  for (const ChartLine& line : panel.lines) names.push_back(line.name);
  EXPECT_EQ(names, (std::vector<std::string>{"accuracy", "paper: accuracy", "epsilon"}));
  EXPECT_EQ(panel.lines[0].colour, panel.lines[1].colour);
  EXPECT_NE(panel.lines[0].colour, panel.lines[2].colour);
}

TEST(ExperimentCharts, ALogarithmicAxisLeavesOutWhatHasNoLogarithm) {
  Summary summary = SummaryOf({0.1}, {100});
  summary.definition.chart.has_log_y = true;
  const ChartPanel tall = PanelsOf(summary).front();
  EXPECT_EQ(tall.lines[0].values, (std::vector<double>{10, 10000}));
  const std::string svg = ResultSvg({tall});
  for (const char* tick : {">10<", ">100<", ">1000<", ">10000<"}) {
    EXPECT_NE(svg.find(tick), std::string::npos) << tick;
  }
  EXPECT_EQ(svg.find(">2000<"), std::string::npos);
  summary.definition.chart.has_log_x = true;
  const ChartPanel panel = PanelsOf(summary).front();
  EXPECT_EQ(panel.x, (std::vector<double>{2}));  // not 0
  EXPECT_EQ(panel.lines[0].values, (std::vector<double>{10000}));
}

TEST(ExperimentCharts, ThePageLoadsNothing) {
  const Summary summary = SummaryOf({0.5}, {0.7});
  const std::string html = ResultHtml(ReportOf(summary), PanelsOf(summary));
  for (const char* outside : {" src=", "<link", "url(", "@import", "fetch(", "XMLHttpRequest"}) {
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
  }
  EXPECT_NE(html.find("&lt;angles&gt; &amp; more"), std::string::npos);
  if (!HasCharts()) GTEST_SKIP() << "uPlot was not built in: the page has tables only";
  EXPECT_NE(html.find("var uPlot="), std::string::npos);
  EXPECT_NE(html.find("Leon Sorokin"), std::string::npos);  // its licence
  EXPECT_NE(html.find("\"values\":[50.0,70.0]"), std::string::npos);
}

// Verdicts of runs that are not all there are so far, and count for nothing.
TEST(ExperimentResultsPage, CountsWhatIsWholeAndListsAnOwnSweep) {
  const TestFolder folder;
  Summary summary = SummaryOf({0.5, 0.6}, {0.51, 0.61});
  summary.definition.name = "dp-fed-ls-noise";
  const auto page_of = [&](const nlohmann::ordered_json& results) {
    std::ofstream(folder.path() + "/results.json") << results;
    return ResultsPage(BuiltInExperiments(), {folder.path()});
  };
  nlohmann::ordered_json results = ResultJson(summary);
  results["seeds_fixed"] = results["seeds"];
  const std::string whole = page_of(results);
  EXPECT_NE(whole.find("**agrees**: "), std::string::npos);
  EXPECT_NE(whole.find("| a paper's, of a formula | 1 | 1 | 0 |"), std::string::npos) << whole;
  for (const auto& [key, value] :
       {std::pair<const char*, nlohmann::ordered_json>("runs_missing", 3),
        {"quick", true},
        {"only", {"smoothing=0"}},
        {"seeds", 7}}) {
    nlohmann::ordered_json part = results;
    part[key] = value;
    EXPECT_EQ(page_of(part).find("of a formula |"), std::string::npos) << key;
  }
  results["runs_missing"] = 3;
  EXPECT_NE(page_of(results).find("**so far: agrees**: "), std::string::npos);
  results["experiment"] = "mine";
  EXPECT_NE(page_of(results).find("| `mine` |"), std::string::npos);
}

TEST(ExperimentLibrary, ThePageListsTheExperiments) {
  std::ifstream file(std::string(SOTTO_SOURCE_DIR) + "/server/EXPERIMENTS.md");
  std::stringstream page;
  page << file.rdbuf();
  const std::string table = ExperimentsTable(BuiltInExperiments());
  EXPECT_NE(page.str().find("\n" + table), std::string::npos)
      << "paste into server/EXPERIMENTS.md what `sotto-lab experiment list --markdown` prints:\n"
      << table;
}

TEST(ExperimentLibrary, ThePageNamesTheFiguresOfEachKind) {
  std::ifstream file(std::string(SOTTO_SOURCE_DIR) + "/server/EXPERIMENTS.md");
  std::stringstream page;
  page << file.rdbuf();
  for (const RunKind& kind : RunKinds()) {
    if (kind.figures.empty()) continue;
    const std::string row =
        fmt::format("\n| `{}` | {} | {} |\n", kind.name, fmt::join(kind.figures, ", "),
                    fmt::join(kind.series, ", "));
    EXPECT_NE(page.str().find(row), std::string::npos) << "server/EXPERIMENTS.md lacks" << row;
  }
}

TEST(ExperimentLibrary, ThePageSaysWhoDecidesEachOption) {
  std::ifstream file(std::string(SOTTO_SOURCE_DIR) + "/server/experiments/SETTINGS.md");
  std::stringstream page;
  page << file.rdbuf();
  const std::string settings = SettingsPage(BuiltInExperiments());
  EXPECT_TRUE(page.str() == settings)
      << "write what `sotto-lab experiment settings --markdown` prints to it";
  EXPECT_EQ(settings.find("| not stated |  |"), std::string::npos) << "an option has no [origin]";
}

TEST(ExperimentLibrary, ThePageOfResultsIsShortAndHasEveryExperiment) {
  std::ifstream file(std::string(SOTTO_SOURCE_DIR) + "/server/experiments/RESULTS.md");
  std::string text;
  size_t lines = 0;
  for (std::string line; std::getline(file, line); ++lines) text += line + "\n";
  EXPECT_LE(lines, 200u);
  for (const Definition& d : BuiltInExperiments()) {
    EXPECT_NE(text.find("| `" + d.name + "` |"), std::string::npos) << d.name;
  }
  // What stands above the table does not depend on runs.
  const std::string fresh = ResultsPage(BuiltInExperiments(), {});
  const size_t head = fresh.find("| claims |");
  EXPECT_EQ(text.substr(0, head), fresh.substr(0, head));
}

// The paper's letters W and H are PyTorch's third and fourth axis, which are H and W here. The
// figures of the paper's own order, OIWH, are in Table 3, too.
TEST(ExperimentLibrary, Table5StandsBesideTheRightOrder) {
  const Definition five = OpenExperiment("dp-fed-ls-table5");
  const Definition three = OpenExperiment("dp-fed-ls-table3");
  GridOptions options;
  options.data = "synthetic";
  const std::map<std::string, std::string> ours = {
      {"OIWH", "OIHW"}, {"OIHW", "OIWH"}, {"OWHI", "OHWI"}, {"OHWI", "OWHI"}};
  size_t figures = 0;
  for (const Cell& cell : MakeCells(five, options, ChooseData(five, options))) {
    if (*Find(cell.at, "smoothing") == "0") continue;  // no order; the caption has its figures
    const std::string& order = *Find(cell.at, "flattening");
    EXPECT_EQ(cell.settings.at("smoothing-order"), ours.at(order));
    ASSERT_TRUE(cell.paper && cell.paper->deviation);
    figures += 2;
    if (order != "OIWH") continue;
    const auto same = PaperFigureOf(three, {{"sampling", *Find(cell.at, "sampling")},
                                            {"z", "2.0"},
                                            {"smoothing", *Find(cell.at, "smoothing")}});
    ASSERT_TRUE(same);
    EXPECT_EQ(same->mean, cell.paper->mean);
  }
  EXPECT_EQ(figures, 48u);
}

// A default that changes must not change what an experiment repeats.
void ExpectItsDefaults(const std::string& kind, const std::vector<Cell>& cells) {
  if (kind != "simulation" && kind != "membership") return;
  for (const Cell& cell : cells) {
    for (const char* name : {"sampling", "delta", "grid"}) {
      EXPECT_EQ(cell.settings.count(name), 1u) << name;
    }
  }
}

TEST(ExperimentLibrary, EveryCellOfEveryExperimentIsARun) {
  const std::vector<Definition> all = BuiltInExperiments();
  EXPECT_GE(all.size(), 5u);
  for (const Definition& definition : all) {
    SCOPED_TRACE(definition.name);
    const TestFolder folder;
    WriteModels(definition, folder.path());
    const RunKind& kind = FindRunKind(definition.kind);
    for (const bool is_quick : {false, true}) {
      for (const DataChoice& choice : definition.choices) {
        if (choice.set.empty()) continue;  // a file that is not here
        GridOptions options;
        options.is_quick = is_quick;
        options.data = choice.name;
        options.out = folder.path();
        const std::vector<Cell> cells =
            MakeCells(definition, options, ChooseData(definition, options));
        EXPECT_NO_THROW(CheckCells(kind, cells)) << choice.name;
        ExpectItsDefaults(definition.kind, cells);
      }
      if (!definition.choices.empty()) continue;
      GridOptions options;
      options.is_quick = is_quick;
      EXPECT_NO_THROW(CheckCells(kind, MakeCells(definition, options, {})));
    }
    EXPECT_FALSE(definition.source.empty());
    EXPECT_FALSE(definition.conclusion.empty());
    EXPECT_FALSE(definition.comparisons.empty());
  }
}

}  // namespace
}  // namespace sotto::server
