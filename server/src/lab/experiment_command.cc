// The command `sotto-lab experiment`: its options, and what it prints of all experiments.
#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/rows.h"
#include "experiment/coverage.h"
#include "experiment/library.h"
#include "experiment/origins.h"
#include "experiment/result_files.h"
#include "experiment/results_page.h"
#include "lab/commands.h"
#include "lab/experiment_run.h"

namespace sotto::server {
namespace {

constexpr uint64_t kMostSeedsOfACell = 10000;
constexpr char kExperimentsFolder[] = "experiments";

// Of the experiments of these names, or of all.
void PrintSettings(const std::vector<std::string>& names, bool is_markdown) {
  std::vector<Definition> all;
  for (const std::string& name : names) all.push_back(OpenExperiment(name));
  if (names.empty()) all = BuiltInExperiments();
  if (is_markdown) return fmt::print("{}", SettingsPage(all));
  for (const Definition& d : all) {
    fmt::print("{}\n", d.name);
    for (const Origin& origin : d.origins) {
      fmt::print("  {:<22}{:<7}{}\n", origin.option, Name(origin.decider), origin.text);
    }
  }
}

void PrintList(bool is_markdown) {
  if (is_markdown) return fmt::print("{}", ExperimentsTable(BuiltInExperiments()));
  const std::vector<Definition> all = BuiltInExperiments();
  size_t width = 0;
  for (const Definition& d : all) width = std::max(width, d.name.size());
  for (const Definition& d : all) fmt::print("{:<{}}  {}\n", d.name, width, d.title);
}

// With the verdicts of the runs in the folder of all experiments, in Markdown where it is named.
void PrintCoverage(const ExperimentOptions& o) {
  const Coverage coverage = BuiltInCoverage();
  const std::string folder = o.grid.out.empty() ? kExperimentsFolder : o.grid.out;
  const bool has_verdicts = !o.is_markdown || !o.grid.out.empty();
  const VerdictOf verdict = has_verdicts ? VerdictsIn(folder) : nullptr;
  fmt::print("{}", o.is_markdown ? CoverageMarkdown(coverage, BuiltInExperiments(), verdict)
                                 : CoverageText(coverage, verdict));
}

// The folder of an experiment: its name, and quick runs apart from full ones.
std::string DefaultFolder(const Definition& d, bool is_quick) {
  return fmt::format("{}/{}{}", kExperimentsFolder, d.name, is_quick ? "-quick" : "");
}

void RefuseFolders(const ExperimentOptions& o) {
  if (o.folders.empty()) return;
  throw std::invalid_argument(
      fmt::format("{}: {} is about all experiments", o.folders.front(), o.name));
}

// What is no run of an experiment has no results.
void RefuseJson(const ExperimentOptions& o) {
  if (o.json.empty()) return;
  throw std::invalid_argument(fmt::format("--json: {} prints a text; leave --json out",
                                          o.is_dry_run ? "--dry-run" : o.name));
}

// Options that a text about experiments does not look at.
void RefuseOptionsOfRuns(const ExperimentOptions& o) {
  const std::pair<const char*, bool> given[] = {
      {"--quick", o.grid.is_quick},     {"--seeds", o.seeds.has_value()},
      {"--only", !o.grid.only.empty()}, {"--data", !o.grid.data.empty()},
      {"--jobs", o.jobs > 0},           {"--data-dir", !o.grid.data_folder.empty()},
      {"--dry-run", o.is_dry_run},
  };
  for (const auto& [option, is_given] : given) {
    if (!is_given) continue;
    throw std::invalid_argument(
        fmt::format("{}: {} runs nothing; leave {} out", option, o.name, option));
  }
}

void RunCommand(ExperimentOptions o) {
  const std::vector<std::string> texts = {"list", "coverage", "settings", "results"};
  const bool is_text = std::find(texts.begin(), texts.end(), o.name) != texts.end();
  if (is_text) RefuseOptionsOfRuns(o);
  if (is_text || o.is_dry_run) RefuseJson(o);
  if (o.name == "list" || o.name == "coverage") RefuseFolders(o);
  if (o.name == "list") return PrintList(o.is_markdown);
  if (o.name == "settings") return PrintSettings(o.folders, o.is_markdown);
  if (o.name == "results") {
    if (o.folders.empty()) {
      throw std::invalid_argument(
          "results: name the folders that have results.json, such as experiments/*");
    }
    return fmt::print("{}", ResultsPage(BuiltInExperiments(), o.folders));
  }
  if (o.name == "coverage") return PrintCoverage(o);
  const Definition definition = OpenExperiment(o.name);
  if (o.grid.out.empty()) o.grid.out = DefaultFolder(definition, o.grid.is_quick);
  RunExperiment(o, definition);
}

}  // namespace

posix::Command ExperimentCommand() {
  using Option = posix::Field<ExperimentOptions>;
  return posix::CommandFor<ExperimentOptions>(
             "experiment", "repeat a table or a figure of a paper, and print it beside the paper's")
      .Takes({
          Option("", &ExperimentOptions::name,
                 "an experiment, or FILE.toml of your own; list: all of them; settings: what the "
                 "papers fix and leave open; results: a page of the verdicts in the folders; "
                 "coverage: what of the papers they repeat")
              .Argument("NAME")
              .Required(),
          Option("", &ExperimentOptions::folders,
                 "take over the finished runs of these folders; of results: the folders with them; "
                 "of settings: the experiments, or all")
              .Argument("FOLDER"),
          Option("quick", posix::At(&ExperimentOptions::grid, &GridOptions::is_quick),
                 "run a smaller size, for a first look"),
          Option("seeds", &ExperimentOptions::seeds, "runs of each cell, with seeds 1, 2, ...")
              .Within({1, static_cast<double>(kMostSeedsOfACell)})
              .ByDefault("the number that the experiment fixes"),
          Option(
              "only", posix::At(&ExperimentOptions::grid, &GridOptions::only),
              "run only the cells AXIS=VALUE[,VALUE...]; may be given for several axes; the report "
              "is then in a folder of the part, OUT/parts/..."),
          Option("data-dir", posix::At(&ExperimentOptions::grid, &GridOptions::data_folder),
                 "the folder with the data sets"),
          Option("data", posix::At(&ExperimentOptions::grid, &GridOptions::data),
                 "take these samples, by the name that the experiment has for them"),
          Option("out", posix::At(&ExperimentOptions::grid, &GridOptions::out),
                 "folder for the results and the finished runs")
              .ByDefault("experiments/NAME, of quick runs experiments/NAME-quick"),
          JsonRow<ExperimentOptions>("the results"),
          Option("jobs", &ExperimentOptions::jobs,
                 "runs at a time; 0: one a processor; does not change a result")
              .Within({0, 4096}),
          Option("dry-run", &ExperimentOptions::is_dry_run,
                 "check all that a run checks, print the cells, each with the command of its first "
                 "run, "
                 "and run nothing"),
          Option("markdown", &ExperimentOptions::is_markdown, "print the results as Markdown"),
      })
      .Runs(RunCommand);
}

}  // namespace sotto::server
