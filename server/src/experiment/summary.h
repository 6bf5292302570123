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

namespace sotto::server {

struct CellSummary {
  Cell cell;
  size_t runs = 0;                                    // finished ones
  std::map<std::string, MeanDeviation> figures;       // of all runs that have them
  std::map<std::string, std::vector<double>> series;  // means over the runs
  std::vector<std::string> notes;                     // of runs, each once
  std::string command;  // of the run with the first seed; may be empty
};

// Cells of a claim that differ in nothing else, compared run by run with equal seeds.
struct Difference {
  Assignments at;               // what both have in common
  MeanDeviation here;           // of the differences, in units of the table
  std::optional<double> paper;  // its difference, if it prints both cells
  // What is seen: higher, lower, or equal if the mean difference is within its 95 % confidence
  // interval of Student's t. Open if one pair of trainings is all there is.
  Expectation seen = Expectation::kOpen;
  bool agrees = false;  // with what is expected, if it is decided; kOpen expects everything
  bool is_decided() const { return seen != Expectation::kOpen; }
};

struct ClaimVerdict {
  Comparison claim;
  std::vector<Difference> differences;
  size_t agreeing() const;
  size_t decided() const;
  std::string text() const;  // "agrees", "differs", "mixed: 3 of 8 agree", "no runs", "open: ..."
};

struct Summary {
  Definition definition;
  ChosenData data;
  bool is_quick = false;
  std::vector<std::string> only;  // what --only kept; empty: all cells
  std::vector<CellSummary> cells;
  std::vector<ClaimVerdict> verdicts;
  size_t runs = 0;
  size_t runs_missing = 0;
};

Summary Summarise(const Definition& definition, const ChosenData& data, bool is_quick,
                  uint64_t seeds, const std::vector<CellResult>& results);

// The figure of the experiment in a cell, in units of the table; absent if no run has it.
std::optional<MeanDeviation> FigureOf(const Summary& summary, const CellSummary& cell);

// How many cells with a figure of the paper lie within two of its deviations, and of how many. A
// cell without a deviation counts for nothing.
struct WithinPaper {
  size_t within = 0;
  size_t of = 0;
};
WithinPaper CountWithin(const Summary& summary);

}  // namespace sotto::server
