#include "experiment/definition.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <stdexcept>

#include "base/names.h"
#include "sotto/options/nearest.h"
#include "sotto/options/numbers.h"
#include "sotto/options/toml.h"

namespace sotto::server {
namespace {

using posix::Setting;
using privacy::Named;

constexpr Named<Expectation> kExpectations[] = {{Expectation::kHigher, "higher"},
                                                {Expectation::kLower, "lower"},
                                                {Expectation::kEqual, "equal"},
                                                {Expectation::kOpen, "open"}};

// How values of a file become members.
[[noreturn]] void Refuse(const std::string& why) { throw std::invalid_argument(why); }

double RealOf(const std::string& text) {
  const std::optional<double> value = posix::ParseReal(text);
  if (!value) Refuse(fmt::format("'{}' is no number", text));
  return *value;
}

Assignment AssignmentOf(const std::string& text) {
  const size_t at = text.find('=');
  if (at == 0 || at == std::string::npos) {
    Refuse(fmt::format("'{}' is not NAME=VALUE, for example \"smoothing=1\"", text));
  }
  return {text.substr(0, at), text.substr(at + 1)};
}

std::string One(const Setting& setting) {
  if (!setting.is_one()) Refuse("expected one value");
  return setting.value;
}

const std::vector<std::string>& Many(const Setting& setting) {
  const bool is_many =
      setting.kind == Setting::Kind::kArray || setting.kind == Setting::Kind::kTexts;
  if (!is_many) Refuse("expected an array, such as [\"a\", \"b\"]");
  return setting.items;
}

void Read(const Setting& setting, std::string* out) { *out = One(setting); }
void Read(const Setting& setting, std::vector<std::string>* out) { *out = Many(setting); }
void Read(const Setting& setting, double* out) { *out = RealOf(One(setting)); }
void Read(const Setting& setting, std::optional<double>* out) { *out = RealOf(One(setting)); }
void Read(const Setting& setting, bool* out) {
  const std::string text = One(setting);
  if (text != "true" && text != "false") Refuse("expected true or false");
  *out = text == "true";
}
void Read(const Setting& setting, uint64_t* out) {
  const std::optional<uint64_t> value = posix::ParseCount(One(setting));
  if (!value) Refuse("expected a count, such as 5");
  *out = *value;
}
void Read(const Setting& setting, int* out) {
  uint64_t value = 0;
  Read(setting, &value);
  if (value > 9) Refuse("expected a number of decimals, 0 to 9");
  *out = static_cast<int>(value);
}
void Read(const Setting& setting, Assignments* out) {
  out->clear();
  for (const std::string& text : Many(setting)) out->push_back(AssignmentOf(text));
}
void Read(const Setting& setting, std::vector<double>* out) {
  out->clear();
  for (const std::string& text : Many(setting)) out->push_back(RealOf(text));
}
void Read(const Setting& setting, Expectation* out) {
  *out = privacy::ValueIn(kExpectations, "expected", One(setting));
}

// The keys of one kind of table.
template <class T>
using Keys = std::map<std::string, std::function<void(const Setting&, T&)>>;

template <class T, class Member>
std::function<void(const Setting&, T&)> Into(Member T::*member) {
  return [member](const Setting& setting, T& table) { Read(setting, &(table.*member)); };
}

const Keys<Definition>& RootKeys() {
  static const Keys<Definition> kKeys = {{"name", Into(&Definition::name)},
                                         {"title", Into(&Definition::title)},
                                         {"source", Into(&Definition::source)},
                                         {"conclusion", Into(&Definition::conclusion)},
                                         {"kind", Into(&Definition::kind)},
                                         {"figure", Into(&Definition::figure)},
                                         {"figure-text", Into(&Definition::figure_text)},
                                         {"columns", Into(&Definition::columns)},
                                         {"scale", Into(&Definition::scale)},
                                         {"decimals", Into(&Definition::decimals)},
                                         {"seeds", Into(&Definition::seeds)},
                                         {"quick-seeds", Into(&Definition::quick_seeds)},
                                         {"dataset", Into(&Definition::dataset)},
                                         {"ask", Into(&Definition::ask)}};
  return kKeys;
}

const Keys<Axis>& AxisKeys() {
  static const Keys<Axis> kKeys = {{"name", Into(&Axis::name)},
                                   {"values", Into(&Axis::values)},
                                   {"quick", Into(&Axis::quick_values)}};
  return kKeys;
}

const Keys<OptionRule>& RuleKeys() {
  static const Keys<OptionRule> kKeys = {{"only", Into(&OptionRule::only)},
                                         {"at", Into(&OptionRule::at)},
                                         {"options", Into(&OptionRule::options)}};
  return kKeys;
}

const Keys<PaperRow>& PaperKeys() {
  static const Keys<PaperRow> kKeys = {{"at", Into(&PaperRow::at)},
                                       {"along", Into(&PaperRow::along)},
                                       {"means", Into(&PaperRow::means)},
                                       {"deviations", Into(&PaperRow::deviations)}};
  return kKeys;
}

const Keys<Comparison>& ComparisonKeys() {
  static const Keys<Comparison> kKeys = {
      {"text", Into(&Comparison::text)},     {"by", Into(&Comparison::by)},
      {"at", Into(&Comparison::at)},         {"cells", Into(&Comparison::cells)},
      {"than", Into(&Comparison::than)},     {"value", Into(&Comparison::value)},
      {"within", Into(&Comparison::within)}, {"expected", Into(&Comparison::expected)},
      {"figure", Into(&Comparison::figure)}, {"why", Into(&Comparison::why)}};
  return kKeys;
}

const Keys<DataChoice>& DataKeys() {
  static const Keys<DataChoice> kKeys = {{"name", Into(&DataChoice::name)},
                                         {"label", Into(&DataChoice::label)},
                                         {"path", Into(&DataChoice::path)},
                                         {"set", Into(&DataChoice::set)},
                                         {"stand-in", Into(&DataChoice::is_stand_in)},
                                         {"options", Into(&DataChoice::options)}};
  return kKeys;
}

// One value, or several.
void ReadSome(const Setting& setting, std::vector<std::string>* out) {
  if (setting.is_one()) {
    *out = {setting.value};
  } else {
    *out = Many(setting);
  }
}

const Keys<Chart>& ChartKeys() {
  static const Keys<Chart> kKeys = {
      {"x", Into(&Chart::x)},
      {"y", [](const Setting& setting, Chart& chart) { ReadSome(setting, &chart.y); }},
      {"panel", Into(&Chart::panel)},
      {"x-label", Into(&Chart::x_label)},
      {"y-label", Into(&Chart::y_label)},
      {"log-x", Into(&Chart::has_log_x)},
      {"log-y", Into(&Chart::has_log_y)}};
  return kKeys;
}

template <class T>
void Set(const Keys<T>& keys, const Setting& setting, T& table) {
  const auto key = keys.find(setting.key);
  if (key == keys.end()) {
    std::vector<std::string> names;
    for (const auto& [name, reader] : keys) names.push_back(name);
    Refuse("there is no such key" + posix::DidYouMean(setting.key, names));
  }
  key->second(setting, table);
}

// An entry of [[section]]: begins one, or sets a key of the last one.
template <class T>
void AddTo(const Keys<T>& keys, const Setting& setting, std::vector<T>& tables) {
  if (setting.kind == Setting::Kind::kEntry) {
    tables.emplace_back();
  } else {
    Set(keys, setting, tables.back());
  }
}

void AddNote(const Setting& setting, std::vector<std::string>& notes) {
  if (setting.kind == Setting::Kind::kEntry) return;
  if (setting.key != "text") Refuse("a [[note]] has the key text alone");
  notes.push_back(One(setting));
}

void AddEntry(const std::string& section, const Setting& setting, Definition& d) {
  if (section == "axis") return AddTo(AxisKeys(), setting, d.axes);
  if (section == "set") return AddTo(RuleKeys(), setting, d.rules);
  if (section == "paper") return AddTo(PaperKeys(), setting, d.paper_rows);
  if (section == "claim") return AddTo(ComparisonKeys(), setting, d.comparisons);
  if (section == "data") return AddTo(DataKeys(), setting, d.choices);
  if (section == "note") return AddNote(setting, d.notes);
  Refuse(
      fmt::format("[[{}]] is none of an experiment's; it has [[axis]], [[set]], [[paper]], "
                  "[[claim]], [[data]], [[note]]",
                  section));
}

void AddSetting(const Setting& setting, Definition& d) {
  if (setting.section.empty()) return Set(RootKeys(), setting, d);
  const std::string& section = setting.section.front();
  if (setting.section.size() > 1) Refuse("sections do not nest");
  if (setting.entry > 0) return AddEntry(section, setting, d);
  if (section == "options") return d.options.push_back({setting.key, One(setting)});
  if (section == "quick") return d.quick_options.push_back({setting.key, One(setting)});
  if (section == "chart") return Set(ChartKeys(), setting, d.chart);
  Refuse(fmt::format("[{}] is none of an experiment's; it has [options], [quick] and [chart]",
                     section));
}

void RequireConditions(const Definition& d, const Assignments& conditions) {
  for (const Assignment& condition : conditions) {
    const Axis* axis = FindAxis(d, condition.name);
    if (axis == nullptr) {
      std::vector<std::string> names;
      for (const Axis& other : d.axes) names.push_back(other.name);
      Refuse(
          fmt::format("{} is no axis{}", condition.name, posix::DidYouMean(condition.name, names)));
    }
    const std::vector<std::string>& values = axis->values;
    const std::vector<std::string>& quick = axis->quick_values;
    if (std::find(values.begin(), values.end(), condition.value) == values.end() &&
        std::find(quick.begin(), quick.end(), condition.value) == quick.end()) {
      Refuse(fmt::format("the axis {} has no value {}", condition.name, condition.value));
    }
  }
}

void RequirePaperRow(const Definition& d, const PaperRow& row) {
  RequireConditions(d, row.at);
  size_t wanted = 1;
  if (!row.along.empty()) {
    const Axis* axis = FindAxis(d, row.along);
    if (axis == nullptr)
      Refuse(fmt::format("[[paper]] along {}: there is no such axis", row.along));
    wanted = axis->values.size();
  }
  if (row.means.size() != wanted || (!row.deviations.empty() && row.deviations.size() != wanted)) {
    Refuse(fmt::format("[[paper]] at {}: expected {} means and as many deviations, or none",
                       TextOf(row.at), wanted));
  }
}

// The name is that of a folder, too.
void RequireName(const std::string& name) {
  const bool is_plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_';
  });
  if (!is_plain) Refuse(fmt::format("name {}: expected letters, digits, - and _", name));
}

