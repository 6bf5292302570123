// `sotto-lab experiment` as a user runs it: the files that it leaves, a run alone, a kill, wrong
// names.
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "e2e/program.h"
#include "unit/test_folder.h"

namespace sotto {
namespace {

const std::string kTiny = std::string(SOTTO_VECTORS) + "/experiments/tiny.toml";

std::string Experiment(const TestFolder& folder, const std::string& options) {
  return fmt::format("experiment {} --out {} {}", kTiny, folder.Path("out"), options);
}

TEST(Experiment, LeavesItsResultsInItsFolder) {
  const TestFolder folder;
  const Outcome run = SottoLab(Experiment(folder, "--quick"));
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_NE(run.output.find("synthetic samples, stand-in for MNIST"), std::string::npos);
  EXPECT_NE(run.output.find("for MNIST put its files into DIR/mnist"), std::string::npos);
  const Json json = Json::parse(ReadFile(folder.Path("out/results.json")));
  EXPECT_EQ(json["runs"], 4);
  EXPECT_EQ(json["seeds"], 2);
  EXPECT_EQ(json["seeds_fixed"], 2);
  EXPECT_EQ(json["stand_in"], true);
  for (const char* name : {"results.csv", "report.txt", "report.md", "report.html", "chart.svg"}) {
    EXPECT_FALSE(ReadFile(folder.Path(std::string("out/") + name)).empty()) << name;
  }
  const Outcome again = SottoLab(Experiment(folder, "--quick --markdown"));
  EXPECT_NE(again.output.find("4 of 4 runs are there already"), std::string::npos) << again.output;
  EXPECT_NE(again.output.find("| smoothing | pace |"), std::string::npos);
  EXPECT_EQ(Json::parse(ReadFile(folder.Path("out/results.json"))), json);
  EXPECT_EQ(SottoLabJson(Experiment(folder, "--quick")), json);
}

TEST(Experiment, HasJsonForARunAlone) {
  const TestFolder folder;
  for (const char* name : {"list", "coverage", "settings", "results x"}) {
    ExpectLabUsageError(fmt::format("experiment {} --json -", name), "prints a text; leave --json");
  }
  ExpectLabUsageError(Experiment(folder, "--dry-run --json -"), "--json: --dry-run prints a text");
  EXPECT_EQ(SottoLab(Experiment(folder, "--quick --json " + folder.Path("no/x.json"))).exit_code,
            1);
}

// What a browser makes of a page: its elements after all scripts, and what they complained of.
struct Browsed {
  std::string elements;
  std::string complaints;
};

Browsed Browse(const TestFolder& folder, const std::string& page) {
  const std::string log = folder.Path("browser.log");
  const Outcome run =
      RunCommand(fmt::format("chromium --headless --no-sandbox --disable-gpu --user-data-dir={} "
                             "--enable-logging=stderr --dump-dom 'file://{}' 2> {}",
                             folder.Path("browser"), page, log));
  return {run.output, RunCommand("grep CONSOLE " + log).output};
}

TEST(Experiment, ABrowserDrawsThePage) {
  if (RunCommand("command -v chromium").exit_code != 0) GTEST_SKIP() << "there is no chromium";
  const TestFolder folder;
  ASSERT_EQ(SottoLab(Experiment(folder, "--quick")).exit_code, 0);
  const Browsed page = Browse(folder, folder.Path("out/report.html"));
  EXPECT_NE(page.elements.find("<canvas"), std::string::npos) << page.elements;
  EXPECT_NE(page.elements.find("u-legend"), std::string::npos);
  EXPECT_NE(page.elements.find("synthetic samples, stand-in for MNIST"), std::string::npos);
  EXPECT_EQ(page.complaints, "");
}

TEST(Experiment, ACellIsARunThatTheUserCanRepeat) {
  const TestFolder folder;
  ASSERT_EQ(SottoLab(Experiment(folder, "--quick --seeds 1 --only smoothing=2")).exit_code, 0);
  const Json json =
      Json::parse(ReadFile(folder.Path("out/parts/smoothing=2+seeds=1/results.json")));
  ASSERT_EQ(json["cells"].size(), 1u);
  const std::string command = json["cells"][0]["command"];
  ASSERT_EQ(command.rfind("sotto simulate ", 0), 0u) << command;
  const Json alone = SottoJson(command.substr(6));
  EXPECT_EQ(alone["accuracy"], json["cells"][0]["figures"]["accuracy"]["mean"]);
  EXPECT_EQ(alone["epsilon"], json["cells"][0]["figures"]["epsilon"]["mean"]);
}

TEST(Experiment, AKilledOneGoesOn) {
  const TestFolder whole;
  const TestFolder killed;
  ASSERT_EQ(SottoLab(Experiment(whole, "")).exit_code, 0);
  const std::string runs = killed.Path("out/runs.jsonl");
  // The shell kills the program once two runs are in its file.
  const Outcome run = RunCommand(fmt::format(
      "{} {} --jobs 1 > /dev/null 2>&1 & pid=$!; "
      "while [ \"$(cat {} 2>/dev/null | wc -l)\" -lt 2 ] && kill -0 $pid 2>/dev/null; do "
      "sleep 0.01; done; kill -9 $pid 2>/dev/null; wait $pid",
      SOTTO_LAB_PROGRAM, Experiment(killed, ""), runs));
  static_cast<void>(run);
  ASSERT_FALSE(ReadFile(runs).empty());
  ASSERT_EQ(SottoLab(Experiment(killed, "")).exit_code, 0);
  const auto strip = [](const TestFolder& folder) {
    Json json = Json::parse(ReadFile(folder.Path("out/results.json")));
    for (Json& cell : json["cells"]) {
      cell.erase("command");  // name the folder
      cell.erase("settings");
    }
    return json;
  };
  EXPECT_EQ(strip(killed), strip(whole));
}

TEST(Experiment, ListsItsExperimentsAndCells) {
  const Outcome list = SottoLab("experiment list");
  EXPECT_NE(list.output.find("dp-fed-ls-table2"), std::string::npos);
  const Outcome cells = SottoLab("experiment dp-fed-ls-table2 --data synthetic --dry-run");
  EXPECT_EQ(cells.exit_code, 0);
  EXPECT_NE(cells.output.find("32 cells, 5 runs each"), std::string::npos) << cells.output;
  EXPECT_NE(cells.output.find("--noise-multiplier 1.3466"), std::string::npos);
}

TEST(Experiment, ListsWhatOfThePapersItRepeatsWithWhatCameOut) {
  const TestFolder folder;
  const std::string out = " --out " + folder.Path("f-dp-fig3");
  ASSERT_EQ(SottoLab("experiment f-dp-fig3" + out).exit_code, 0);
  const Outcome list = SottoLab("experiment coverage --out " + folder.path());
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_NE(list.output.find("Table H.7            none: settings without a result"),
            std::string::npos)
      << list.output;
  EXPECT_NE(list.output.find("f-dp-fig3: agrees 2\n"), std::string::npos) << list.output;
  const Outcome page = SottoLab("experiment coverage --markdown");
  EXPECT_NE(page.output.find("| Figure F.9 |"), std::string::npos) << page.output;
}

TEST(Experiment, RefusesWhatItDoesNotKnow) {
  ExpectLabUsageError("experiment dp-fed-ls-tabl2", "did you mean dp-fed-ls-table2?");
  ExpectLabUsageError("experiment nothing.toml", "there is no such file");
  ExpectLabUsageError("experiment dp-fed-ls-table2 --data mnist",
                      "run sotto-lab data fetch mnist DIR");
  ExpectLabUsageError("experiment dp-fed-ls-table2 --dry-run --data synthetic --only smoothing=7",
                      "smoothing has no value 7, but 0; 1; 2; 3");
  const std::string dry = "experiment dp-fed-ls-table2 --dry-run --data synthetic ";
  ExpectLabUsageError("experiment list mine", "list is about all experiments");
  ExpectLabUsageError("experiment list --quick", "--quick: list runs nothing; leave --quick out");
  ExpectLabUsageError("experiment coverage --only a=b", "--only: coverage runs nothing");
  ExpectLabUsageError("experiment results", "name the folders that have results.json");
  ExpectLabUsageError(dry + "--only smothing=1", "did you mean smoothing?");
  ExpectLabUsageError(dry + "--only smoothing", "expected AXIS=VALUE");
  ExpectLabUsageError(dry + "--only smoothing=0 --only smoothing=1", "write smoothing=VALUE,VALUE");
  ExpectLabUsageError(dry + "--data-dir nowhere", "there is no such folder");
}

TEST(Experiment, RefusesFilesThatWouldRunForNothing) {
  const TestFolder folder;
  const std::string tiny = ReadFile(kTiny);
  std::filesystem::copy(std::string(SOTTO_VECTORS) + "/experiments/models", folder.Path("models"));
  const auto refused = [&](const std::string& old, const std::string& other,
                           const std::string& message) {
    std::string text = tiny;
    ASSERT_NE(text.find(old), std::string::npos) << old;
    text.replace(text.find(old), old.size(), other);
    std::ofstream(folder.Path("own.toml")) << text;
    ExpectLabUsageError(
        fmt::format("experiment {} --out {}", folder.Path("own.toml"), folder.Path("out")),
        message);
  };
  refused("name = \"tiny\"", "name = \"../evil\"", "expected letters, digits, - and _");
  refused("name = \"tiny\"", "name = \"dp-fed-ls-fig1\"", "a built-in experiment");
  refused("x = \"smoothing\"", "x = \"smothing\"", "is no axis");
  refused("figure = \"accuracy\"", "figure = \"acuracy\"", "figure = acuracy: expected one of acc");
  EXPECT_FALSE(std::filesystem::exists(folder.Path("out/runs.jsonl")));
}

// The figures of a formula depend on it: they are known after the first run.
TEST(Experiment, RefusesAFigureThatAFormulaDoesNotHave) {
  const TestFolder folder;
  const std::string head =
      "name = \"own\"\ntitle = \"t\"\nkind = \"formula\"\n[options]\n"
      "formula = \"effective-dimension\"\nparameters = 10\nsmoothing = 1\n";
  const auto refused = [&](const std::string& figure, const std::string& claim,
                           const std::string& message) {
    std::ofstream(folder.Path("own.toml")) << "figure = \"" << figure << "\"\n" << head << claim;
    ExpectLabUsageError(
        fmt::format("experiment {} --out {}", folder.Path("own.toml"), folder.Path("out")),
        message);
  };
  refused("share_of_square", "", "a run has no figure 'share_of_square'");
  refused("share_of_squares", "[[claim]]\ntext = \"c\"\nfigure = \"shares\"\nvalue = 1\n",
          "the [[claim]] \"c\": no run has the figure 'shares', but ");
}

TEST(Experiment, GoesOnBesideLargeResults) {
  const TestFolder folder;
  const std::string sine = "experiment dp-fed-ls-fig1 --quick --out " + folder.Path("out");
  ASSERT_EQ(SottoLab(sine).exit_code, 0);
  ASSERT_GT(ReadFile(folder.Path("out/results.json")).size(), 100000u);
  const Outcome again = SottoLab(sine);
  EXPECT_EQ(again.exit_code, 0) << again.output;
}

TEST(Experiment, KeepsToAFolderOfItsOwn) {
  const TestFolder folder;
  ASSERT_EQ(SottoLab(Experiment(folder, "--quick")).exit_code, 0);
  ExpectLabUsageError("experiment dp-fed-ls-noise --out " + folder.Path("out"),
                      "it has the results of tiny, not of dp-fed-ls-noise");
  ExpectLabUsageError(Experiment(folder, ""), "it has the results of --quick");
}

TEST(Experiment, APartNeverReplacesTheReportOfTheWhole) {
  const TestFolder folder;
  ASSERT_EQ(SottoLab(Experiment(folder, "--quick")).exit_code, 0);
  const std::string whole = ReadFile(folder.Path("out/report.txt"));
  const Outcome part = SottoLab(Experiment(folder, "--quick --only smoothing=2"));
  EXPECT_NE(part.output.find("a part: --only smoothing=2"), std::string::npos) << part.output;
  EXPECT_NE(part.output.find("2 of 2 runs are there already"), std::string::npos) << part.output;
  const Outcome seeds = SottoLab(Experiment(folder, "--quick --seeds 3"));
  EXPECT_NE(seeds.output.find("is a look, not a test"), std::string::npos) << seeds.output;
  EXPECT_EQ(ReadFile(folder.Path("out/report.txt")), whole);
  EXPECT_FALSE(ReadFile(folder.Path("out/parts/smoothing=2/report.txt")).empty());
  EXPECT_FALSE(ReadFile(folder.Path("out/parts/seeds=3/report.txt")).empty());
}

// Two processes at once, one of them killed while it has a run: no run is made twice, and none is
// left out.
TEST(Experiment, ProcessesShareAFolder) {
  const TestFolder folder;
  const std::string call = fmt::format("{} {}", SOTTO_LAB_PROGRAM, Experiment(folder, "--jobs 2"));
  const std::string runs = folder.Path("out/runs.jsonl");
  const Outcome both = RunCommand(fmt::format(
      "{0} > {1} 2>&1 & killed=$!; "
      "while [ \"$(cat {2} 2>/dev/null | wc -l)\" -lt 1 ] && kill -0 $killed 2>/dev/null; do "
      "sleep 0.01; done; {0} > {3} 2>&1 & second=$!; {0} > {4} 2>&1 & third=$!; "
      "kill -9 $killed 2>/dev/null; wait $second; a=$?; wait $third; echo $a $?",
      call, folder.Path("1"), runs, folder.Path("2"), folder.Path("3")));
  EXPECT_EQ(both.output, "0 0\n") << ReadFile(folder.Path("2")) << ReadFile(folder.Path("3"));
  std::set<std::string> keys;
  size_t lines = 0;
  std::istringstream log(ReadFile(runs));
  for (std::string line; std::getline(log, line);) {
    if (Json::accept(line)) {
      keys.insert(Json::parse(line)["key"].get<std::string>());
      ++lines;
    }
  }
  EXPECT_EQ(keys.size(), 12u);
  EXPECT_EQ(lines, 12u);
  EXPECT_EQ(Json::parse(ReadFile(folder.Path("out/results.json")))["runs"], 12);
}

TEST(Experiment, ADryRunChecksWhatARunChecksAndLeavesNothing) {
  const TestFolder folder;
  const std::string tiny = ReadFile(kTiny);
  std::filesystem::copy(std::string(SOTTO_VECTORS) + "/experiments/models", folder.Path("models"));
  const auto both = [&](const std::string& old, const std::string& other,
                        const std::string& message) {
    std::string text = tiny;
    ASSERT_NE(text.find(old), std::string::npos) << old;
    text.replace(text.find(old), old.size(), other);
    std::ofstream(folder.Path("own.toml")) << text;
    const std::string call =
        fmt::format("experiment {} --out {} ", folder.Path("own.toml"), folder.Path("out"));
    const Outcome dry = SottoLab(call + "--dry-run");
    EXPECT_FALSE(std::filesystem::exists(folder.Path("out")));
    const Outcome real = SottoLab(call);
    std::filesystem::remove_all(folder.Path("out"));
    EXPECT_NE(dry.exit_code, 0) << message;
    EXPECT_EQ(dry.exit_code, real.exit_code) << dry.output << real.output;
    EXPECT_NE(dry.output.find(message), std::string::npos) << dry.output;
    EXPECT_NE(real.output.find(message), std::string::npos) << real.output;
  };
  both("rounds = 3", "rounds = 0", "--rounds 0");
  both("set = \"synthetic\"", "set = \"nothing.csv\"", "nothing.csv");
  both("models/tiny-net.toml", "models/none.toml", "neither beside the file nor built in");
  // A budget that no noise meets is a run that is refused, in both.
  std::string text = tiny;
  text.replace(text.find("noise-multiplier = 1"), 20, "epsilon = 1e-9");
  std::ofstream(folder.Path("own.toml")) << text;
  const Outcome dry = SottoLab(fmt::format("experiment {} --dry-run", folder.Path("own.toml")));
  EXPECT_NE(dry.output.find("no such run: "), std::string::npos) << dry.output;
}

// The blocks of the page, as Slurm and its user run them.
TEST(Experiment, ASlurmArrayAndItsMergeGiveTheReportOfTheWhole) {
  const TestFolder folder;
  const std::string page = ReadFile(std::string(SOTTO_SOURCE_DIR) + "/server/EXPERIMENTS.md");
  std::vector<std::string> blocks;
  for (const char* fence : {"```toml\n# mine.toml\n", "```bash\n#!/bin/bash\n", "```bash\nbuild"}) {
    const size_t at = page.find(fence);
    ASSERT_NE(at, std::string::npos) << fence;
    const size_t begin = page.find('\n', at) + 1;
    blocks.push_back(page.substr(begin, page.find("```", begin) - begin));
  }
  std::ofstream(folder.Path("mine.toml")) << blocks[0];
  std::ofstream(folder.Path("array.sh")) << blocks[1];
  std::ofstream(folder.Path("merge.sh")) << blocks[2];
  std::filesystem::create_directories(folder.Path("build/host/bin"));
  std::filesystem::create_symlink(SOTTO_LAB_PROGRAM, folder.Path("build/host/bin/sotto-lab"));
  const Outcome array =
      RunCommand(fmt::format("cd {} && for task in 0 1 2 3; do SLURM_ARRAY_TASK_ID=$task bash "
                             "array.sh || exit 1; done 2>&1",
                             folder.path()));
  ASSERT_EQ(array.exit_code, 0) << array.output;
  const Outcome merge = RunCommand(fmt::format("cd {} && bash merge.sh 2>&1", folder.path()));
  ASSERT_EQ(merge.exit_code, 0) << merge.output;
  EXPECT_NE(merge.output.find("20 of 20 runs are there already"), std::string::npos)
      << merge.output;
  EXPECT_EQ(Json::parse(ReadFile(folder.Path("whole/results.json")))["runs"], 20);
}

// As a program of another's would do it, by the page.
TEST(Experiment, AVerdictFollowsFromTheLinesOfItsRuns) {
  const TestFolder folder;
  ASSERT_EQ(SottoLab(Experiment(folder, "")).exit_code, 0);
  const Json results = Json::parse(ReadFile(folder.Path("out/results.json")));
  std::map<std::string, double> accuracies;
  std::istringstream log(ReadFile(folder.Path("out/runs.jsonl")));
  for (std::string line; std::getline(log, line);) {
    const Json run = Json::parse(line);
    accuracies[run["key"]] = run["figures"]["accuracy"];
  }
  // The first claim, smoothing 2 against 0, in its first row, pace=slow.
  const Json& row = results["verdicts"][0]["differences"][0];
  ASSERT_EQ(row["at"], (Json{{"pace", "slow"}}));
  std::map<std::string, Json> keys;
  for (const Json& cell : results["cells"]) {
    if (cell["at"]["pace"] == "slow") keys[cell["at"]["smoothing"]] = cell["keys"];
  }
  std::vector<double> differences;
  for (size_t i = 0; i < 3; ++i) {
    differences.push_back(100 * (accuracies.at(keys["2"][i]) - accuracies.at(keys["0"][i])));
  }
  const double mean = (differences[0] + differences[1] + differences[2]) / 3;
  double squares = 0;
  for (const double d : differences) squares += (d - mean) * (d - mean);
  const double error = std::sqrt(squares / 2 / 3);
  EXPECT_NEAR(row["mean"].get<double>(), mean, 1e-9);
  EXPECT_NEAR(row["interval_95"][0].get<double>(), mean - 4.302652730 * error, 1e-6);
  EXPECT_NEAR(row["interval_90"][1].get<double>(), mean + 2.919985580 * error, 1e-6);
}

TEST(Experiment, ThePageOfResultsIsMadeFromTheFolders) {
  const TestFolder folder;
  ASSERT_EQ(SottoLab("experiment dp-fed-ls-epsilons --out " + folder.Path("out")).exit_code, 0);
  const Outcome page = SottoLab("experiment results " + folder.Path("out"));
  EXPECT_EQ(page.exit_code, 0) << page.output;
  EXPECT_NE(page.output.find("| seconds | 8 of 16 cells have its digits | **agrees**: "),
            std::string::npos)
      << page.output;
  EXPECT_NE(page.output.find("| `dp-fed-ls-table2` |"), std::string::npos);
  EXPECT_NE(page.output.find("not run with "), std::string::npos);
  ExpectLabUsageError("experiment results " + folder.Path("nothing"), "it has no results.json");
}

}  // namespace
}  // namespace sotto
