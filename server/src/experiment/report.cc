#include "experiment/report.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/counted.h"

namespace sotto::server {
namespace {

std::string WithDeviation(double mean, const std::optional<double>& deviation, int decimals) {
  std::string text = fmt::format("{:.{}f}", mean, decimals);
  if (deviation) text += fmt::format(" +- {:.{}f}", *deviation, decimals);
  return text;
}

std::string MeanText(const MeanDeviation& value, int decimals) {
  return WithDeviation(value.mean,
                       value.count < 2 ? std::nullopt : std::optional<double>(value.deviation),
                       decimals);
}

std::string SignedText(double value, int decimals) {
  const double unit = std::pow(10, -decimals);
  const bool is_nothing = std::fabs(value) < unit / 2;  // not "-0.00"
  return fmt::format("{:+.{}f}", is_nothing ? 0.0 : value, decimals);
}

// A figure beside the table's own: as many digits as it takes.
std::string ColumnText(const CellSummary& cell, const std::string& name) {
  const auto found = cell.figures.find(name);
  return found == cell.figures.end() ? "-" : fmt::format("{:.4g}", found->second.mean);
}

bool NeedsData(const Summary& summary) { return !summary.definition.choices.empty(); }

Row HeaderOf(const Summary& summary) {
  const Definition& d = summary.definition;
  Row row;
  for (const Axis& axis : d.axes) row.push_back(axis.name);
  row.push_back("here");
  row.push_back("runs");
  row.push_back("paper");
  row.push_back("here - paper");
  for (const std::string& column : d.columns) {
    row.push_back(FindAxis(d, column) != nullptr ? column + " reached" : column);
  }
  if (NeedsData(summary)) row.push_back("data");
  return row;
}

Row RowOf(const Summary& summary, const CellSummary& cell) {
  const int decimals = summary.definition.decimals;
  Row row;
  for (const Assignment& value : cell.cell.at) row.push_back(value.value);
  const std::optional<MeanDeviation> here = FigureOf(summary, cell);
  row.push_back(here ? MeanText(*here, decimals) : cell.notes.empty() ? "-" : "none");
  row.push_back(std::to_string(cell.runs));
  const std::optional<PaperFigure>& paper = cell.cell.paper;
  row.push_back(paper ? WithDeviation(paper->mean, paper->deviation, decimals) : "-");
  row.push_back(here && paper ? SignedText(here->mean - paper->mean, decimals) : "-");
  for (const std::string& column : summary.definition.columns) {
    row.push_back(ColumnText(cell, column));
  }
  if (NeedsData(summary)) row.push_back(DataLabel(summary));
  return row;
}

Table CellTable(const Summary& summary) {
  Table table = {HeaderOf(summary)};
  for (const CellSummary& cell : summary.cells) table.push_back(RowOf(summary, cell));
  return table;
}

std::string ComparedText(const Comparison& claim) {
  const std::string figure = claim.figure.empty() ? "" : claim.figure + ": ";
  if (claim.value) return fmt::format("{}against {:g}", figure, *claim.value);
  return figure + TextOf(claim.cells) + " against " + TextOf(claim.than);
}

Row DifferenceRow(const Summary& summary, const ClaimVerdict& verdict,
                  const Difference& difference) {
  const int decimals = summary.definition.decimals;
  const std::string at = TextOf(difference.at);
  return {at.empty() ? "all" : at,
          ComparedText(verdict.claim),
          difference.paper ? SignedText(*difference.paper, decimals) : "-",
          SignedText(difference.here.mean, decimals) +
              (difference.here.count < 2
                   ? " (one run)"
                   : fmt::format(" +- {:.{}f}", difference.here.standard_error(), decimals)),
          Name(difference.seen),
          verdict.claim.expected == Expectation::kOpen || !difference.is_decided() ? "-"
          : difference.agrees                                                      ? "yes"
                                                                                   : "no"};
}

Table DifferenceTable(const Summary& summary, const ClaimVerdict& verdict) {
  Table table = {{"at", "difference of", "paper", "here +- standard error", "seen", "as expected"}};
  for (const Difference& difference : verdict.differences) {
    table.push_back(DifferenceRow(summary, verdict, difference));
  }
  return table;
}

std::string SizeText(const Summary& summary) {
  if (!summary.is_quick) return "full";
  const Definition& d = summary.definition;
  const bool is_smaller =
      !d.quick_options.empty() ||
      std::any_of(d.rules.begin(), d.rules.end(), [](const auto& r) { return r.only == "quick"; });
  return is_smaller ? "quick: smaller than full, so figures do not compare with the paper's"
                    : "quick: fewer cells and runs than full";
}

std::string RunsText(const Summary& summary) {
  std::string text =
      fmt::format("{} of {}", Counted(summary.runs, "run"), Counted(summary.cells.size(), "cell"));
  if (!summary.only.empty()) {
    text += fmt::format("; a part: --only {}", fmt::join(summary.only, " --only "));
  }
  if (summary.runs_missing > 0) {
    text += fmt::format("; {} missing: the same command goes on", summary.runs_missing);
  }
  return text;
}

// What the experiment is, as rows of a name and a text.
Table Head(const Summary& summary) {
  const Definition& d = summary.definition;
  Table head = {{"paper", d.source}, {"claim", d.conclusion}};
  if (!d.dataset.empty()) head.push_back({"its data", d.dataset});
  if (NeedsData(summary)) head.push_back({"data here", DataLabel(summary)});
  if (!summary.data.advice.empty()) head.push_back({"asked for", summary.data.advice});
  head.push_back({"size", SizeText(summary)});
  head.push_back({"runs", RunsText(summary)});
  head.push_back({"figure", d.figure_text + ", mean +- deviation of a run"});
  const WithinPaper within = CountWithin(summary);
  if (within.of > 0 && !summary.is_quick) {
    head.push_back({"agreement", fmt::format("{} of {} within two of the paper's deviations",
                                             within.within, Counted(within.of, "cell"))});
  }
  return head;
}

std::string VerdictHead(const ClaimVerdict& verdict) {
  const std::string by = verdict.claim.by.empty() ? "paper" : verdict.claim.by;
  return fmt::format("{}: {} -- {}", by, verdict.claim.text, verdict.text());
}

// The claims about cells that were run.
std::vector<ClaimVerdict> Shown(const Summary& summary) {
  std::vector<ClaimVerdict> shown;
  for (const ClaimVerdict& verdict : summary.verdicts) {
    if (!verdict.differences.empty()) shown.push_back(verdict);
  }
  return shown;
}

// What cells have to say, each text once with the first cell that says it.
std::vector<std::string> CellNotes(const Summary& summary) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_note;
  for (const CellSummary& cell : summary.cells) {
    for (const std::string& note : cell.notes) {
      auto same = std::find_if(by_note.begin(), by_note.end(),
                               [&](const auto& entry) { return entry.first == note; });
      if (same == by_note.end()) same = by_note.insert(by_note.end(), {note, {}});
      same->second.push_back(TextOf(cell.cell.at));
    }
  }
  std::vector<std::string> notes;
  for (const auto& [note, cells] : by_note) {
    const std::string more = cells.size() == 1 ? "" : fmt::format(" and {} more", cells.size() - 1);
    notes.push_back(fmt::format("{}{}: {}", cells.front(), more, note));
  }
  return notes;
}

}  // namespace

std::string Why(const ClaimVerdict& verdict) {
  const bool is_other = verdict.agreeing() < verdict.decided();
  return is_other ? verdict.claim.why : "";
}

std::string DataLabel(const Summary& summary) {
  if (!summary.data.is_stand_in) return summary.data.label;
  return fmt::format("{}, stand-in for {}", summary.data.label, summary.definition.dataset);
}

Report ReportOf(const Summary& summary) {
  Report report;
  report.name = summary.definition.name;
  report.title = summary.definition.title;
  report.head = Head(summary);
  report.cells = CellTable(summary);
  for (const ClaimVerdict& verdict : Shown(summary)) {
    report.verdicts.push_back(
        {VerdictHead(verdict), DifferenceTable(summary, verdict), Why(verdict)});
  }
  report.cell_notes = CellNotes(summary);
  report.notes = summary.definition.notes;
  return report;
}

}  // namespace sotto::server
