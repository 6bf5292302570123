// `sotto-lab experiment` as a user runs it: the files that it leaves, a run alone, a kill, wrong
// names.
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

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
  const Outcome run = SottoLab(Experiment(folder, "--quick --seeds 2"));
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_NE(run.output.find("synthetic samples, stand-in for MNIST"), std::string::npos);
  EXPECT_NE(run.output.find("for MNIST put its files into DIR/mnist"), std::string::npos);
  const Json json = Json::parse(ReadFile(folder.Path("out/results.json")));
  EXPECT_EQ(json["runs"], 4);
  EXPECT_EQ(json["stand_in"], true);
  for (const char* name : {"results.csv", "report.txt", "report.md", "report.html", "chart.svg"}) {
    EXPECT_FALSE(ReadFile(folder.Path(std::string("out/") + name)).empty()) << name;
  }
  const Outcome again = SottoLab(Experiment(folder, "--quick --seeds 2 --markdown"));
  EXPECT_NE(again.output.find("4 of 4 runs are there already"), std::string::npos) << again.output;
  EXPECT_NE(again.output.find("| smoothing | pace |"), std::string::npos);
  EXPECT_EQ(Json::parse(ReadFile(folder.Path("out/results.json"))), json);
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
  ASSERT_EQ(SottoLab(Experiment(folder, "--quick --seeds 1")).exit_code, 0);
  const Browsed page = Browse(folder, folder.Path("out/report.html"));
  EXPECT_NE(page.elements.find("<canvas"), std::string::npos) << page.elements;
  EXPECT_NE(page.elements.find("u-legend"), std::string::npos);
  EXPECT_NE(page.elements.find("synthetic samples, stand-in for MNIST"), std::string::npos);
  EXPECT_EQ(page.complaints, "");
}

TEST(Experiment, ACellIsARunThatTheUserCanRepeat) {
  const TestFolder folder;
  ASSERT_EQ(SottoLab(Experiment(folder, "--quick --seeds 1 --only smoothing=2")).exit_code, 0);
  const Json json = Json::parse(ReadFile(folder.Path("out/results.json")));
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

TEST(Experiment, RefusesWhatItDoesNotKnow) {
  ExpectLabUsageError("experiment dp-fed-ls-tabl2", "did you mean dp-fed-ls-table2?");
  ExpectLabUsageError("experiment nothing.toml", "there is no such file");
  ExpectLabUsageError("experiment dp-fed-ls-table2 --data mnist", "put train-images-idx3-ubyte.gz");
  ExpectLabUsageError("experiment dp-fed-ls-table2 --dry-run --data synthetic --only smoothing=7",
                      "no cell");
  const std::string dry = "experiment dp-fed-ls-table2 --dry-run --data synthetic ";
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
  refused("figure = \"accuracy\"", "figure = \"acuracy\"", "a run has no figure 'acuracy'");
  refused("figure = \"accuracy\"", "figure = \"acuracy\"", "a run has no figure 'acuracy'");
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
  ASSERT_EQ(SottoLab(Experiment(folder, "--quick --seeds 1")).exit_code, 0);
  ExpectLabUsageError("experiment dp-fed-ls-noise --out " + folder.Path("out"),
                      "it has the results of tiny");
  const Outcome part = SottoLab(Experiment(folder, "--quick --seeds 1 --only smoothing=2"));
  EXPECT_NE(part.output.find("a part: --only smoothing=2"), std::string::npos) << part.output;
}

}  // namespace
}  // namespace sotto
