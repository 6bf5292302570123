#include "experiment/coverage.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "base/built_in.h"
#include "base/json_text.h"
#include "experiment/cost.h"
#include "experiment/table.h"
#include "sotto/options/numbers.h"
#include "sotto/options/toml.h"

namespace sotto::server {
namespace {

using posix::Setting;

constexpr char kFile[] = "coverage/coverage.toml";

// The members of one kind of table, by their keys.
using Texts = std::map<std::string, std::string*>;
using Lists = std::map<std::string, std::vector<std::string>*>;

[[noreturn]] void RefuseKey(const Setting& setting) {
  throw std::invalid_argument(
      fmt::format("[[{}]] has no key {}", setting.section.front(), setting.key));
}

void ReadText(const Setting& setting, const Texts& keys) {
  const auto key = keys.find(setting.key);
  if (key == keys.end()) RefuseKey(setting);
  if (!setting.is_one()) throw std::invalid_argument(setting.key + ": expected one text");
  *key->second = setting.value;
}

void ReadPaper(const Setting& setting, CoveredPaper* paper) {
  if (setting.key != "tables" && setting.key != "figures") {
    return ReadText(setting, {{"key", &paper->key}, {"title", &paper->title}});
  }
  const std::optional<uint64_t> count = posix::ParseCount(setting.value);
  if (!count) throw std::invalid_argument(setting.key + ": expected a count");
  (setting.key == "tables" ? paper->tables : paper->figures) = *count;
}

void ReadItem(const Setting& setting, CoveredItem* item) {
  if (setting.key == "experiments" && setting.kind == Setting::Kind::kTexts) {
    item->experiments = setting.items;
    return;
  }
  ReadText(setting, {{"paper", &item->paper},
                     {"name", &item->name},
                     {"what", &item->what},
                     {"reason", &item->reason},
                     {"open", &item->open}});
}

void ReadBeside(const Setting& setting, ExperimentBeside* beside) {
  ReadText(setting, {{"experiment", &beside->experiment}, {"what", &beside->what}});
}

template <class T>
void AddEntry(const Setting& setting, std::vector<T>* entries, void (*read)(const Setting&, T*)) {
  if (setting.kind == Setting::Kind::kEntry) {
    entries->emplace_back();
  } else {
    read(setting, &entries->back());
  }
}

void AddCoverage(const Setting& setting, Coverage* coverage) {
  const std::string section = setting.section.empty() ? "" : setting.section.front();
  if (section == "paper") return AddEntry(setting, &coverage->papers, ReadPaper);
  if (section == "item") return AddEntry(setting, &coverage->items, ReadItem);
  if (section == "beside") return AddEntry(setting, &coverage->beside, ReadBeside);
  throw std::invalid_argument(
      fmt::format("[[{}]]: the list has [[paper]], [[item]] and [[beside]]", section));
}

// "Figure 4" of "Figure 4 (b)".
std::string WholeOf(const std::string& name) { return name.substr(0, name.find(" (")); }

bool IsTable(const std::string& name) { return name.rfind("Table ", 0) == 0; }
bool IsFigure(const std::string& name) { return name.rfind("Figure ", 0) == 0; }

bool IsCovered(const CoveredItem& item) {
  return !item.experiments.empty() || !item.reason.empty();
}

// The names of a paper's tables or figures, panels taken together.
std::set<std::string> WholesOf(const Coverage& coverage, const std::string& paper,
                               bool (*is_kind)(const std::string&)) {
  std::set<std::string> wholes;
  for (const CoveredItem& item : coverage.items) {
    if (item.paper == paper && is_kind(item.name)) wholes.insert(WholeOf(item.name));
  }
  return wholes;
}

void CheckCount(const Coverage& coverage, const CoveredPaper& paper, const char* kind,
                bool (*is_kind)(const std::string&), uint64_t stated,
                std::vector<std::string>* faults) {
  const size_t there = WholesOf(coverage, paper.key, is_kind).size();
  if (there == stated) return;
  faults->push_back(
      fmt::format("{}: the paper has {} {}, the list {}", paper.key, stated, kind, there));
}

void CheckItem(const Coverage& coverage, const CoveredItem& item,
               std::vector<std::string>* faults) {
  const std::string place = item.paper + ", " + item.name;
  const auto same = [&](const CoveredItem& other) {
    return other.paper == item.paper && other.name == item.name;
  };
  if (std::count_if(coverage.items.begin(), coverage.items.end(), same) > 1) {
    faults->push_back(place + ": there are two rows");
  }
  const bool is_paper =
      std::any_of(coverage.papers.begin(), coverage.papers.end(),
                  [&](const CoveredPaper& paper) { return paper.key == item.paper; });
  if (!is_paper) faults->push_back(place + ": there is no such paper");
  if (!IsTable(item.name) && !IsFigure(item.name)) {
    faults->push_back(place + ": neither a table nor a figure");
  }
  if (item.what.empty()) faults->push_back(place + ": it does not say what it shows");
  if (!item.experiments.empty() && !item.reason.empty()) {
    faults->push_back(place + ": an experiment, and a reason why there is none");
  }
  if (!IsCovered(item) && item.open.empty()) {
    faults->push_back(place + ": no experiment, no reason, and not said to be open");
  }
}

std::set<std::string> NamedExperiments(const Coverage& coverage) {
  std::set<std::string> named;
  for (const CoveredItem& item : coverage.items) {
    named.insert(item.experiments.begin(), item.experiments.end());
  }
  for (const ExperimentBeside& beside : coverage.beside) named.insert(beside.experiment);
  return named;
}

void CheckExperiments(const Coverage& coverage, const std::vector<Definition>& experiments,
                      std::vector<std::string>* faults) {
  const std::set<std::string> named = NamedExperiments(coverage);
  std::set<std::string> there;
  for (const Definition& experiment : experiments) there.insert(experiment.name);
  for (const std::string& name : named) {
    if (there.count(name) == 0) faults->push_back(name + ": there is no such experiment");
  }
  for (const std::string& name : there) {
    if (named.count(name) == 0) faults->push_back(name + ": no row names this experiment");
  }
}

// 0: nothing, 1: a reason, 2: an experiment.
int RankOf(const CoveredItem& item) {
  return !item.experiments.empty() ? 2 : item.reason.empty() ? 0 : 1;
}

std::string EntryText(const CoveredItem& item) {
  std::string text = fmt::format("{}", fmt::join(item.experiments, ", "));
  if (!item.reason.empty()) text = "none: " + item.reason;
  if (!IsCovered(item)) text = "nothing yet: " + item.open;
  if (IsCovered(item) && !item.open.empty()) text += "; open: " + item.open;
  return text;
}

std::string CountsText(const CoveredCounts& counts) {
  return fmt::format("{} by an experiment, {} have a reason why not, {} open",
                     counts.with_experiment, counts.with_reason, counts.with_nothing);
}

// The core hours of `work` multiply-accumulates.
std::string WorkText(double work) {
  return work < 0 ? "unknown" : CoreHoursText(CoreHoursOf(work));
}

std::string Joined(const std::vector<std::string>& names, const char* between,
                   const std::function<std::string(const std::string&)>& text) {
  std::vector<std::string> texts;
  for (const std::string& name : names) texts.push_back(text(name));
  return fmt::format("{}", fmt::join(texts, between));
}

std::string SummaryMarkdown(const Coverage& coverage) {
  Table table = {{"paper", "tables and figures", "repeated by an experiment", "a reason why not",
                  "nothing yet"}};
  for (const CoveredPaper& paper : coverage.papers) {
    const CoveredCounts counts = CountCovered(coverage, paper);
    table.push_back({paper.title, std::to_string(paper.tables + paper.figures),
                     std::to_string(counts.with_experiment), std::to_string(counts.with_reason),
                     std::to_string(counts.with_nothing)});
  }
  return MarkdownTable(table);
}

Row ItemRow(const CoveredItem& item, const std::map<std::string, double>& work,
            const VerdictOf& verdict) {
  const auto code = [](const std::string& name) { return "`" + name + "`"; };
  const auto hours = [&](const std::string& name) {
    const auto found = work.find(name);
    return found == work.end() ? std::string("-") : WorkText(found->second);
  };
  std::string entry = Joined(item.experiments, ", ", code);
  if (!item.reason.empty()) entry = "none: " + item.reason;
  if (!IsCovered(item)) entry = "**nothing yet**";
  if (!item.open.empty()) entry += "; open: " + item.open;
  Row row = {item.name, item.what, entry, Joined(item.experiments, "; ", hours)};
  if (verdict) row.push_back(Joined(item.experiments, "; ", verdict));
  return row;
}

std::string PaperMarkdown(const Coverage& coverage, const CoveredPaper& paper,
                          const std::map<std::string, double>& work, const VerdictOf& verdict) {
  Table table = {{"item", "what it shows", "repeated by", "core hours, computed"}};
  if (verdict) table.front().emplace_back("verdict");
  for (const CoveredItem& item : coverage.items) {
    if (item.paper == paper.key) table.push_back(ItemRow(item, work, verdict));
  }
  return fmt::format("\n## {}\n\n{}", paper.title, MarkdownTable(table));
}

// The results of an experiment in this folder; null: there are none.
nlohmann::ordered_json ResultsIn(const std::filesystem::path& folder) {
  std::ifstream file(folder / "results.json");
  if (!file) return nullptr;
  return TryParseJson(std::string(std::istreambuf_iterator<char>(file), {}));
}

// "agrees 2, differs 1, open 1; stand-in, quick"
std::string VerdictText(const nlohmann::ordered_json& results) {
  std::map<std::string, size_t> counts;
  for (const auto& verdict : results.value("verdicts", nlohmann::ordered_json::array())) {
    const std::string text = verdict.value("verdict", "");
    if (text == "no runs") continue;  // of cells that were not run
    ++counts[text.substr(0, text.find_first_of(" :;"))];
  }
  std::vector<std::string> texts;
  for (const auto& [seen, count] : counts) texts.push_back(fmt::format("{} {}", seen, count));
  const char* const so_far = results.value("runs_missing", 0) > 0 ? "so far: " : "";
  std::string text = fmt::format("{}{}", so_far, fmt::join(texts, ", "));
  if (results.value("stand_in", false)) text += "; stand-in";
  if (results.value("quick", false)) text += "; quick";
  return text;
}

}  // namespace

Coverage ParseCoverage(const std::string& path, const std::string& text) {
  Coverage coverage;
  int line = 1;
  try {
    for (const Setting& setting : posix::ParseToml(text, posix::TomlArrays::kTaken)) {
      line = setting.line;
      AddCoverage(setting, &coverage);
    }
  } catch (const posix::TomlError& error) {
    throw std::invalid_argument(error.In(path));
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("{}:{}: {}", path, line, error.what()));
  }
  return coverage;
}

