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
  row.push_back(cell.has_learned_nothing ? "yes" : "no");
  row.push_back(cell.against ? Number(cell.against->half_width) : "");
  row.push_back(!cell.against ? "" : cell.against->differs ? "yes" : "no");
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

Json AgainstToJson(const AgainstPaper& against) {
  Json json = {{"difference", against.difference}, {"is_exact", against.is_exact}};
  json["half_width"] = against.is_exact ? Json(nullptr) : Json(against.half_width);
  json["freedom"] = against.is_exact ? Json(nullptr) : Json(against.freedom);
  json["p"] = against.p;
  json["p_holm"] = against.p_holm;
  json["differs"] = against.differs;
  json["assumed"] = against.assumed;
  return json;
}

Json CellToJson(const CellSummary& cell) {
  Json json = {{"at", AtToJson(cell.cell.at)}, {"runs", cell.runs}, {"keys", cell.keys}};
  json["figures"] = FiguresToJson(cell.figures);
  json["paper"] = nullptr;
  if (cell.cell.paper) {
    json["paper"] = {{"mean", cell.cell.paper->mean}, {"deviation", nullptr}};
    if (cell.cell.paper->deviation) json["paper"]["deviation"] = *cell.cell.paper->deviation;
  }
  json["against_paper"] = cell.against ? AgainstToJson(*cell.against) : Json(nullptr);
  json["learned_nothing"] = cell.has_learned_nothing;
  json["series"] = cell.series;
  json["series_deviations"] = cell.spreads;
  json["notes"] = cell.notes;
  json["settings"] = cell.cell.settings;
  json["command"] = cell.command.empty() ? Json(nullptr) : Json(cell.command);
  return json;
}

Json SeedsToJson(const std::optional<size_t>& seeds) {
  return seeds ? Json(*seeds) : Json(nullptr);
}

Json DifferenceToJson(const Difference& d, double within) {
  const MeanDeviation& here = d.here;
  Json json = {{"at", AtToJson(d.at)},
               {"pairs", here.count},
               {"mean", here.mean},
               {"deviation", here.count < 2 ? Json(nullptr) : Json(here.deviation)},
               {"standard_error", here.count < 2 ? Json(nullptr) : Json(here.standard_error())},
               {"paper", d.paper ? Json(*d.paper) : Json(nullptr)},
               {"seen", d.Seen(within)},
               {"as_expected", Name(d.agrees)}};
  if (!d.is_decided) json["why_open"] = d.why_open;
  if (!d.is_decided && here.count < 2) return json;
  json["interval_95"] = {d.at_95.lower, d.at_95.upper};
  json["interval_90"] = {d.at_90.lower, d.at_90.upper};
  json["different"] = d.is_decided ? Json(d.is_different) : Json(nullptr);
  json["equal"] = d.is_decided && within > 0 ? Json(d.is_equal) : Json(nullptr);
  json["p_different"] = d.p_different;
  json["p_equal"] = within > 0 ? Json(d.p_equal) : Json(nullptr);
  json["p_beyond"] = within > 0 ? Json(d.p_beyond) : Json(nullptr);
  json["p_contradicts"] = d.p_contradicts;
  json["p_holm"] = d.p_holm;
  json["seeds_to_differ"] = SeedsToJson(d.seeds_to_differ);
  json["seeds_to_be_equal"] = SeedsToJson(d.seeds_to_be_equal);
  return json;
}

Json VerdictToJson(const ClaimVerdict& verdict) {
  const Comparison& claim = verdict.claim;
  const double within = claim.within;
  Json json = {{"claim", claim.text},
               {"by", claim.by},
               {"at", AtToJson(claim.at)},
               {"except", AtToJson(claim.except)},
               {"cells", AtToJson(claim.cells)},
               {"than", claim.value ? Json(nullptr) : AtToJson(claim.than)},
               {"value", claim.value ? Json(*claim.value) : Json(nullptr)},
               {"figure", claim.figure.empty() ? Json(nullptr) : Json(claim.figure)},
               {"expected", Name(claim.expected)},
               {"within", within > 0 ? Json(within) : Json(nullptr)},
               {"within_why", claim.within_why},
               {"verdict", verdict.text()},
               {"rows_without_figure", verdict.without_figure},
               {"why", Why(verdict)}};
  json["differences"] = Json::array();
  for (const Difference& difference : verdict.differences) {
    json["differences"].push_back(DifferenceToJson(difference, within));
  }
  return json;
}

Json SettingsToJson(const Definition& d) {
  Json json = Json::object();
  for (const Origin& origin : d.origins) {
    json[origin.option] = {{"decided_by", Name(origin.decider)}, {"text", origin.text}};
  }
  return json;
}

}  // namespace

std::string ResultCsv(const Summary& summary) {
  const Definition& d = summary.definition;
  Row header = {"experiment", "data", "stand_in", "size"};
  for (const Axis& axis : d.axes) header.push_back(axis.name);
  for (const char* name : {"runs", "mean", "deviation", "paper_mean", "paper_deviation",
                           "learned_nothing", "prediction_half_width", "differs"}) {
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
  json["seeds"] = summary.seeds;
  json["seeds_fixed"] = summary.fixed_seeds();
  json["paper_runs"] = d.paper_runs ? Json(*d.paper_runs) : Json(nullptr);
  const PaperCount count = CountAgainstPaper(summary);
  json["beside_paper"] = nullptr;
  if (summary.compares() && count.cells > 0) {
    json["beside_paper"] = {{"cells", count.cells},
                            {"differ", count.differ},
                            {"differ_after_holm", count.differ_adjusted},
                            {"is_exact", count.is_exact}};
  }
  json["cells"] = Json::array();
  for (const CellSummary& cell : summary.cells) json["cells"].push_back(CellToJson(cell));
  json["verdicts"] = Json::array();
  for (const ClaimVerdict& verdict : summary.verdicts) {
    json["verdicts"].push_back(VerdictToJson(verdict));
  }
  json["notes"] = d.notes;
  json["settings"] = SettingsToJson(d);
  json["sotto_version"] = kVersion;
  return json;
}

}  // namespace sotto::server
