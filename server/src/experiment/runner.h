// Does the runs of an experiment, several at a time. Part of sotto::server/experiment.
//
// Each run has one thread, so the results do not depend on how many runs go on at a time. Several
// processes may share an experiment: each makes the runs that no other one is at.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "experiment/grid.h"
#include "experiment/run_kinds.h"
#include "experiment/run_log.h"
#include "formulas/settings.h"

namespace sotto::server {

// One run of a cell.
struct CellRun {
  size_t cell = 0;
  uint64_t seed = 0;
};

struct FinishedCellRun {
  uint64_t seed = 0;
  Outcome outcome;
};

// A cell with its runs, by seed.
struct CellResult {
  Cell cell;
  std::vector<FinishedCellRun> runs;
};

// The runs of the log that are taken, and those that are not.
struct KeptRuns {
  size_t done = 0;   // taken
  size_t total = 0;  // of all that are wanted
  // Runs that are made anew because a file has another content now, by what to say of the file.
  std::map<std::string, size_t> changed;
  // Runs that are taken although another build made them, by build.
  std::map<std::string, size_t> of_other_builds;
};

struct RunnerOptions {
  uint64_t seeds = 1;          // of a kind that uses them: 1, 2, ...
  int jobs = 1;                // runs at a time
  uint32_t rank = 0;           // of `ranks` processes that share the experiment: it begins with
  uint32_t ranks = 1;          // every ranks-th run, which the others leave for later
  std::function<bool()> stop;  // true: begin no run, and end those under way. Null: never
  // A run is done: how many of all, which one, and whether it was there already. From any thread,
  // one call at a time.
  std::function<void(size_t done, size_t total, const CellRun& run, const Outcome& outcome)> on_run;
  // Before the first run.
  std::function<void(const KeptRuns& kept)> on_begin;
  // Once, when all runs that are left are other processes'.
  std::function<void(size_t left)> on_wait;
};

// The settings of a run: its cell's settings, with the seed.
Settings SettingsOfRun(const Cell& cell, uint64_t seed);

// Throws std::invalid_argument, naming the cell, for settings that no run has.
void CheckCells(const RunKind& kind, const std::vector<Cell>& cells);

// Does what the first run of each cell does before its first round: it opens data and model, and
// calibrates the noise. Returns for each cell why there is no such run, or an empty text. Throws
// what a run would throw, naming the cell.
std::vector<std::string> RehearseCells(const RunKind& kind, const std::vector<Cell>& cells);

// Does the runs that the log does not have, seed by seed, and returns all. It leaves those that
// another process is at, and waits for them in the end; if that process is gone without one, it
// makes it. A run of the log counts
// if the files that it read have the same content now; one whose file is gone cannot be compared,
// and counts. A run that has no result
// because its settings allow none, such as a budget that no noise meets, has a refused outcome.
// After a stop, runs are missing. Throws what a run throws for other reasons, naming the cell.
std::vector<CellResult> RunCells(const RunKind& kind, const std::vector<Cell>& cells,
                                 const RunnerOptions& options, RunLogFile& log);

}  // namespace sotto::server