Coverage BuiltInCoverage() { return ParseCoverage(kFile, BuiltInText(kFile)); }

std::vector<std::string> FaultsOf(const Coverage& coverage,
                                  const std::vector<Definition>& experiments) {
  std::vector<std::string> faults;
  for (const CoveredPaper& paper : coverage.papers) {
    CheckCount(coverage, paper, "tables", IsTable, paper.tables, &faults);
    CheckCount(coverage, paper, "figures", IsFigure, paper.figures, &faults);
  }
  for (const CoveredItem& item : coverage.items) CheckItem(coverage, item, &faults);
  CheckExperiments(coverage, experiments, &faults);
  return faults;
}

CoveredCounts CountCovered(const Coverage& coverage, const CoveredPaper& paper) {
  std::map<std::string, int> ranks;
  for (const CoveredItem& item : coverage.items) {
    if (item.paper != paper.key) continue;
    const auto [rank, is_new] = ranks.emplace(WholeOf(item.name), RankOf(item));
    if (!is_new) rank->second = std::min(rank->second, RankOf(item));
  }
  CoveredCounts counts;
  for (const auto& [name, rank] : ranks) {
    ++(rank == 2 ? counts.with_experiment : rank == 1 ? counts.with_reason : counts.with_nothing);
  }
  return counts;
}

