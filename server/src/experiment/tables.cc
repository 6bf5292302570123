#include "experiment/tables.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "sotto/version.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;
using Row = std::vector<std::string>;

// The first row is the header.
using Table = std::vector<Row>;

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
  return fmt::format("{:+.{}f}", value, decimals);
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
  for (const std::string& column : d.columns) row.push_back(column);
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
          verdict.claim.expected == Expectation::kOpen ? "-"
          : difference.agrees                          ? "yes"
                                                       : "no"};
}

Table DifferenceTable(const Summary& summary, const ClaimVerdict& verdict) {
  Table table = {{"at", "difference of", "paper", "here", "seen", "as expected"}};
  for (const Difference& difference : verdict.differences) {
    table.push_back(DifferenceRow(summary, verdict, difference));
  }
  return table;
}

std::string Plain(const Table& table) {
  std::vector<size_t> widths(table.front().size(), 0);
  for (const Row& row : table) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : table) {
    std::string line = " ";
    for (size_t i = 0; i < row.size(); ++i) line += fmt::format(" {:<{}} ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string Markdown(const Table& table) {
  std::string text;
  for (size_t i = 0; i < table.size(); ++i) {
    text += fmt::format("| {} |\n", fmt::join(table[i], " | "));
    if (i > 0) continue;
    for (size_t column = 0; column < table[i].size(); ++column) text += "|---";
    text += "|\n";
  }
  return text;
}

std::string SizeText(const Summary& summary) {
  if (!summary.is_quick) return "the paper's";
  return summary.definition.quick_options.empty()
             ? "quick: fewer cells and runs than the paper's"
             : "quick: smaller than the paper's, so figures do not compare";
}

std::string RunsText(const Summary& summary) {
  std::string text =
      fmt::format("{} of {}", Counted(summary.runs, "run"), Counted(summary.cells.size(), "cell"));
  if (summary.runs_missing > 0) {
    text += fmt::format("; {} missing: the same command goes on", summary.runs_missing);
  }
  return text;
}

// What the experiment is, as rows of a name and a text.
Table Head(const Summary& summary) {
  const Definition& d = summary.definition;
  Table head = {{"paper", d.paper}, {"its claim", d.claim}};
  if (!d.data.empty()) head.push_back({"its data", d.data});
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
  return fmt::format("{} says: {} -- {}", verdict.claim.by.empty() ? "paper" : verdict.claim.by,
                     verdict.claim.text, verdict.text());
}

// The claims about cells that were run.
std::vector<ClaimVerdict> Shown(const Summary& summary) {
  std::vector<ClaimVerdict> shown;
  for (const ClaimVerdict& verdict : summary.verdicts) {
    if (!verdict.differences.empty()) shown.push_back(verdict);
  }
  return shown;
}

// Why a verdict may not be the expected one; empty if it is.
std::string Why(const ClaimVerdict& verdict) {
  const bool is_other =
      !verdict.differences.empty() && verdict.agreeing() < verdict.differences.size();
  return is_other ? verdict.claim.why : "";
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

std::string Quote(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string CsvLine(const Row& row) {
  std::string line;
  for (const std::string& field : row) line += (line.empty() ? "" : ",") + Quote(field);
  return line + "\r\n";
}

std::string Number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

Row CsvRow(const Summary& summary, const CellSummary& cell) {
  const Definition& d = summary.definition;
  const std::optional<MeanDeviation> here = FigureOf(summary, cell);
  Row row = {d.name, DataLabel(summary), summary.data.is_stand_in ? "yes" : "no",
             summary.is_quick ? "quick" : "full"};
  for (const Assignment& value : cell.cell.at) row.push_back(value.value);
  row.push_back(std::to_string(cell.runs));
  row.push_back(here ? Number(here->mean) : "");
  row.push_back(here && here->count > 1 ? Number(here->deviation) : "");
  row.push_back(cell.cell.paper ? Number(cell.cell.paper->mean) : "");
  row.push_back(cell.cell.paper ? Number(cell.cell.paper->deviation) : "");
  for (const std::string& column : d.columns) {
    const auto found = cell.figures.find(column);
    row.push_back(found == cell.figures.end() ? "" : Number(found->second.mean));
  }
  row.push_back(cell.command);
  return row;
}

Json FiguresToJson(const std::map<std::string, MeanDeviation>& figures) {
  Json json = Json::object();
  for (const auto& [name, value] : figures) {
    json[name] = {{"mean", value.mean},
                  {"deviation", value.count < 2 ? Json(nullptr) : Json(value.deviation)},
                  {"runs", value.count}};
  }
  return json;
}

Json AtToJson(const Assignments& at) {
  Json json = Json::object();
  for (const Assignment& value : at) json[value.name] = value.value;
  return json;
}

Json CellToJson(const CellSummary& cell) {
  Json json = {{"at", AtToJson(cell.cell.at)}, {"runs", cell.runs}};
  json["figures"] = FiguresToJson(cell.figures);
  json["paper"] = nullptr;
  if (cell.cell.paper) {
    json["paper"] = {{"mean", cell.cell.paper->mean}, {"deviation", nullptr}};
    if (cell.cell.paper->deviation) json["paper"]["deviation"] = *cell.cell.paper->deviation;
  }
  json["series"] = cell.series;
  json["notes"] = cell.notes;
  json["settings"] = cell.cell.settings;
  json["command"] = cell.command.empty() ? Json(nullptr) : Json(cell.command);
  return json;
}

Json DifferenceToJson(const Difference& difference) {
  const MeanDeviation& here = difference.here;
  return {{"at", AtToJson(difference.at)},
          {"mean", here.mean},
          {"standard_error", here.count < 2 ? Json(nullptr) : Json(here.standard_error())},
          {"paper", difference.paper ? Json(*difference.paper) : Json(nullptr)},
          {"seen", Name(difference.seen)},
          {"agrees", difference.agrees}};
}

Json VerdictToJson(const ClaimVerdict& verdict) {
  Json json = {{"claim", verdict.claim.text},
               {"by", verdict.claim.by},
               {"expected", Name(verdict.claim.expected)},
               {"verdict", verdict.text()},
               {"why", Why(verdict)}};
  json["differences"] = Json::array();
  for (const Difference& difference : verdict.differences) {
    json["differences"].push_back(DifferenceToJson(difference));
  }
  return json;
}

}  // namespace

std::string DataLabel(const Summary& summary) {
  if (!summary.data.is_stand_in) return summary.data.label;
  return fmt::format("{}, stand-in for {}", summary.data.label, summary.definition.data);
}

std::string ResultText(const Summary& summary) {
  const Definition& d = summary.definition;
  std::string text = fmt::format("{}: {}\n", d.name, d.title);
  text += Plain(Head(summary)) + "\n" + Plain(CellTable(summary));
  for (const ClaimVerdict& verdict : Shown(summary)) {
    text += fmt::format("\n{}\n", VerdictHead(verdict));
    text += Plain(DifferenceTable(summary, verdict));
    if (!Why(verdict).empty()) text += fmt::format("  why: {}\n", Why(verdict));
  }
  for (const std::string& note : CellNotes(summary)) text += fmt::format("\nnote: {}\n", note);
  if (!d.notes.empty()) text += "\nwhat the paper leaves open, and what was chosen:\n";
  for (const std::string& note : d.notes) text += fmt::format("  - {}\n", note);
  return text;
}

std::string ResultMarkdown(const Summary& summary) {
  const Definition& d = summary.definition;
  std::string text = fmt::format("### `{}`: {}\n\n", d.name, d.title);
  for (const Row& row : Head(summary)) text += fmt::format("- **{}**: {}\n", row[0], row[1]);
  text += "\n" + Markdown(CellTable(summary));
  for (const ClaimVerdict& verdict : Shown(summary)) {
    text += fmt::format("\n**{}**\n\n", VerdictHead(verdict));
    text += Markdown(DifferenceTable(summary, verdict));
    if (!Why(verdict).empty()) text += fmt::format("\nWhy: {}\n", Why(verdict));
  }
  text += d.notes.empty() ? "" : "\n";
  for (const std::string& note : d.notes) text += fmt::format("- {}\n", note);
  return text;
}

std::string ExperimentsTable(const std::vector<Definition>& definitions) {
  Table table = {{"experiment", "what it repeats", "runs, quick", "the paper's data"}};
  for (const Definition& d : definitions) {
    size_t cells = 1;
    size_t quick = 1;
    for (const Axis& axis : d.axes) {
      cells *= axis.values.size();
      quick *= ValuesOf(axis, true).size();
    }
    table.push_back({fmt::format("`{}`", d.name), fmt::format("{}: {}", d.paper, d.title),
                     fmt::format("{}, {}", cells * d.seeds, quick * d.quick_seeds),
                     d.choices.empty() ? "none needed" : d.data});
  }
  return Markdown(table);
}

std::string ResultCsv(const Summary& summary) {
  const Definition& d = summary.definition;
  Row header = {"experiment", "data", "stand_in", "size"};
  for (const Axis& axis : d.axes) header.push_back(axis.name);
  for (const char* name : {"runs", "mean", "deviation", "paper_mean", "paper_deviation"}) {
    header.emplace_back(name);
  }
  for (const std::string& column : d.columns) header.push_back("also_" + column);
  header.emplace_back("command");
  std::string csv = CsvLine(header);
  for (const CellSummary& cell : summary.cells) csv += CsvLine(CsvRow(summary, cell));
  return csv;
}

Json ResultJson(const Summary& summary) {
  const Definition& d = summary.definition;
  Json json = {{"experiment", d.name},
               {"title", d.title},
               {"paper", d.paper},
               {"claim", d.claim},
               {"paper_data", d.data},
               {"data", DataLabel(summary)},
               {"stand_in", summary.data.is_stand_in},
               {"asked_for", summary.data.advice},
               {"quick", summary.is_quick},
               {"figure", d.figure},
               {"scale", d.scale},
               {"runs", summary.runs},
               {"runs_missing", summary.runs_missing}};
  const WithinPaper within = CountWithin(summary);
  json["within_paper"] = {{"within", within.within}, {"of", within.of}};
  json["cells"] = Json::array();
  for (const CellSummary& cell : summary.cells) json["cells"].push_back(CellToJson(cell));
  json["verdicts"] = Json::array();
  for (const ClaimVerdict& verdict : summary.verdicts) {
    json["verdicts"].push_back(VerdictToJson(verdict));
  }
  json["notes"] = d.notes;
  json["sotto_version"] = kVersion;
  return json;
}

}  // namespace sotto::server
