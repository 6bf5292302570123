// What the runs of an experiment say: a row for each cell, and a verdict on each claim. Part of
// sotto::server/experiment.
//
// Plain values and pure functions: safe from any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/mean_deviation.h"
#include "experiment/definition.h"
#include "experiment/runner.h"
#include "experiment/verdicts.h"

namespace sotto::server {

struct CellSummary {
  Cell cell;
  size_t runs = 0;                                     // finished ones
  std::map<std::string, MeanDeviation> figures;        // of all runs that have them
  std::map<std::string, std::vector<double>> series;   // means over the runs
  std::map<std::string, std::vector<double>> spreads;  // their deviations; empty for one run
  std::vector<std::string> notes;                      // of runs, each once
  std::vector<std::string> keys;                       // of the runs, by seed; see RunKey()
  std::string command;               // of the run with the first seed; may be empty
  bool has_learned_nothing = false;  // see HasLearnedNothing()
  // Absent: no figure of the paper, no error is known, or the experiment does not compare.
  std::optional<AgainstPaper> against;
};

struct Summary {
  Definition definition;
  ChosenData data;
  bool is_quick = false;
  std::vector<std::string> only;  // what --only kept; empty: all cells
  uint64_t seeds = 0;             // that were asked for
  std::vector<CellSummary> cells;
  std::vector<ClaimVerdict> verdicts;
  size_t runs = 0;
  size_t runs_missing = 0;

  uint64_t fixed_seeds() const { return is_quick ? definition.quick_seeds : definition.seeds; }
  // Its figures stand beside the paper's: the paper's data in the paper's size.
  bool compares() const { return !is_quick && !data.is_stand_in; }
};

Summary Summarise(const Definition& definition, const ChosenData& data, bool is_quick,
                  uint64_t seeds, const std::vector<CellResult>& results);

// The figure of the experiment in a cell, in units of the table; absent if no run has it.
std::optional<MeanDeviation> FigureOf(const Summary& summary, const CellSummary& cell);

// Of trainings whose figure is the accuracy. If the runs say how large the most frequent class of
// the test samples is (majority_share), the accuracy is not above it: the lower end of its 90 %
// interval is not, or of one run the accuracy itself. Of runs that do not say so, from two on, all
// have the same accuracy, of at most one half: such models name one class whatever they see.
bool HasLearnedNothing(const Definition& definition, const CellResult& result);

// How many cells have a figure that can stand beside the paper's, how many of them differ, each
// taken alone, and how many after Holm's adjustment over the cells.
struct PaperCount {
  size_t cells = 0;
  size_t differ = 0;
  size_t differ_adjusted = 0;
  bool is_exact = false;  // the figures are computed: digits are compared
};
PaperCount CountAgainstPaper(const Summary& summary);

}  // namespace sotto::server
