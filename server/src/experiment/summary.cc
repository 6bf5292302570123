#include "experiment/summary.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "experiment/run_kinds.h"
#include "experiment/student.h"

namespace sotto::server {
namespace {

MeanDeviation Scaled(MeanDeviation value, double scale) {
  value.mean *= scale;
  value.deviation *= std::fabs(scale);
  return value;
}

// True if all runs have the series of the first one, each as long.
bool AreAlike(const CellResult& result) {
  const auto& first = result.runs.front().outcome.series;
  for (const FinishedCellRun& run : result.runs) {
    for (const auto& [name, values] : first) {
      const auto other = run.outcome.series.find(name);
      const bool fits = other != run.outcome.series.end() && other->second.size() == values.size();
      if (!fits) return false;
    }
  }
  return true;
}

// Means and deviations over the runs. If their series differ in length, the first run alone.
void AddSeries(const CellResult& result, CellSummary* summary) {
  if (result.runs.empty()) return;
  const auto& first = result.runs.front().outcome.series;
  if (result.runs.size() < 2 || !AreAlike(result)) {
    summary->series = first;
    return;
  }
  for (const auto& [name, values] : first) {
    for (size_t i = 0; i < values.size(); ++i) {
      std::vector<double> at;
      for (const FinishedCellRun& run : result.runs) at.push_back(run.outcome.series.at(name)[i]);
      const MeanDeviation point = MeanDeviationOf(at);
      summary->series[name].push_back(point.mean);
      summary->spreads[name].push_back(point.deviation);
    }
  }
}

CellSummary SummaryOf(const Definition& definition, const CellResult& result) {
  CellSummary summary;
  summary.cell = result.cell;
  summary.runs = result.runs.size();
  std::map<std::string, std::vector<double>> figures;
  for (const FinishedCellRun& run : result.runs) {
    summary.keys.push_back(RunKey(definition.kind, SettingsOfRun(result.cell, run.seed)));
    for (const auto& [name, value] : run.outcome.figures) figures[name].push_back(value);
    const std::string& note = run.outcome.note;
    std::vector<std::string>& notes = summary.notes;
    if (!note.empty() && std::find(notes.begin(), notes.end(), note) == notes.end()) {
      notes.push_back(note);
    }
  }
  for (const auto& [name, values] : figures) summary.figures[name] = MeanDeviationOf(values);
  AddSeries(result, &summary);
  const RunKind& kind = FindRunKind(definition.kind);
  summary.command = kind.command(SettingsOfRun(result.cell, 1));
  return summary;
}

// Fills in p_holm of all cells that stand beside the paper.
void AdjustAgainstPaper(std::vector<CellSummary>* cells) {
  std::vector<double> values;
  for (const CellSummary& cell : *cells) {
    if (cell.against) values.push_back(cell.against->p);
  }
  values = HolmAdjusted(values);
  size_t next = 0;
  for (CellSummary& cell : *cells) {
    if (cell.against) cell.against->p_holm = values[next++];
  }
}

std::optional<AgainstPaper> AgainstPaperOf(const Definition& d, const CellSummary& cell) {
  const auto found = cell.figures.find(d.figure);
  if (found == cell.figures.end() || !cell.cell.paper) return std::nullopt;
  const MeanDeviation here = Scaled(found->second, d.scale);
  const PaperFigure& paper = *cell.cell.paper;
  if (FindRunKind(d.kind).one_run_decides && here.count < 2) return DigitsOf(here.mean, paper);
  if (!CanPredict(here, paper, d.paper_runs)) return std::nullopt;
  return PredictionOf(here, paper, d.paper_runs);
}

}  // namespace

bool HasLearnedNothing(const Definition& definition, const CellResult& result) {
  if (definition.figure != "accuracy" || FindRunKind(definition.kind).one_run_decides) return false;
  std::vector<double> accuracies;
  std::vector<double> shares;
  for (const FinishedCellRun& run : result.runs) {
    const std::map<std::string, double>& figures = run.outcome.figures;
    const auto accuracy = figures.find("accuracy");
    if (accuracy != figures.end()) accuracies.push_back(accuracy->second);
    const auto share = figures.find("majority_share");
    if (share != figures.end()) shares.push_back(share->second);
  }
  const MeanDeviation accuracy = MeanDeviationOf(accuracies);
  if (accuracy.count == 0) return false;
  if (shares.size() == accuracies.size()) {
    return MeanInterval(accuracy, 0.90).lower <= MeanDeviationOf(shares).mean + 1e-12;
  }
  return accuracy.count > 1 && accuracy.deviation <= 1e-12 && accuracy.mean <= 0.5;
}

Summary Summarise(const Definition& definition, const ChosenData& data, bool is_quick,
                  uint64_t seeds, const std::vector<CellResult>& results) {
  Summary summary;
  summary.definition = definition;
  summary.data = data;
  summary.is_quick = is_quick;
  summary.seeds = seeds;
  std::vector<bool> learned_nothing;
  for (const CellResult& result : results) {
    CellSummary cell = SummaryOf(definition, result);
    cell.has_learned_nothing = HasLearnedNothing(definition, result);
    if (summary.compares()) cell.against = AgainstPaperOf(definition, cell);
    learned_nothing.push_back(cell.has_learned_nothing);
    summary.cells.push_back(std::move(cell));
    summary.runs += result.runs.size();
  }
  summary.runs_missing = results.size() * seeds - summary.runs;
  AdjustAgainstPaper(&summary.cells);
  summary.verdicts = Judge(definition, results, learned_nothing);
  return summary;
}

std::optional<MeanDeviation> FigureOf(const Summary& summary, const CellSummary& cell) {
  const auto found = cell.figures.find(summary.definition.figure);
  if (found == cell.figures.end()) return std::nullopt;
  return Scaled(found->second, summary.definition.scale);
}

PaperCount CountAgainstPaper(const Summary& summary) {
  PaperCount count;
  for (const CellSummary& cell : summary.cells) {
    if (!cell.against) continue;
    ++count.cells;
    if (cell.against->differs) ++count.differ;
    if (cell.against->p_holm <= kTestLevel) ++count.differ_adjusted;
    count.is_exact = cell.against->is_exact;
  }
  return count;
}

}  // namespace sotto::server
