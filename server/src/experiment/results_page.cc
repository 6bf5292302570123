#include "experiment/results_page.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/json_text.h"
#include "experiment/cost.h"
#include "experiment/run_kinds.h"
#include "experiment/run_log.h"
#include "experiment/table.h"
#include "sotto/version.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

// What a folder of results has.
struct FolderResults {
  std::string path;
  Json results;                      // results.json
  std::optional<double> core_hours;  // of its runs; absent: not measured
};

constexpr char kHead[] =
    "# What came out\n\n"
    "For readers who look for a table or a figure of a paper. Each row is an experiment on one "
    "data\n"
    "set, with the verdict on each of its claims; [EXPERIMENTS.md](../EXPERIMENTS.md) says what "
    "the\n"
    "words mean and how they follow from the runs. `sotto-lab experiment results FOLDER...` "
    "writes\n"
    "this page from folders of results. The whole report of a row is `report.html` in the folder "
    "that\n"
    "`sotto-lab experiment NAME` writes. Core hours are measured: the processor time of all its "
    "runs.\nOf a row whose runs are not all there, the verdicts are so far. The first table counts "
    "the whole\nones alone: no part, no quick run, no other number of seeds.\n\n";

// A text as a cell of a table.
std::string AsCell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
    text.insert(at, 1, '\\');
  }
  return text;
}

bool HasMissingRuns(const Json& results) { return results.at("runs_missing").get<uint64_t>() > 0; }

// The whole experiment in its full size.
bool IsWhole(const Json& results) {
  return !HasMissingRuns(results) && !results.at("quick").get<bool>() &&
         results.at("only").empty() && results.at("seeds") == results.at("seeds_fixed");
}

std::string Verdicts(const Json& results) {
  const char* const so_far = HasMissingRuns(results) ? "so far: " : "";
  std::vector<std::string> lines;
  for (const Json& verdict : results.at("verdicts")) {
    const std::string text = verdict.at("verdict").get<std::string>();
    if (text == "no runs") continue;  // of cells that were not run
    const std::string by = verdict.at("by").get<std::string>();
    lines.push_back(fmt::format("**{}{}**: {}{}", so_far, text,
                                verdict.at("claim").get<std::string>(),
                                by.empty() || by == "paper" ? "" : " (" + by + ")"));
  }
  return AsCell(fmt::format("{}", fmt::join(lines, "<br>")));
}

std::string BesidePaper(const Json& results) {
  const Json& beside = results.at("beside_paper");
  if (beside.is_null()) return "-";
  const auto cells = beside.at("cells").get<uint64_t>();
  const auto differ = beside.at("differ").get<uint64_t>();
  if (beside.at("is_exact").get<bool>()) {
    return fmt::format("{} of {} have its digits", cells - differ, Counted(cells, "cell"));
  }
  return fmt::format("{} of {} differ, {} after Holm's adjustment", differ, Counted(cells, "cell"),
                     beside.at("differ_after_holm").get<uint64_t>());
}

std::string RunsText(const Json& results) {
  std::string text =
      fmt::format("{}, {} a cell", Counted(results.at("runs").get<uint64_t>(), "run"),
                  results.at("seeds").get<uint64_t>());
  if (results.at("quick").get<bool>()) text += ", quick";
  if (results.at("seeds") != results.at("seeds_fixed")) text += ", a look: other seeds than fixed";
  for (const Json& only : results.at("only")) text += ", " + only.get<std::string>();
  const auto missing = results.at("runs_missing").get<uint64_t>();
  if (missing > 0) text += fmt::format(", {} missing", missing);
  return AsCell(text);
}

Row RowOf(const FolderResults& folder) {
  const Json& results = folder.results;
  return {fmt::format("`{}`", results.at("experiment").get<std::string>()),
          AsCell(results.at("paper").get<std::string>()),
          AsCell(results.at("data").get<std::string>()),
          RunsText(results),
          folder.core_hours ? CoreHoursText(*folder.core_hours) : "-",
          BesidePaper(results),
          Verdicts(results),
          results.at("sotto_version").get<std::string>()};
}

