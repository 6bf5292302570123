#include "experiment/origins.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiment/grid.h"

namespace sotto::server {
namespace {

constexpr size_t kMostShown = 8;

// Its different values in the cells, in their order.
std::string ValuesIn(const std::vector<Settings>& cells, const std::string& option) {
  std::vector<std::string> values;
  for (const Settings& cell : cells) {
    const auto found = cell.find(option);
    const std::string value = found == cell.end() ? "not set" : found->second;
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  const size_t count = values.size();
  if (count > kMostShown) {
    values = {values.front(), "...", values.back(), fmt::format("{} values", count)};
  }
  return fmt::format("{}", fmt::join(values, ", "));
}

std::string DeciderText(Decider decider) {
  switch (decider) {
    case Decider::kPaper:
      return "the paper";
    case Decider::kOpen:
      return "open in the paper";
    case Decider::kOurs:
      return "ours";
  }
  return "";
}

// A text may go on with another decider: "paper: 0.1; ours: 0.5 in the other form".
std::string DecidersText(const Origin& origin) {
  std::string text = DeciderText(origin.decider);
  for (const Decider other : {Decider::kOpen, Decider::kOurs}) {
    const bool is_there = origin.text.find(fmt::format("; {}: ", Name(other))) != std::string::npos;
    if (is_there && other != origin.decider) text += ", and " + DeciderText(other);
  }
  return text;
}

// The options of all cells, those with an origin first.
std::vector<std::string> OptionsOf(const Definition& d, const std::vector<Settings>& cells) {
  std::vector<std::string> options;
  const auto add = [&](const std::string& name) {
    if (std::find(options.begin(), options.end(), name) == options.end()) options.push_back(name);
  };
  for (const Origin& origin : d.origins) add(origin.option);
  for (const Settings& cell : cells) {
    for (const auto& [name, value] : cell) add(name);
  }
  return options;
}

// The data that the experiment names first.
ChosenData FirstData(const Definition& d) {
  ChosenData data;
  if (d.choices.empty()) return data;
  const DataChoice& first = d.choices.front();
  data.label = first.label;
  data.is_stand_in = first.is_stand_in;
  data.settings["data"] = first.set.empty() ? "DIR/" + first.path : first.set;
  for (const Assignment& option : first.options) data.settings[option.name] = option.value;
  return data;
}

std::vector<Settings> CellsOn(const Definition& d, const ChosenData& data) {
  std::vector<Settings> settings;
  for (const Cell& cell : MakeCells(d, {}, data)) settings.push_back(cell.settings);
  return settings;
}

bool IsOfQuick(const Definition& d, const std::string& option) {
  const auto sets = [&](const OptionRule& rule) {
    return rule.only == "quick" && Find(rule.options, option) != nullptr;
  };
  return Find(d.quick_options, option) != nullptr ||
         std::any_of(d.rules.begin(), d.rules.end(), sets);
}

// "decided by" and "where, or why"
Row DecidedBy(const Definition& d, const ChosenData& data, bool is_quick,
              const std::string& option) {
  if (is_quick && IsOfQuick(d, option)) return {DeciderText(Decider::kOurs), "of --quick"};
  if (data.is_stand_in && data.settings.count(option) > 0) {
    return {DeciderText(Decider::kOurs), "of the stand-in"};
  }
  const Origin* origin = FindOrigin(d, option);
  if (origin == nullptr) return {"not stated", ""};
  return {DecidersText(*origin), origin->text};
}

}  // namespace

Table SettingsTable(const Definition& definition, const ChosenData& data, bool is_quick,
                    const std::vector<Settings>& cells) {
  Table table = {{"option", "here", "decided by", "where, or why"}};
  for (const std::string& option : OptionsOf(definition, cells)) {
    const bool is_used = std::any_of(cells.begin(), cells.end(),
                                     [&](const Settings& cell) { return cell.count(option) > 0; });
    if (!is_used) continue;  // of another size or data set
    const Row decided = DecidedBy(definition, data, is_quick, option);
    table.push_back({option, ValuesIn(cells, option), decided[0], decided[1]});
  }
  return table;
}

std::string SettingsPage(const std::vector<Definition>& definitions) {
  std::string page =
      "# What the papers fix of each experiment\n\n"
      "For readers of a result. This page says of each option of each experiment who decides it: "
      "the\n"
      "paper; this project, where the paper leaves it open; or this project against the paper or\n"
      "beside it. `sotto-lab experiment settings --markdown` prints it, and a test compares.\n";
  for (const Definition& d : definitions) {
    const ChosenData data = FirstData(d);
    page += fmt::format("\n## `{}`\n\n{}: {}\n\n{}", d.name, d.source, d.title,
                        MarkdownTable(SettingsTable(d, data, false, CellsOn(d, data))));
  }
  return page;
}

}  // namespace sotto::server