VerdictOf VerdictsIn(const std::string& folder) {
  return [folder](const std::string& experiment) {
    for (const char* size : {"", "-quick"}) {
      const auto results = ResultsIn(std::filesystem::path(folder) / (experiment + size));
      if (results.is_object()) return VerdictText(results);
    }
    return std::string(kNotRun);
  };
}

std::string CoverageText(const Coverage& coverage, const VerdictOf& verdict) {
  std::string text;
  for (const CoveredPaper& paper : coverage.papers) {
    text += fmt::format("{}{}\n  {}\n", text.empty() ? "" : "\n", paper.title,
                        CountsText(CountCovered(coverage, paper)));
    for (const CoveredItem& item : coverage.items) {
      if (item.paper != paper.key) continue;
      text += fmt::format("  {:<21}{}\n", item.name, EntryText(item));
      for (const std::string& name : item.experiments) {
        const std::string seen = verdict ? verdict(name) : kNotRun;
        if (seen != kNotRun) text += fmt::format("  {:<21}  {}: {}\n", "", name, seen);
      }
    }
  }
  text += "\nbeside the papers' tables and figures\n";
  for (const ExperimentBeside& beside : coverage.beside) {
    text += fmt::format("  {}: {}\n", beside.experiment, beside.what);
  }
  return text;
}

std::string CoverageMarkdown(const Coverage& coverage, const std::vector<Definition>& experiments,
                             const VerdictOf& verdict) {
  std::map<std::string, double> work;
  for (const Definition& d : experiments) work[d.name] = MultiplyAccumulatesOf(d);
  std::string text = SummaryMarkdown(coverage);
  for (const CoveredPaper& paper : coverage.papers) {
    text += PaperMarkdown(coverage, paper, work, verdict);
  }
  Table beside = {{"experiment", "what it shows"}};
  for (const ExperimentBeside& each : coverage.beside) {
    beside.push_back({"`" + each.experiment + "`", each.what});
  }
  return text + "\n## Beside them\n\n" + MarkdownTable(beside);
}

}  // namespace sotto::server
