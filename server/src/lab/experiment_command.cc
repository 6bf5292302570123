#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/build.h"
#include "base/counted.h"
#include "base/gave_up.h"
#include "base/json_text.h"
#include "experiment/charts.h"
#include "experiment/library.h"
#include "experiment/result_files.h"
#include "experiment/runner.h"
#include "lab/commands.h"
#include "sotto/posix/signals.h"
#include "sotto/posix/terminal.h"
#include "views/output_file.h"
#include "views/progress.h"

namespace sotto::server {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostSeedsOfACell = 10000;

struct ExperimentOptions {
  std::string name;
  GridOptions grid;
  std::optional<uint64_t> seeds;
  uint64_t jobs = 0;
  bool is_dry_run = false;
  bool is_markdown = false;
};

// The files of an experiment, in its folder.
std::string PathOf(const ExperimentOptions& o, const char* name) {
  return (fs::path(o.grid.out) / name).string();
}

std::vector<Output> OutputsOf(const ExperimentOptions& o) {
  std::vector<Output> outputs;
  for (const char* name : {"runs.jsonl", "results.json", "results.csv", "report.txt", "report.md",
                           "report.html", "chart.svg"}) {
    outputs.push_back({"--out", PathOf(o, name)});
  }
  return outputs;
}

void Write(const ExperimentOptions& o, const char* name, const std::string& text) {
  OutputFile file({"--out", PathOf(o, name)});
  file.stream() << text;
  file.Finish();
}

void WriteResults(const ExperimentOptions& o, const Summary& summary) {
  Write(o, "results.json", JsonText(ResultJson(summary), 2) + "\n");
  Write(o, "results.csv", ResultCsv(summary));
  const Report report = ReportOf(summary);
  Write(o, "report.txt", ResultText(report));
  Write(o, "report.md", ResultMarkdown(report));
  const std::vector<ChartPanel> panels = PanelsOf(summary);
  Write(o, "report.html", ResultHtml(report, panels));
  Write(o, "chart.svg", ResultSvg(panels));
}

int JobsOf(const ExperimentOptions& o) {
  if (o.jobs > 0) return static_cast<int>(o.jobs);
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

void PrintList(bool is_markdown) {
  if (is_markdown) return fmt::print("{}", ExperimentsTable(BuiltInExperiments()));
  for (const Definition& d : BuiltInExperiments()) fmt::print("{:<22}{}\n", d.name, d.title);
}

// The last part of a line of progress: the run's figure.
std::string FigureText(const Definition& d, const Outcome& outcome) {
  if (outcome.is_refused) return "no such run: " + outcome.note;
  const auto figure = outcome.figures.find(d.figure);
  if (figure == outcome.figures.end()) return outcome.note;
  return fmt::format("{:.{}f}", figure->second * d.scale, d.decimals);
}

class ExperimentRun {
 public:
  ExperimentRun(const ExperimentOptions& o, const Definition& definition)
      : o_(o),
        definition_(definition),
        kind_(FindRunKind(definition.kind)),
        seeds_(o.seeds.value_or(o.grid.is_quick ? definition.quick_seeds : definition.seeds)),
        data_(ChooseData(definition, o.grid)),
        cells_(MakeCells(definition, o.grid, data_)) {}

  void Do() {
    NameStandIn();
    if (o_.is_dry_run) return PrintCells();
    Prepare();
    RunLogFile log(PathOf(o_, "runs.jsonl"));
    Summary summary = Summarise(definition_, data_, o_.grid.is_quick, seeds_, RunAll(log));
    summary.only = o_.grid.only;
    const Report report = ReportOf(summary);
    fmt::print("{}", o_.is_markdown ? ResultMarkdown(report) : ResultText(report));
    WriteResults(o_, summary);
    fmt::print(stderr,
               "{}: results.json, results.csv, report.txt, report.md, report.html, chart.svg; "
               "runs.jsonl has the finished runs\n",
               o_.grid.out);
    if (summary.runs_missing > 0) {
      throw Stopped(posix::StopSignal(),
                    fmt::format("stopped: {} missing; the same command goes on",
                                Counted(summary.runs_missing, "run")));
    }
  }

 private:
  void NameStandIn() const {
    if (data_.advice.empty()) return;
    fmt::print(stderr, "{} runs on {}, a stand-in for {}; {}\n", definition_.name, data_.label,
               definition_.dataset, data_.advice);
  }

  // The cells and the commands that repeat their first runs.
  void PrintCells() const {
    bool has_model = false;
    for (const Cell& cell : cells_) {
      const std::string command = kind_.command(SettingsOfRun(cell, 1));
      fmt::print("{}\n", TextOf(cell.at));
      if (!command.empty()) fmt::print("  {}\n", command);
      has_model = has_model || command.find(PathOf(o_, "models")) != std::string::npos;
    }
    fmt::print("{}, {} each\n", Counted(cells_.size(), "cell"), Counted(seeds_, "run"));
    if (has_model) fmt::print("a run without --dry-run writes {} first\n", PathOf(o_, "models"));
  }

  void MakeFolder() const {
    std::error_code error;
    fs::create_directories(o_.grid.out, error);
    if (error) {
      throw std::runtime_error(
          fmt::format("--out: cannot create {}: {}", o_.grid.out, error.message()));
    }
    std::ifstream there(PathOf(o_, "results.json"));
    if (!there) return;
    const nlohmann::ordered_json json =
        TryParseJson(std::string(std::istreambuf_iterator<char>(there), {}));
    const bool has_name =
        json.is_object() && json.contains("experiment") && json["experiment"].is_string();
    const std::string name = has_name ? json["experiment"].get<std::string>() : "";
    if (!name.empty() && name != definition_.name) {
      throw std::invalid_argument(
          fmt::format("--out {}: it has the results of {}; name another", o_.grid.out, name));
    }
  }

  void Prepare() {
    MakeFolder();
    RequireOutputs(OutputsOf(o_));
    WriteModels(definition_, o_.grid.out);
    CheckCells(kind_, cells_);
  }

  std::vector<CellResult> RunAll(RunLogFile& log) {
    posix::CatchStopSignals();
    std::unique_ptr<Progress> progress;
    RunnerOptions options;
    options.seeds = seeds_;
    options.jobs = JobsOf(o_);
    options.stop = [this] { return posix::StopSignal() != 0 || has_trouble_; };
    options.on_begin = [&](const KeptRuns& kept) {
      progress =
          std::make_unique<Progress>(kept.total, posix::StandardErrorIsTerminal(), kept.done);
      TellKept(kept);
    };
    options.on_run = [&](size_t done, size_t total, const CellRun& run, const Outcome& outcome) {
      LookForFigure(outcome);
      progress->Show(
          done, fmt::format("run {}/{}: {} seed={}: {}", done, total, TextOf(cells_[run.cell].at),
                            run.seed, FigureText(definition_, outcome)));
    };
    std::vector<CellResult> results = RunCells(kind_, cells_, options, log);
    for (const CellResult& result : results) {  // those of earlier calls, too
      for (const FinishedCellRun& run : result.runs) LookForFigure(run.outcome);
    }
    if (has_trouble_) throw std::invalid_argument(trouble_);
    return results;
  }

  void TellKept(const KeptRuns& kept) const {
    for (const auto& [change, runs] : kept.changed) {
      fmt::print(stderr, "{}; made anew: {} with the former content\n", change,
                 Counted(runs, "run"));
    }
    for (const auto& [build, runs] : kept.of_other_builds) {
      fmt::print(
          stderr,
          "warning: {} by another build ({}; this is {}); if it computes otherwise, remove {} "
          "to make all runs anew\n",
          Counted(runs, "run"), build, BuildText(), PathOf(o_, "runs.jsonl"));
    }
    if (kept.done > 0) {
      fmt::print(stderr, "{} of {} are there already\n", kept.done, Counted(kept.total, "run"));
    }
  }

  // A misspelt figure is seen after the first run, not after the last one.
  void LookForFigure(const Outcome& outcome) {
    const bool is_there = outcome.figures.count(definition_.figure) > 0;
    if (is_there || outcome.is_refused || !outcome.note.empty()) return;
    std::vector<std::string> names;
    for (const auto& [name, value] : outcome.figures) names.push_back(name);
    trouble_ = fmt::format("{}: a run has no figure '{}', but {}", definition_.name,
                           definition_.figure, fmt::join(names, ", "));
    has_trouble_ = true;
  }

  std::string trouble_;  // what ends the experiment
  std::atomic<bool> has_trouble_ = false;
  const ExperimentOptions& o_;
  const Definition& definition_;
  const RunKind& kind_;
  const uint64_t seeds_;
  const ChosenData data_;
  const std::vector<Cell> cells_;
};

// The folder of an experiment: its name, and quick runs apart from full ones.
std::string DefaultFolder(const Definition& d, bool is_quick) {
  return "experiments/" + d.name + (is_quick ? "-quick" : "");
}

void RunExperiment(ExperimentOptions o) {
  if (o.name == "list") return PrintList(o.is_markdown);
  const Definition definition = OpenExperiment(o.name);
  if (o.grid.out.empty()) o.grid.out = DefaultFolder(definition, o.grid.is_quick);
  ExperimentRun(o, definition).Do();
}

}  // namespace

posix::Command ExperimentCommand() {
  using Option = posix::Field<ExperimentOptions>;
  return posix::CommandFor<ExperimentOptions>(
             "experiment", "repeat a table or a figure of a paper, and print it beside the paper's")
      .Takes({
          Option("", &ExperimentOptions::name,
                 "an experiment, or FILE.toml of your own; list: all of them")
              .Argument("NAME")
              .Required(),
          Option("quick", posix::At(&ExperimentOptions::grid, &GridOptions::is_quick),
                 "run a smaller size, for a first look"),
          Option("seeds", &ExperimentOptions::seeds, "runs of each cell, with seeds 1, 2, ...")
              .Within({1, static_cast<double>(kMostSeedsOfACell)})
              .ByDefault("the paper's number"),
          Option("only", posix::At(&ExperimentOptions::grid, &GridOptions::only),
                 "run only the cells AXIS=VALUE[,VALUE...]; may be given for several axes"),
          Option("data-dir", posix::At(&ExperimentOptions::grid, &GridOptions::data_folder),
                 "the folder with the data sets"),
          Option("data", posix::At(&ExperimentOptions::grid, &GridOptions::data),
                 "take these samples, by the name that the experiment has for them"),
          Option("out", posix::At(&ExperimentOptions::grid, &GridOptions::out),
                 "folder for the results and the finished runs")
              .ByDefault("experiments/NAME"),
          Option("jobs", &ExperimentOptions::jobs,
                 "runs at a time; 0: one a processor; does not change a result")
              .Within({0, 4096}),
          Option("dry-run", &ExperimentOptions::is_dry_run,
                 "print the cells, each with the command of its first run, and run nothing"),
          Option("markdown", &ExperimentOptions::is_markdown, "print the results as Markdown"),
      })
      .Runs(RunExperiment);
}

}  // namespace sotto::server
