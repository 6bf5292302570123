#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiment/result_files.h"
#include "sotto/version.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

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
               {"paper", d.source},
               {"claim", d.conclusion},
               {"paper_data", d.dataset},
               {"data", DataLabel(summary)},
               {"stand_in", summary.data.is_stand_in},
               {"asked_for", summary.data.advice},
               {"quick", summary.is_quick},
               {"only", summary.only},
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
