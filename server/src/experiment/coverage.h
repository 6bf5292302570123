// What of the papers is repeated: one list of all their tables and figures. Part of
// sotto::server/experiment.
//
// The list is server/experiments/coverage.toml. A paper says how many tables and figures it has, so
// a row that is missing is seen:
//   [[paper]]
//   key = "gau-lrq"
//   title = "Yan et al., ..."
//   tables = 4
//   figures = 6
//
//   [[item]]                          # a table, a figure, or panels of one: "Figure 4 (b)"
//   paper = "gau-lrq"
//   name = "Table IV"
//   what = "Gau-LRQ against other mechanisms"
//   experiments = ["gau-lrq-table4"]  # one or more, or
//   reason = "a drawing"              # why there is none; without both nothing repeats it
//   open = "CIFAR-100"                # what is not repeated, or not known
//
//   [[beside]]                        # an experiment that repeats no table and no figure
//   experiment = "dp-fed-ls-axes"
//   what = "..."
//
// Plain values; functions that read a folder say so. Safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "experiment/definition.h"

namespace sotto::server {

struct CoveredPaper {
  std::string key;
  std::string title;
  uint64_t tables = 0;
  uint64_t figures = 0;
};

struct CoveredItem {
  std::string paper;                     // its key
  std::string name;                      // "Table IV", "Figure 4 (b)"
  std::string what;                      // what it shows
  std::vector<std::string> experiments;  // their names
  std::string reason;
  std::string open;
};

struct ExperimentBeside {
  std::string experiment;
  std::string what;
};

struct Coverage {
  std::vector<CoveredPaper> papers;
  std::vector<CoveredItem> items;
  std::vector<ExperimentBeside> beside;
};

// Throws std::invalid_argument, "PATH:LINE: what is wrong, and what is expected".
Coverage ParseCoverage(const std::string& path, const std::string& text);

// The list that is built in.
Coverage BuiltInCoverage();

// What is wrong with the list, a line each; empty: nothing. A row says neither what repeats it, nor
// why nothing does, nor that it is open; a paper's tables or figures are more or fewer than it
// says; two rows have one name; a row names an experiment that there is not; no row names an
// experiment.
std::vector<std::string> FaultsOf(const Coverage& coverage,
                                  const std::vector<Definition>& experiments);

// Tables and figures of a paper that have an experiment, that have a reason instead, and that have
// neither. A figure some of whose panels have none counts where the worst panel does.
struct CoveredCounts {
  size_t with_experiment = 0;
  size_t with_reason = 0;
  size_t with_nothing = 0;
};
CoveredCounts CountCovered(const Coverage& coverage, const CoveredPaper& paper);

// What came out of an experiment, for a cell of a table.
constexpr char kNotRun[] = "-";
using VerdictOf = std::function<std::string(const std::string& experiment)>;

// How many claims about each experiment agree, differ or are open, from FOLDER/NAME/results.json,
// or without it FOLDER/NAME-quick/results.json, with the words "quick" and "stand-in" where they
// hold.
// Reads the folder with each call.
VerdictOf VerdictsIn(const std::string& folder);

// The list for people, and as the generated part of server/experiments/COVERAGE.md.
//   verdict  may be null: then there is no such column
std::string CoverageText(const Coverage& coverage, const VerdictOf& verdict);
std::string CoverageMarkdown(const Coverage& coverage, const std::vector<Definition>& experiments,
                             const VerdictOf& verdict);

}  // namespace sotto::server
