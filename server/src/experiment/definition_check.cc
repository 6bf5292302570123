// What a definition must have; definition.h says it.
#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdexcept>

#include "experiment/definition.h"
#include "experiment/run_kinds.h"
#include "sotto/options/nearest.h"

namespace sotto::server {
namespace {

[[noreturn]] void Complain(const std::string& why) { throw std::invalid_argument(why); }

void RequireConditions(const Definition& d, const Assignments& conditions) {
  for (const Assignment& condition : conditions) {
    const Axis* axis = FindAxis(d, condition.name);
    if (axis == nullptr) {
      std::vector<std::string> names;
      for (const Axis& other : d.axes) names.push_back(other.name);
      Complain(
          fmt::format("{} is no axis{}", condition.name, posix::DidYouMean(condition.name, names)));
    }
    const std::vector<std::string>& values = axis->values;
    const std::vector<std::string>& quick = axis->quick_values;
    if (std::find(values.begin(), values.end(), condition.value) == values.end() &&
        std::find(quick.begin(), quick.end(), condition.value) == quick.end()) {
      Complain(fmt::format("the axis {} has no value {}", condition.name, condition.value));
    }
  }
}

void RequirePaperRow(const Definition& d, const PaperRow& row) {
  RequireConditions(d, row.at);
  size_t wanted = 1;
  if (!row.along.empty()) {
    const Axis* axis = FindAxis(d, row.along);
    if (axis == nullptr)
      Complain(fmt::format("[[paper]] along {}: there is no such axis", row.along));
    wanted = axis->values.size();
  }
  if (row.means.size() != wanted || (!row.deviations.empty() && row.deviations.size() != wanted)) {
    Complain(fmt::format("[[paper]] at {}: expected {} means and as many deviations, or none",
                         TextOf(row.at), wanted));
  }
}

void RequireClaim(const Definition& d, const Comparison& claim) {
  RequireConditions(d, claim.at);
  RequireConditions(d, claim.except);
  RequireConditions(d, claim.cells);
  RequireConditions(d, claim.than);
  if (claim.than.empty() != claim.value.has_value()) {
    Complain("a [[claim]] needs either than or value");
  }
  const bool is_bounded = claim.within > 0 && !claim.within_why.empty();
  if (claim.expected == Expectation::kEqual && !is_bounded) {
    Complain(fmt::format(
        "the [[claim]] \"{}\" expects equal: it needs within, the difference that counts as none, "
        "and within-why, the reason for it",
        claim.text));
  }
}

// A folder has this name, too.
void RequireName(const std::string& name) {
  const bool is_plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_';
  });
  if (!is_plain) Complain(fmt::format("name {}: expected letters, digits, - and _", name));
}

void RequireChart(const Definition& d) {
  const Chart& chart = d.chart;
  const bool is_series = !chart.x.empty() && FindAxis(d, chart.x) == nullptr;
  if (is_series && chart.y.empty()) {
    Complain(
        fmt::format("[chart] x = {} is no axis; if it is a series, such as round, give y, "
                    "another series, such as accuracy, or several",
                    chart.x));
  }
  if (!chart.panel.empty() && FindAxis(d, chart.panel) == nullptr) {
    Complain(fmt::format("[chart] panel = {}: there is no such axis", chart.panel));
  }
}

void RequireOneOf(const std::vector<std::string>& names, const std::string& where,
                  const std::string& name) {
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  Complain(fmt::format("{}: expected one of {}", where, fmt::join(names, ", ")));
}

// The names of figures and series, before the first run. A kind without a list is looked at behind
// its runs.
void RequireKnownFigures(const Definition& d) {
  const RunKind& kind = FindRunKind(d.kind);
  if (kind.figures.empty()) return;
  RequireOneOf(kind.figures, fmt::format("figure = {}", d.figure), d.figure);
  for (const std::string& name : d.columns) {
    RequireOneOf(kind.figures, fmt::format("columns: {}", name), name);
  }
  for (const Comparison& claim : d.comparisons) {
    if (claim.figure.empty()) continue;
    RequireOneOf(kind.figures,
                 fmt::format("the [[claim]] \"{}\": figure = {}", claim.text, claim.figure),
                 claim.figure);
  }
  std::vector<std::string> drawn = kind.figures;
  drawn.insert(drawn.end(), kind.series.begin(), kind.series.end());
  for (const std::string& name : d.chart.y) {
    RequireOneOf(drawn, fmt::format("[chart] y: {}", name), name);
  }
  if (!d.chart.x.empty() && FindAxis(d, d.chart.x) == nullptr) {
    RequireOneOf(kind.series, fmt::format("[chart] x = {} is no axis", d.chart.x), d.chart.x);
  }
}

}  // namespace

void RequireWhole(const Definition& d) {
  for (const auto& [key, value] : {std::pair("name", d.name), std::pair("title", d.title),
                                   std::pair("kind", d.kind), std::pair("figure", d.figure)}) {
    if (value.empty()) Complain(fmt::format("the key {} is missing", key));
  }
  RequireName(d.name);
  RequireChart(d);
  if (d.seeds == 0 || d.quick_seeds == 0) Complain("seeds: expected at least one");
  for (const Axis& axis : d.axes) {
    if (axis.name.empty() || axis.values.empty()) Complain("an [[axis]] needs a name and values");
    if (!axis.options.empty() && axis.options.size() != axis.values.size()) {
      Complain(fmt::format("the axis {} has {} values: expected as many texts of options, or none",
                           axis.name, axis.values.size()));
    }
  }
  for (const OptionRule& rule : d.rules) {
    RequireConditions(d, rule.at);
    if (!rule.only.empty() && rule.only != "full" && rule.only != "quick") {
      Complain(fmt::format("[[set]] only = {}: expected full or quick", rule.only));
    }
  }
  for (const PaperRow& row : d.paper_rows) RequirePaperRow(d, row);
  for (const Comparison& comparison : d.comparisons) RequireClaim(d, comparison);
  RequireKnownFigures(d);
  for (const DataChoice& choice : d.choices) {
    if (choice.name.empty() || choice.label.empty() || choice.path.empty() == choice.set.empty()) {
      Complain("a [[data]] needs a name, a label, and either path or set");
    }
  }
}

}  // namespace sotto::server