Row RowWithout(const Definition& d) {
  return {fmt::format("`{}`", d.name),
          AsCell(d.source),
          "-",
          "-",
          "-",
          "-",
          fmt::format("not run with {}", kVersion),
          "-"};
}

const Definition* FindDefinition(const std::vector<Definition>& definitions, const Json& results) {
  const auto found = std::find_if(definitions.begin(), definitions.end(), [&](const Definition& d) {
    return d.name == results.at("experiment");
  });
  return found == definitions.end() ? nullptr : &*found;
}

// Whose claims they are, what decides them, and how many agree, differ in a row or more, or are
// open: of this program's experiments that are whole.
std::string Counts(const std::vector<Definition>& definitions,
                   const std::vector<FolderResults>& results) {
  std::map<std::string, std::map<std::string, size_t>> counts;
  for (const FolderResults& folder : results) {
    const Definition* const definition = FindDefinition(definitions, folder.results);
    if (definition == nullptr || !IsWhole(folder.results)) continue;
    const bool is_computed = FindRunKind(definition->kind).one_run_decides;
    for (const Json& verdict : folder.results.at("verdicts")) {
      const std::string by = verdict.at("by");
      const char* whose = by.empty() || by == "paper" ? "a paper's" : "this project's";
      const std::string text = verdict.at("verdict");
      ++counts[fmt::format("{}, {}", whose, is_computed ? "of a formula" : "of trainings")]
              [text.substr(0, text.find_first_of(" :;"))];
    }
  }
  Table table = {{"claims", "agree", "differ in a row or more", "open"}};
  for (auto& [kind, found] : counts) {
    table.push_back({kind, std::to_string(found["agrees"]), std::to_string(found["differs"]),
                     std::to_string(found["open"])});
  }
  return MarkdownTable(table) + "\n";
}

FolderResults ResultsIn(const std::string& folder) {
  const std::string path = folder + "/results.json";
  std::ifstream file(path);
  if (!file) {
    throw std::invalid_argument(
        fmt::format("{}: it has no results.json; `sotto-lab experiment NAME` writes it", folder));
  }
  FolderResults found;
  found.path = folder;
  found.results = TryParseJson(std::string(std::istreambuf_iterator<char>(file), {}));
  if (!found.results.is_object()) {
    throw std::invalid_argument(path + ": it is no JSON; make it anew");
  }
  std::vector<std::string> keys;
  for (const Json& cell : found.results.value("cells", Json::array())) {
    for (const Json& key : cell.value("keys", Json::array())) keys.push_back(key);
  }
  found.core_hours = RunLogFile(folder + "/runs.jsonl").CoreHours(keys);
  return found;
}

}  // namespace

std::string ResultsPage(const std::vector<Definition>& definitions,
                        const std::vector<std::string>& folders) {
  std::vector<FolderResults> results;
  for (const std::string& folder : folders) results.push_back(ResultsIn(folder));
  Table table = {{"experiment", "repeats", "data", "runs", "core hours", "cells beside the paper",
                  "verdicts", "version"}};
  try {
    for (const Definition& d : definitions) {
      const size_t before = table.size();
      for (const FolderResults& one : results) {
        if (one.results.at("experiment") == d.name) table.push_back(RowOf(one));
      }
      if (table.size() == before) table.push_back(RowWithout(d));
    }
    for (const FolderResults& one : results) {  // of a definition that is somebody's own
      if (FindDefinition(definitions, one.results) == nullptr) table.push_back(RowOf(one));
    }
    return kHead + Counts(definitions, results) + MarkdownTable(table);
  } catch (const nlohmann::json::exception& error) {
    throw std::invalid_argument(
        fmt::format("a results.json is not as this program writes it ({}); give the experiment's "
                    "command again, which makes it anew from runs.jsonl",
                    error.what()));
  }
}

}  // namespace sotto::server
