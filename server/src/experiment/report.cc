#include "experiment/report.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/counted.h"
#include "experiment/origins.h"
#include "experiment/student.h"

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
  row.push_back("95 % prediction");
  row.push_back("differs");
  for (const std::string& column : d.columns) {
    row.push_back(FindAxis(d, column) != nullptr ? column + " reached" : column);
  }
  if (NeedsData(summary)) row.push_back("data");
  return row;
}

// Half the width of the prediction interval.
std::string PredictionText(const CellSummary& cell, int decimals) {
  if (!cell.against || cell.against->is_exact) return "-";
  return fmt::format("+- {:.{}f}", cell.against->half_width, decimals);
}

// How far a computed figure is from the paper's, in units of its last digit.
std::string LastDigits(const Summary& summary, const CellSummary& cell) {
  const double unit = std::pow(10, -cell.cell.paper->decimals);
  const double here = FigureOf(summary, cell)->mean;
  const double digits = std::round(here / unit) - std::round(cell.cell.paper->mean / unit);
  return fmt::format("yes: {:+.0f} in the last digit", digits);
}

// Whether the figure differs from the paper's.
std::string DiffersText(const Summary& summary, const CellSummary& cell) {
  if (!cell.against) return "-";
  const AgainstPaper& against = *cell.against;
  if (against.is_exact && !against.differs) return "no: to the digit";
  if (against.is_exact) return LastDigits(summary, cell);
  if (!against.differs) return "no";
  return against.p_holm <= kTestLevel ? "yes" : "alone";
}