void RequireChart(const Definition& d) {
  const Chart& chart = d.chart;
  const bool is_series = !chart.x.empty() && FindAxis(d, chart.x) == nullptr;
  if (is_series && chart.y.size() != 1) {
    Refuse(
        fmt::format("[chart] x = {} is no axis; if it is a series, such as round, give y, "
                    "another series, such as accuracy",
                    chart.x));
  }
  if (!chart.panel.empty() && FindAxis(d, chart.panel) == nullptr) {
    Refuse(fmt::format("[chart] panel = {}: there is no such axis", chart.panel));
  }
}

void RequireWhole(const Definition& d) {
  for (const auto& [key, value] : {std::pair("name", d.name), std::pair("title", d.title),
                                   std::pair("kind", d.kind), std::pair("figure", d.figure)}) {
    if (value.empty()) Refuse(fmt::format("the key {} is missing", key));
  }
  RequireName(d.name);
  RequireChart(d);
  if (d.seeds == 0 || d.quick_seeds == 0) Refuse("seeds: expected at least one");
  for (const Axis& axis : d.axes) {
    if (axis.name.empty() || axis.values.empty()) Refuse("an [[axis]] needs a name and values");
  }
  for (const OptionRule& rule : d.rules) {
    RequireConditions(d, rule.at);
    if (!rule.only.empty() && rule.only != "full" && rule.only != "quick") {
      Refuse(fmt::format("[[set]] only = {}: expected full or quick", rule.only));
    }
  }
  for (const PaperRow& row : d.paper_rows) RequirePaperRow(d, row);
  for (const Comparison& comparison : d.comparisons) {
    RequireConditions(d, comparison.at);
    RequireConditions(d, comparison.cells);
    RequireConditions(d, comparison.than);
    if (comparison.than.empty() != comparison.value.has_value()) {
      Refuse("a [[claim]] needs either than or value");
    }
  }
  for (const DataChoice& choice : d.choices) {
    if (choice.name.empty() || choice.label.empty() || choice.path.empty() == choice.set.empty()) {
      Refuse("a [[data]] needs a name, a label, and either path or set");
    }
  }
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace

const char* Name(Expectation expectation) { return privacy::NameIn(kExpectations, expectation); }

const std::string* Find(const Assignments& assignments, const std::string& name) {
  const std::string* found = nullptr;
  for (const Assignment& assignment : assignments) {
    if (assignment.name == name) found = &assignment.value;
  }
  return found;
}

bool Meets(const Assignments& cell, const Assignments& conditions) {
  return std::all_of(conditions.begin(), conditions.end(), [&](const Assignment& condition) {
    const std::string* value = Find(cell, condition.name);
    return value != nullptr && *value == condition.value;
  });
}

std::string TextOf(const Assignments& assignments) {
  std::string text;
  for (const Assignment& assignment : assignments) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", assignment.name, assignment.value);
  }
  return text;
}

const Axis* FindAxis(const Definition& d, const std::string& name) {
  const auto found = std::find_if(d.axes.begin(), d.axes.end(),
                                  [&](const Axis& axis) { return axis.name == name; });
  return found == d.axes.end() ? nullptr : &*found;
}

Definition ParseDefinition(const std::string& path, const std::string& text) {
  Definition definition;
  definition.folder = FolderOf(path);
  int line = 1;
  try {
    for (const Setting& setting : posix::ParseToml(text, posix::TomlArrays::kTaken)) {
      line = setting.line;
      AddSetting(setting, definition);
    }
    line = 1;
    RequireWhole(definition);
  } catch (const posix::TomlError& error) {
    throw std::invalid_argument(error.In(path));
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("{}:{}: {}", path, line, error.what()));
  }
  return definition;
}

}  // namespace sotto::server
