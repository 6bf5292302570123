// The definition of an experiment: a grid of runs, the paper's figures, and what it says of them.
// Part of sotto::server/experiment.
//
// A definition is a TOML file (sotto/options/toml.h); server/EXPERIMENTS.md is its manual. A cell
// of the grid is a value on each axis. A condition such as "smoothing=1" names the cells with that
// value.
//
// Plain values and pure functions: safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sotto::server {

// NAME=VALUE: of an option, of a parameter of a formula, or on an axis.
struct Assignment {
  std::string name;
  std::string value;
};
using Assignments = std::vector<Assignment>;

// The value of this name; null if there is none. Of several the last.
const std::string* Find(const Assignments& assignments, const std::string& name);

// True if `cell` has the value of each condition.
bool Meets(const Assignments& cell, const Assignments& conditions);
bool MeetsOne(const Assignments& cell, const Assignments& conditions);

// "sampling=uniform epsilon=6"
std::string TextOf(const Assignments& assignments);

// An axis of the grid. If an option has its name, a value sets the option; else it is a label, and
// `options` or [[set]] say what it means.
struct Axis {
  std::string name;
  std::vector<std::string> values;        // at least one
  std::vector<std::string> quick_values;  // with --quick; empty: the same
  // [values]: the options that a value stands for; or empty. A quick value of the same name has
  // them, too.
  std::vector<Assignments> options;
};

// Who decides a setting of the cells.
enum class Decider {
  kPaper,  // the paper states it
  kOpen,   // the paper does not state it; this project has chosen
  kOurs,   // another one than the paper's, or one that the paper does not have
};
const char* Name(Decider decider);  // "paper", "open", "ours"

// Who decides an option, and why.
struct Origin {
  std::string option;
  Decider decider = Decider::kOpen;
  std::string text;  // where the paper states it, or why it is as it is; of kPaper may be empty
};

// Options of the cells that meet the conditions.
struct OptionRule {
  std::string only;  // "full" or "quick": in this size alone; empty: in both
  Assignments at;
  Assignments options;
};

// A mean of the paper, with its deviation if the paper prints one.
struct PaperFigure {
  double mean = 0;
  std::optional<double> deviation;
  int decimals = 0;  // that it prints
};

// The paper's figures of the cells that meet the conditions, one for each value of the axis
// `along`; without it one for all of them.
struct PaperRow {
  Assignments at;
  std::string along;               // empty: none
  std::vector<double> means;       // [values of that axis], or 1
  std::vector<double> deviations;  // the same, or empty
  int decimals = 0;                // of the means: the most that one of them has in the file
};

// What a comparison of cells is expected to show.
enum class Expectation { kHigher, kLower, kEqual, kOpen };
const char* Name(Expectation expectation);  // "higher", "lower", "equal", "open"

// What is said of the grid: cells at `cells` against those at `than`, which differ in nothing else,
// or against a number.
struct Comparison {
  std::string text;    // as the paper says it
  std::string by;      // who says it: "paper", or "recomputed" if this project did
  Assignments at;      // only cells that meet this
  Assignments except;  // but none that meets one of these
  Assignments cells;
  Assignments than;
  std::optional<double> value;  // instead of `than`
  // A difference below this matters to nobody, in units of the table; 0: any one does. A claim that
  // expects kEqual has one.
  double within = 0;
  std::string within_why;  // why this one
  Expectation expected = Expectation::kOpen;
  std::string figure;  // empty: the experiment's
  std::string why;     // why the result may differ, as far as known; may be empty
};

// Samples that the experiment can run on.
struct DataChoice {
  std::string name;   // for --data
  std::string label;  // in every cell
  std::string path;   // below --data-dir; empty: `set` is a named data set
  std::string set;
  bool is_stand_in = false;
  Assignments options;  // on top
};

struct Chart {
  std::string x;  // an axis, or a series such as "round"
  // Figures, or series, a line for each; empty: the experiment's figure.
  std::vector<std::string> y;
  std::string panel;  // the axis with a chart for each value; empty: one chart
  std::string x_label;
  std::string y_label;
  bool has_log_x = false;  // values of 0 and below are left out
  bool has_log_y = false;
};

struct Definition {
  std::string name;
  std::string title;
  std::string source;                // which paper, version, table, page
  std::string conclusion;            // what the paper concludes from it
  std::string kind;                  // a name of run_kinds.h: how a cell is computed
  std::string figure;                // of a run's outcome: "accuracy"
  std::string figure_text;           // for people: "test accuracy, %"
  std::vector<std::string> columns;  // further figures for the table, unscaled
  double scale = 1;                  // figures are shown multiplied by it
  int decimals = 2;
  // Runs of a cell, decided before the first one. How many more a verdict would take is for the
  // next version of the definition.
  uint64_t seeds = 1;
  uint64_t quick_seeds = 1;
  std::optional<uint64_t> paper_runs;  // that a mean of the paper has; absent: it does not say
  std::string dataset;                 // the paper's
  std::string ask;                     // what to put where, for who has it
  std::vector<std::string> notes;      // what the paper leaves open, and what was chosen
  Assignments options;                 // of all cells
  Assignments quick_options;           // with --quick, on top
  std::vector<Axis> axes;
  std::vector<OptionRule> rules;
  std::vector<PaperRow> paper_rows;
  std::vector<Comparison> comparisons;
  std::vector<DataChoice> choices;  // empty: cells need no samples
  std::vector<Origin> origins;      // one for each option that a cell has
  Chart chart;
  std::string folder;  // of the file, for the models beside it; empty: built in
};

// Who decides this option; null: nothing says so.
const Origin* FindOrigin(const Definition& d, const std::string& option);

// The axis of this name; null: there is none.
const Axis* FindAxis(const Definition& d, const std::string& name);

// Throws std::invalid_argument for what no experiment has: a claim about a cell that is none, means
// without their number, a missing key.
void RequireWhole(const Definition& d);

// Throws std::invalid_argument, "PATH:LINE: what is wrong, and what is expected".
//   path  for messages, and for `folder`
Definition ParseDefinition(const std::string& path, const std::string& text);

}  // namespace sotto::server