Row RowOf(const Summary& summary, const CellSummary& cell) {
  const int decimals = summary.definition.decimals;
  Row row;
  for (const Assignment& value : cell.cell.at) row.push_back(value.value);
  const std::optional<MeanDeviation> here = FigureOf(summary, cell);
  const std::string none = cell.notes.empty() ? "-" : "none";
  row.push_back((here ? MeanText(*here, decimals) : none) +
                (cell.has_learned_nothing ? " (learned nothing)" : ""));
  row.push_back(std::to_string(cell.runs));
  const std::optional<PaperFigure>& paper = cell.cell.paper;
  row.push_back(paper ? WithDeviation(paper->mean, paper->deviation, decimals) : "-");
  const bool compares = here && paper && summary.compares();
  row.push_back(compares ? SignedText(here->mean - paper->mean, decimals) : "-");
  row.push_back(PredictionText(cell, decimals));
  row.push_back(DiffersText(summary, cell));
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

// "+1.20 +- 0.31, 95 % from +0.59 to +1.81"
std::string HereText(const Difference& d, int decimals) {
  const std::string mean = SignedText(d.here.mean, decimals);
  if (d.here.count < 2) return mean + (d.is_decided ? "" : " (one run)");
  return fmt::format("{} +- {:.{}f}", mean, d.here.standard_error(), decimals);
}

std::string IntervalText(const Difference& d, const Interval& interval, int decimals) {
  if (d.here.count < 2) return "-";
  return fmt::format("{} to {}", SignedText(interval.lower, decimals),
                     SignedText(interval.upper, decimals));
}

std::string AgreementText(const ClaimVerdict& verdict, const Difference& d) {
  if (verdict.claim.expected == Expectation::kOpen) return "-";
  const bool is_alone = d.agrees == Agreement::kNo && d.p_holm > kTestLevel;
  return is_alone ? "no, taken alone" : Name(d.agrees);
}

// With how many seeds an open row would be decided.
std::string SeedsText(const ClaimVerdict& verdict, const Difference& d) {
  if (!d.is_open()) return "-";
  if (!d.is_decided) return d.why_open;
  const auto count = [](const std::optional<size_t>& seeds) {
    return seeds ? std::to_string(*seeds) : fmt::format("over {}", kMostSeeds);
  };
  std::string text = count(d.seeds_to_differ) + " to differ";
  if (verdict.claim.within > 0) text += ", " + count(d.seeds_to_be_equal) + " to be equal";
  return text;
}

// For the experiment's figure as many as in its table; for another figure as many as give the
// number that decides the row two digits.
int DecimalsOf(const Definition& definition, const Comparison& claim, const Difference& d) {
  constexpr int kMost = 6;
  if (claim.figure.empty() || claim.figure == definition.figure) return definition.decimals;
  const double error = d.here.count < 2 ? 0 : d.here.standard_error();
  double least = claim.within > 0 ? claim.within : std::fabs(d.here.mean);
  if (error > 0) least = std::min(least, error);
  if (least <= 0) return definition.decimals;
  return std::clamp(1 - static_cast<int>(std::floor(std::log10(least))), 0, kMost);
}

Row DifferenceRow(const Summary& summary, const ClaimVerdict& verdict,
                  const Difference& difference) {
  const Comparison& claim = verdict.claim;
  const int decimals = DecimalsOf(summary.definition, claim, difference);
  const std::string at = TextOf(difference.at);
  return {at.empty() ? "all" : at,
          ComparedText(claim),
          difference.paper ? SignedText(*difference.paper, decimals) : "-",
          HereText(difference, decimals),
          IntervalText(difference, difference.at_95, decimals),
          claim.within > 0 ? IntervalText(difference, difference.at_90, decimals) : "-",
          difference.Seen(claim.within),
          AgreementText(verdict, difference),
          SeedsText(verdict, difference)};
}

Table DifferenceTable(const Summary& summary, const ClaimVerdict& verdict) {
  Table table = {{"at", "difference of", "paper", "here +- standard error", "95 % interval",
                  "90 % interval", "seen", "as expected", "seeds for power 0.8"}};
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

std::string SeedsText(const Summary& summary) {
  const uint64_t fixed = summary.fixed_seeds();
  if (summary.seeds == fixed) {
    return fmt::format("{} a cell, as the definition fixes them", fixed);
  }
  return fmt::format(
      "{} a cell, by --seeds; the definition fixes {}, and a verdict on "
      "another number is a look, not a test",
      summary.seeds, fixed);
}

// How the cells stand beside the paper's figures; empty if they do not.
std::string AgreementText(const Summary& summary) {
  const PaperCount count = CountAgainstPaper(summary);
  if (!summary.compares() || count.cells == 0) return "";
  const std::string cells = Counted(count.cells, "cell");
  if (count.is_exact) {
    return fmt::format("{} of {} have the paper's digits", count.cells - count.differ, cells);
  }
  return fmt::format(
      "{} of {} outside of the 95 % prediction interval of the paper's mean, {} of them after "
      "Holm's adjustment: {}",
      count.differ, cells, count.differ_adjusted,
      count.differ_adjusted > 0 ? "some figures differ" : "no difference is shown");
}

// What the paper does not state and the prediction intervals assume; empty: nothing.
std::string AssumedText(const Summary& summary) {
  for (const CellSummary& cell : summary.cells) {
    if (cell.against && !cell.against->assumed.empty()) return cell.against->assumed;
  }
  return "";
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
  head.push_back({"seeds", SeedsText(summary)});
  const std::string agreement = AgreementText(summary);
  if (!agreement.empty()) head.push_back({"beside the paper", agreement});
  const std::string assumed = AssumedText(summary);
  if (!agreement.empty() && !assumed.empty()) head.push_back({"assumed there", assumed});
  return head;
}

std::string VerdictHead(const Summary& summary, const ClaimVerdict& verdict) {
  const bool has_paper = summary.definition.source.rfind("none", 0) != 0;
  const std::string whose = has_paper ? "paper" : "claim";
  const std::string by = verdict.claim.by.empty() ? whose : verdict.claim.by;
  return fmt::format("{}: {} -- {}{}", by, verdict.claim.text, verdict.text(),
                     summary.runs_missing > 0 ? ", so far: runs are missing" : "");
}

// "equal: a difference below 1, which is ..."; empty if the claim has no `within`.
std::string WithinText(const Comparison& claim) {
  if (claim.within <= 0) return "";
  return fmt::format("equal is a difference below {:g}{}{}", claim.within,
                     claim.within_why.empty() ? "" : ": ", claim.within_why);
}

// The claims about cells that were run.
std::vector<ClaimVerdict> Shown(const Summary& summary) {
  std::vector<ClaimVerdict> shown;
  for (const ClaimVerdict& verdict : summary.verdicts) {
    if (!verdict.differences.empty() || verdict.without_figure > 0) shown.push_back(verdict);
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

std::vector<Settings> SettingsOfCells(const Summary& summary) {
  std::vector<Settings> settings;
  for (const CellSummary& cell : summary.cells) settings.push_back(cell.cell.settings);
  return settings;
}

}  // namespace

std::string Why(const ClaimVerdict& verdict) {
  return verdict.Count(Agreement::kNo) > 0 ? verdict.claim.why : "";
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
    report.verdicts.push_back({VerdictHead(summary, verdict), DifferenceTable(summary, verdict),
                               WithinText(verdict.claim), Why(verdict)});
  }
  report.cell_notes = CellNotes(summary);
  report.notes = summary.definition.notes;
  if (summary.definition.origins.empty()) return report;
  report.settings =
      SettingsTable(summary.definition, summary.data, summary.is_quick, SettingsOfCells(summary));
  return report;
}

}  // namespace sotto::server
