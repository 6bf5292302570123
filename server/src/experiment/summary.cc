#include "experiment/summary.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>

#include "experiment/run_kinds.h"

namespace sotto::server {
namespace {

// Student's t, 97.5 %: a mean of `count` differences below so many standard errors is none.
double StandardErrorsOf(size_t count) {
  constexpr double kFew[] = {12.71, 4.31, 3.19, 2.78, 2.58, 2.45, 2.37, 2.31, 2.27, 2.23};
  const size_t freedom = count - 1;
  if (freedom >= 1 && freedom <= std::size(kFew)) return kFew[freedom - 1];
  return freedom < 60 ? 2.23 : 2.01;
}

MeanDeviation Scaled(MeanDeviation value, double scale) {
  value.mean *= scale;
  value.deviation *= std::fabs(scale);
  return value;
}

void AddSeries(const Outcome& outcome, std::map<std::string, std::vector<double>>* sums) {
  for (const auto& [name, values] : outcome.series) {
    std::vector<double>& sum = (*sums)[name];
    sum.resize(std::max(sum.size(), values.size()), 0);
    for (size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
  }
}

// Means over the runs, if all have series of one length; else that of the first run.
std::map<std::string, std::vector<double>> MeanSeries(const CellResult& result) {
  if (result.runs.empty()) return {};
  const auto& first = result.runs.front().outcome.series;
  std::map<std::string, std::vector<double>> sums;
  for (const FinishedCellRun& run : result.runs) {
    for (const auto& [name, values] : first) {
      const auto other = run.outcome.series.find(name);
      const bool fits = other != run.outcome.series.end() && other->second.size() == values.size();
      if (!fits) return first;
    }
    AddSeries(run.outcome, &sums);
  }
  for (auto& [name, values] : sums) {
    for (double& value : values) value /= static_cast<double>(result.runs.size());
  }
  return sums;
}

CellSummary SummaryOf(const Definition& definition, const CellResult& result) {
  CellSummary summary;
  summary.cell = result.cell;
  summary.runs = result.runs.size();
  std::map<std::string, std::vector<double>> figures;
  for (const FinishedCellRun& run : result.runs) {
    for (const auto& [name, value] : run.outcome.figures) figures[name].push_back(value);
    const std::string& note = run.outcome.note;
    std::vector<std::string>& notes = summary.notes;
    if (!note.empty() && std::find(notes.begin(), notes.end(), note) == notes.end()) {
      notes.push_back(note);
    }
  }
  for (const auto& [name, values] : figures) summary.figures[name] = MeanDeviationOf(values);
  summary.series = MeanSeries(result);
  const RunKind& kind = FindRunKind(definition.kind);
  summary.command = kind.command(SettingsOfRun(result.cell, 1));
  return summary;
}

// The cell's place with the values of `instead` on their axes.
Assignments With(Assignments at, const Assignments& instead) {
  for (Assignment& value : at) {
    const std::string* other = Find(instead, value.name);
    if (other != nullptr) value.value = *other;
  }
  return at;
}

const CellResult* FindCell(const std::vector<CellResult>& results, const Assignments& at) {
  for (const CellResult& result : results) {
    if (Meets(result.cell.at, at)) return &result;
  }
  return nullptr;
}

std::optional<double> ValueOf(const CellResult& result, uint64_t seed, const std::string& figure) {
  for (const FinishedCellRun& run : result.runs) {
    if (run.seed != seed) continue;
    const auto found = run.outcome.figures.find(figure);
    if (found != run.outcome.figures.end()) return found->second;
  }
  return std::nullopt;
}

// Run by run: those of `a` less those of `b` with equal seeds, or less a number.
std::vector<double> PairedDifferences(const CellResult& a, const CellResult* b, double number,
                                      const std::string& figure) {
  std::vector<double> differences;
  for (const FinishedCellRun& run : a.runs) {
    const std::optional<double> left = ValueOf(a, run.seed, figure);
    const std::optional<double> right =
        b == nullptr ? std::optional<double>(number) : ValueOf(*b, run.seed, figure);
    if (left && right) differences.push_back(*left - *right);
  }
  return differences;
}

Expectation SeenIn(const MeanDeviation& difference, double within, bool one_run_decides) {
  if (difference.count < 2 && !one_run_decides) return Expectation::kOpen;
  const double error =
      difference.count < 2 ? 0 : StandardErrorsOf(difference.count) * difference.standard_error();
  const double noise = std::max(within, error);
  if (difference.mean > noise) return Expectation::kHigher;
  return difference.mean < -noise ? Expectation::kLower : Expectation::kEqual;
}

// What both cells of a comparison have in common: the axes that the claim does not name.
Assignments Common(const Assignments& at, const Comparison& claim) {
  Assignments common;
  for (const Assignment& value : at) {
    if (Find(claim.cells, value.name) == nullptr) common.push_back(value);
  }
  return common;
}

// b is null if the claim compares with a number.
std::optional<Difference> Compare(const Definition& definition, const Comparison& claim,
                                  const CellResult& a, const CellResult* b) {
  const bool is_main = claim.figure.empty() || claim.figure == definition.figure;
  const std::string figure = is_main ? definition.figure : claim.figure;
  const double scale = is_main ? definition.scale : 1;
  Difference difference;
  difference.at = b == nullptr ? a.cell.at : Common(a.cell.at, claim);
  difference.here = Scaled(
      MeanDeviationOf(PairedDifferences(a, b, claim.value.value_or(0) / scale, figure)), scale);
  if (difference.here.count == 0) return std::nullopt;
  if (is_main && b != nullptr && a.cell.paper && b->cell.paper) {
    difference.paper = a.cell.paper->mean - b->cell.paper->mean;
  }
  difference.seen =
      SeenIn(difference.here, claim.within, FindRunKind(definition.kind).one_run_decides);
  difference.agrees = difference.is_decided() &&
                      (claim.expected == Expectation::kOpen || difference.seen == claim.expected);
  return difference;
}

ClaimVerdict Judge(const Definition& definition, const Comparison& claim,
                   const std::vector<CellResult>& results) {
  ClaimVerdict verdict = {claim, {}};
  for (const CellResult& a : results) {
    if (!Meets(a.cell.at, claim.at) || !Meets(a.cell.at, claim.cells)) continue;
    const CellResult* b = claim.value ? nullptr : FindCell(results, With(a.cell.at, claim.than));
    if (b == nullptr && !claim.value) continue;
    const std::optional<Difference> difference = Compare(definition, claim, a, b);
    if (difference) verdict.differences.push_back(*difference);
  }
  return verdict;
}

}  // namespace

size_t ClaimVerdict::agreeing() const {
  return static_cast<size_t>(std::count_if(differences.begin(), differences.end(),
                                           [](const Difference& d) { return d.agrees; }));
}

size_t ClaimVerdict::decided() const {
  return static_cast<size_t>(std::count_if(differences.begin(), differences.end(),
                                           [](const Difference& d) { return d.is_decided(); }));
}

std::string ClaimVerdict::text() const {
  if (differences.empty()) return "no runs";
  if (claim.expected == Expectation::kOpen) return "shown";
  if (decided() == 0) return "open: one run of a cell decides nothing";
  if (agreeing() == differences.size()) return "agrees";
  if (agreeing() == 0) return "differs";
  return fmt::format("mixed: {} of {} agree", agreeing(), differences.size());
}

Summary Summarise(const Definition& definition, const ChosenData& data, bool is_quick,
                  uint64_t seeds, const std::vector<CellResult>& results) {
  Summary summary;
  summary.definition = definition;
  summary.data = data;
  summary.is_quick = is_quick;
  for (const CellResult& result : results) {
    summary.cells.push_back(SummaryOf(definition, result));
    summary.runs += result.runs.size();
  }
  summary.runs_missing = results.size() * seeds - summary.runs;
  for (const Comparison& claim : definition.comparisons) {
    summary.verdicts.push_back(Judge(definition, claim, results));
  }
  return summary;
}

std::optional<MeanDeviation> FigureOf(const Summary& summary, const CellSummary& cell) {
  const auto found = cell.figures.find(summary.definition.figure);
  if (found == cell.figures.end()) return std::nullopt;
  return Scaled(found->second, summary.definition.scale);
}

WithinPaper CountWithin(const Summary& summary) {
  WithinPaper count;
  for (const CellSummary& cell : summary.cells) {
    const std::optional<MeanDeviation> here = FigureOf(summary, cell);
    if (!here || !cell.cell.paper || !cell.cell.paper->deviation) continue;
    ++count.of;
    const double distance = std::fabs(here->mean - cell.cell.paper->mean);
    if (distance <= 2 * *cell.cell.paper->deviation) ++count.within;
  }
  return count;
}

}  // namespace sotto::server
