#include "lab/experiment_run.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/build.h"
#include "base/counted.h"
#include "base/gave_up.h"
#include "base/json_text.h"
#include "experiment/charts.h"
#include "experiment/cost.h"
#include "experiment/library.h"
#include "experiment/result_files.h"
#include "experiment/runner.h"
#include "ranks/ranks.h"
#include "sotto/posix/signals.h"
#include "sotto/posix/terminal.h"
#include "views/output_file.h"
#include "views/progress.h"

namespace sotto::server {
namespace {

namespace fs = std::filesystem;

constexpr char kRuns[] = "runs.jsonl";

// A file that the whole experiment and all its parts share.
std::string PathOf(const ExperimentOptions& o, const char* name) {
  return (fs::path(o.grid.out) / name).string();
}

// "smoothing=0,1 seeds=3": the part that was asked for; empty: the whole.
std::string PartOf(const ExperimentOptions& o, uint64_t fixed_seeds) {
  std::string part = fmt::format("{}", fmt::join(o.grid.only, " "));
  if (o.seeds && *o.seeds != fixed_seeds) {
    part += fmt::format("{}seeds={}", part.empty() ? "" : " ", *o.seeds);
  }
  return part;
}

// The folder of a report: a part never replaces the report of the whole, or of another part.
std::string ReportFolder(const ExperimentOptions& o, const std::string& part) {
  if (part.empty()) return o.grid.out;
  std::string name = part;
  for (char& c : name) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                          std::string("=,.-_").find(c) != std::string::npos;
    if (!is_plain) c = c == ' ' ? '+' : '_';
  }
  return (fs::path(o.grid.out) / "parts" / name).string();
}

std::string PathIn(const std::string& folder, const char* name) {
  return (fs::path(folder) / name).string();
}

std::vector<Output> OutputsOf(const ExperimentOptions& o, const std::string& report) {
  std::vector<Output> outputs = {{"--out", PathOf(o, kRuns)}};
  for (const char* name :
       {"results.json", "results.csv", "report.txt", "report.md", "report.html", "chart.svg"}) {
    outputs.push_back({"--out", PathIn(report, name)});
  }
  outputs.push_back(JsonOutput(o.json));
  return outputs;
}

void Write(const std::string& folder, const char* name, const std::string& text) {
  OutputFile file({"--out", PathIn(folder, name)});
  file.stream() << text;
  file.Finish();
}

void WriteResults(const std::string& folder, const Summary& summary) {
  Write(folder, "results.json", JsonText(ResultJson(summary), 2) + "\n");
  Write(folder, "results.csv", ResultCsv(summary));
  const Report report = ReportOf(summary);
  Write(folder, "report.txt", ResultText(report));
  Write(folder, "report.md", ResultMarkdown(report));
  const std::vector<ChartPanel> panels = PanelsOf(summary);
  Write(folder, "report.html", ResultHtml(report, panels));
  Write(folder, "chart.svg", ResultSvg(panels));
}

int JobsOf(const ExperimentOptions& o) {
  if (o.jobs > 0) return static_cast<int>(o.jobs);
  if (TheRanks().count() > 1) return 1;  // mpirun starts one a core
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

// The last part of a line of progress: the run's figure.
std::string FigureText(const Definition& d, const Outcome& outcome) {
  if (outcome.is_refused) return "no such run: " + outcome.note;
  const auto figure = outcome.figures.find(d.figure);
  if (figure == outcome.figures.end()) return outcome.note;
  return fmt::format("{:.{}f}", figure->second * d.scale, d.decimals);
}

// What is wrong, and of a file of the user's in which file.
std::string Named(const Definition& definition, const std::string& file, const std::string& why) {
  const bool is_own = !definition.folder.empty() && why.find(file) == std::string::npos;
  return is_own ? file + ": " + why : why;
}

// A folder that is gone with the object.
class PassingFolder {
 public:
  PassingFolder() {
    std::random_device random;
    do {
      path_ = fs::temp_directory_path() / fmt::format("sotto-lab-{:08x}", random());
    } while (!fs::create_directory(path_));
  }
  ~PassingFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  PassingFolder(const PassingFolder&) = delete;
  PassingFolder& operator=(const PassingFolder&) = delete;

  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

class ExperimentRun {
 public:
  ExperimentRun(const ExperimentOptions& o, const Definition& definition)
      : o_(o),
        definition_(definition),
        kind_(FindRunKind(definition.kind)),
        seeds_(o.seeds.value_or(o.grid.is_quick ? definition.quick_seeds : definition.seeds)),
        part_(PartOf(o, o.grid.is_quick ? definition.quick_seeds : definition.seeds)),
        report_(ReportFolder(o, part_)),
        data_(ChooseData(definition, o.grid)),
        cells_(MakeCells(definition, o.grid, data_)) {}

  void Do() {
    NameStandIn();
    if (o_.is_dry_run) return PrintCells(Rehearse());
    Prepare();
    RunLogFile log(PathOf(o_, kRuns));
    TakeOver(&log);
    const std::vector<CellResult> runs = RunAll(log);
    if (!TheRanks().is_first()) return;  // which tells what all have done
    Summary summary = Summarise(definition_, data_, o_.grid.is_quick, seeds_, runs);
    summary.only = o_.grid.only;
    TellUnseenClaims(summary);
    const Report report = ReportOf(summary);
    PrintResults(o_.json, o_.is_markdown ? ResultMarkdown(report) : ResultText(report),
                 ResultJson(summary));
    WriteResults(report_, summary);
    fmt::print(stderr,
               "{}: results.json, results.csv, report.txt, report.md, report.html, chart.svg; "
               "{} has the finished runs{}\n",
               report_, PathOf(o_, kRuns), CostOf(summary, log));
    if (summary.runs_missing > 0) {
      throw Stopped(posix::StopSignal(),
                    fmt::format("stopped: {} missing; the same command goes on",
                                Counted(summary.runs_missing, "run")));
    }
  }

 private:
  // A claim whose figure is misspelt has no row.
  static void TellUnseenClaims(const Summary& summary) {
    if (!summary.only.empty() || summary.is_quick || summary.runs_missing > 0) return;
    for (const ClaimVerdict& verdict : summary.verdicts) {
      if (!verdict.differences.empty()) continue;
      fmt::print(
          stderr,
          "warning: the claim \"{}\" compares nothing: no two cells meet it, or no run has its "
          "figure\n",
          verdict.claim.text);
    }
  }

  static std::string CostOf(const Summary& summary, const RunLogFile& log) {
    std::vector<std::string> keys;
    for (const CellSummary& cell : summary.cells) {
      keys.insert(keys.end(), cell.keys.begin(), cell.keys.end());
    }
    const std::optional<double> hours = log.CoreHours(keys);
    return hours ? "; core hours: " + CoreHoursText(*hours) : "";
  }

  void NameStandIn() const {
    if (data_.advice.empty()) return;
    fmt::print(stderr, "{} runs on {}, a stand-in for {}; {}\n", definition_.name, data_.label,
               definition_.dataset, data_.advice);
  }

  // All that a run checks before its first round, leaving nothing behind: the folder, the options,
  // the data, the model, the noise. Returns for each cell why it has no run, or an empty text.
  std::vector<std::string> Rehearse() const {
    RequireOwnFolder();
    if (fs::is_directory(report_)) RequireOutputs(OutputsOf(o_, report_));
    const PassingFolder models;
    GridOptions grid = o_.grid;
    grid.out = models.path();
    WriteModels(definition_, grid.out);
    const std::vector<Cell> cells = MakeCells(definition_, grid, data_);
    CheckCells(kind_, cells);
    try {
      return RehearseCells(kind_, cells);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(Named(definition_, o_.name, error.what()));
    }
  }

  // The cells and the commands that repeat their first runs.
  void PrintCells(const std::vector<std::string>& refusals) const {
    bool has_model = false;
    for (size_t i = 0; i < cells_.size(); ++i) {
      const Cell& cell = cells_[i];
      const std::string command = kind_.command(SettingsOfRun(cell, 1));
      fmt::print("{}\n", TextOf(cell.at));
      if (!command.empty()) fmt::print("  {}\n", command);
      if (!refusals[i].empty()) fmt::print("  no such run: {}\n", refusals[i]);
      has_model = has_model || command.find(PathOf(o_, "models")) != std::string::npos;
    }
    fmt::print("{}, {} each\n", Counted(cells_.size(), "cell"), Counted(seeds_, "run"));
    if (has_model) fmt::print("a run without --dry-run writes {} first\n", PathOf(o_, "models"));
  }

  // A folder has one experiment in one size on one data set.
  void RequireOwnFolder() const {
    std::ifstream there(PathOf(o_, "results.json"));
    if (!there) return;
    const nlohmann::ordered_json json =
        TryParseJson(std::string(std::istreambuf_iterator<char>(there), {}));
    if (!json.is_object()) return;
    const std::string name = json.value("experiment", definition_.name);
    RequireSame(name, definition_.name);
    RequireSame(json.value("quick", o_.grid.is_quick) ? "--quick" : "the whole size",
                o_.grid.is_quick ? "--quick" : "the whole size");
    Summary summary;
    summary.definition = definition_;
    summary.data = data_;
    const std::string data = DataLabel(summary);
    RequireSame(json.value("data", data), data);
  }

  void RequireSame(const std::string& has, const std::string& wanted) const {
    if (has == wanted) return;
    throw std::invalid_argument(fmt::format(
        "--out {}: it has the results of {}, not of {}; name another", o_.grid.out, has, wanted));
  }

  void MakeFolder() const {
    std::error_code error;
    fs::create_directories(report_, error);
    if (error) {
      throw std::runtime_error(
          fmt::format("--out: cannot create {}: {}", report_, error.message()));
    }
  }

  void Prepare() {
    RequireOwnFolder();
    MakeFolder();
    if (TheRanks().is_first()) RequireOutputs(OutputsOf(o_, report_));
    WriteModels(definition_, o_.grid.out);
    CheckCells(kind_, cells_);
  }

  // The runs of other folders, as an array of jobs leaves them.
  void TakeOver(RunLogFile* log) const {
    if (!TheRanks().is_first()) return;
    for (const std::string& folder : o_.folders) {
      const size_t runs = log->Import(PathIn(folder, kRuns));
      fmt::print(stderr, "{}: {} taken over\n", folder, Counted(runs, "run"));
    }
  }

  std::vector<CellResult> RunAll(RunLogFile& log) {
    posix::CatchStopSignals();
    std::unique_ptr<Progress> progress;
    RunnerOptions options;
    options.seeds = seeds_;
    options.jobs = JobsOf(o_);
    options.rank = TheRanks().index();
    options.ranks = TheRanks().count();
    options.stop = [this] { return posix::StopSignal() != 0 || has_trouble_; };
    options.on_begin = [&](const KeptRuns& kept) {
      progress =
          std::make_unique<Progress>(kept.total, posix::StandardErrorIsTerminal(), kept.done);
      TellKept(kept);
    };
    options.on_wait = [](size_t left) {
      fmt::print(stderr, "waiting for {} that other processes are at\n", Counted(left, "run"));
    };
    options.on_run = [&](size_t done, size_t total, const CellRun& run, const Outcome& outcome) {
      LookForFigure(outcome);
      progress->Show(
          done, fmt::format("run {}/{}: {} seed={}: {}", done, total, TextOf(cells_[run.cell].at),
                            run.seed, FigureText(definition_, outcome)));
    };
    std::vector<CellResult> results;
    try {
      results = RunCells(kind_, cells_, options, log);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(Named(definition_, o_.name, error.what()));
    }
    for (const CellResult& result : results) {  // of earlier calls, too
      for (const FinishedCellRun& run : result.runs) LookForFigure(run.outcome);
    }
    LookForFiguresOfClaims(results);
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
          Counted(runs, "run"), build, BuildText(), PathOf(o_, kRuns));
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

  // Of a kind whose figures depend on its settings, the names of claims are known behind the runs.
  void LookForFiguresOfClaims(const std::vector<CellResult>& results) {
    std::set<std::string> names;
    for (const CellResult& result : results) {
      for (const FinishedCellRun& run : result.runs) {
        if (run.outcome.is_refused || !run.outcome.note.empty()) continue;
        for (const auto& [name, value] : run.outcome.figures) names.insert(name);
      }
    }
    if (names.empty() || has_trouble_) return;
    for (const Comparison& claim : definition_.comparisons) {
      if (claim.figure.empty() || names.count(claim.figure) > 0) continue;
      trouble_ = fmt::format("the [[claim]] \"{}\": no run has the figure '{}', but {}", claim.text,
                             claim.figure, fmt::join(names, ", "));
      has_trouble_ = true;
    }
  }

  std::string trouble_;  // what ends the experiment
  std::atomic<bool> has_trouble_ = false;
  const ExperimentOptions& o_;
  const Definition& definition_;
  const RunKind& kind_;
  const uint64_t seeds_;
  const std::string part_;
  const std::string report_;  // the folder of this report
  const ChosenData data_;
  const std::vector<Cell> cells_;
};

}  // namespace

void RunExperiment(const ExperimentOptions& options, const Definition& definition) {
  try {
    ExperimentRun(options, definition).Do();
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(Named(definition, options.name, error.what()));
  }
}

}  // namespace sotto::server
