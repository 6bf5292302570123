// What the runs of an experiment say of a claim, and of the paper's figures. Part of
// sotto::server/experiment.
//
// A claim compares cells that differ in nothing but what it names, run by run with equal seeds. Of
// each such row there are three answers, and two of them can hold together:
//   different  the 95 % interval of the mean difference (Student's t) has no zero in it
//   equal      the 90 % interval lies inside of (-within, within): two one-sided tests at 5 %
//   open       neither; then this many seeds would decide
// That all rows agree needs no adjustment: each one is tested at 5 %, and all must pass (an
// intersection-union test). That some row differs is said after Holm's adjustment over the rows.
// server/EXPERIMENTS.md has each formula, and how another program repeats it from runs.jsonl.
//
// Plain values and pure functions: safe from any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/mean_deviation.h"
#include "experiment/definition.h"
#include "experiment/runner.h"

namespace sotto::server {

// Of each test, and of all rows of a claim or all cells beside the paper after Holm's adjustment.
constexpr double kTestLevel = 0.05;

struct Interval {
  double lower = 0;
  double upper = 0;
  bool Has(double value) const { return lower <= value && value <= upper; }
};

// The interval of a mean in which it lies with this probability; its own value without a deviation.
//   values  at least one; one alone is taken as exact
Interval MeanInterval(const MeanDeviation& values, double probability);

enum class Agreement { kOpen, kYes, kNo };
const char* Name(Agreement agreement);  // "open", "yes", "no"

// Two cells, or a cell and a number.
struct Difference {
  Assignments at;               // what both have in common
  MeanDeviation here;           // of the differences, in units of the table
  std::optional<double> paper;  // its difference, if it prints both cells
  bool is_decided = false;      // there is more than one pair of trainings, and one has learned
  std::string why_open;         // else
  // Of more than one pair, or of a pair that decides.
  Interval at_95, at_90;
  bool is_different = false;
  bool is_equal = false;
  bool is_beyond = false;  // `within` or more: the 90 % interval lies outside of (-within, within)
  double p_different = 1;  // of a difference of zero, two-sided
  double p_equal = 1;      // of a difference of `within` or more: the larger of two one-sided ones
  double p_beyond = 1;     // of one of at most `within`, one-sided
  // With what is expected. kNo: what was seen excludes it, in this row alone.
  Agreement agrees = Agreement::kOpen;
  double p_contradicts = 1;  // of the test by which it does not agree; 1 if it does
  double p_holm = 1;         // the same after Holm's adjustment over the rows of the claim
  // If neither is shown: with how many seeds it would be with power 0.8, given the deviation seen.
  // Absent: unknown, or more than kMostSeeds.
  std::optional<size_t> seeds_to_differ;    // if the difference seen is the true one
  std::optional<size_t> seeds_to_be_equal;  // if there is none

  bool is_open() const { return !is_decided || (!is_different && !is_equal); }
  // "higher", "lower", "equal", "open", or "higher, by less than WITHIN".
  std::string Seen(double within) const;
};

struct ClaimVerdict {
  Comparison claim;
  std::vector<Difference> differences;
  // Rows whose runs are there, but not the figure: an epsilon that no noise meets, for example.
  size_t without_figure = 0;
  size_t Count(Agreement agreement) const;
  size_t contradicting() const;  // rows whose p_holm is at most 0.05
  // "agrees", "differs", "differs in 2 of 8 rows; ...", "open: ...", "shown", "no runs"; with
  // "; no figure in 2 rows" behind it.
  std::string text() const;

 private:
  std::string TextOfRows() const;
};

// What is said of all cells, one verdict a claim, in their order.
//   learned_nothing  [results]: the cells that have learned nothing; see summary.h
std::vector<ClaimVerdict> Judge(const Definition& definition,
                                const std::vector<CellResult>& results,
                                const std::vector<bool>& learned_nothing);

// A cell's figure beside the paper's, which has an error, too.
struct AgainstPaper {
  double difference = 0;  // here - paper
  // A figure that is computed: the same if it rounds to the paper's digits. Else it is the same if
  // the 95 % prediction interval of the paper's mean has it.
  bool is_exact = false;
  double half_width = 0;  // of that interval
  double freedom = 0;
  double p = 1;  // of no difference, two-sided
  double p_holm = 1;
  bool differs = false;
  std::string assumed;  // what the paper does not state; empty: nothing
};

// Absent if there is no error to compare with: one run here, and no deviation of the paper.
//   here     in units of the table
//   paper    the same
//   runs     that the paper's mean has; absent: it does not say, and one is assumed
AgainstPaper PredictionOf(const MeanDeviation& here, const PaperFigure& paper,
                          std::optional<uint64_t> runs);
bool CanPredict(const MeanDeviation& here, const PaperFigure& paper, std::optional<uint64_t> runs);

// Of a computed figure: whether it has the paper's digits.
AgainstPaper DigitsOf(double here, const PaperFigure& paper);

}  // namespace sotto::server
