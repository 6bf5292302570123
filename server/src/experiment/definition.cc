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

constexpr Named<Decider> kDeciders[] = {
    {Decider::kPaper, "paper"}, {Decider::kOpen, "open"}, {Decider::kOurs, "ours"}};

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
void Read(const Setting& setting, std::optional<uint64_t>* out) {
  uint64_t value = 0;
  Read(setting, &value);
  *out = value;
}

// The words of a text, each NAME=VALUE.
Assignments WordsOf(const std::string& text) {
  Assignments words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.push_back(AssignmentOf(text.substr(at, end - at)));
    at = end + 1;
  }
  return words;
}
void Read(const Setting& setting, std::vector<Assignments>* out) {
  out->clear();
  for (const std::string& text : Many(setting)) out->push_back(WordsOf(text));
}

// "paper", "open: the paper says nothing", "ours: the paper has 10"
Origin OriginOf(const std::string& option, const std::string& text) {
  const size_t colon = std::min(text.find(": "), text.size());
  Origin origin = {option, privacy::ValueIn(kDeciders, "who decides", text.substr(0, colon)), ""};
  if (colon < text.size()) origin.text = text.substr(colon + 2);
  if (origin.text.empty() && origin.decider != Decider::kPaper) {
    Refuse(fmt::format("{} = {}: say why, as in \"{}: the paper has 10\"", option, text, text));
  }
  return origin;
}

int DecimalsOf(const std::string& number) {
  const size_t point = number.find('.');
  if (point == std::string::npos) return 0;
  const size_t end = std::min(number.find_first_not_of("0123456789", point + 1), number.size());
  return static_cast<int>(end - point - 1);
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
                                         {"paper-runs", Into(&Definition::paper_runs)},
                                         {"dataset", Into(&Definition::dataset)},
                                         {"ask", Into(&Definition::ask)}};
  return kKeys;
}

const Keys<Axis>& AxisKeys() {
  static const Keys<Axis> kKeys = {{"name", Into(&Axis::name)},
                                   {"values", Into(&Axis::values)},
                                   {"quick", Into(&Axis::quick_values)},
                                   {"options", Into(&Axis::options)}};
  return kKeys;
}

const Keys<OptionRule>& RuleKeys() {
  static const Keys<OptionRule> kKeys = {{"only", Into(&OptionRule::only)},
                                         {"at", Into(&OptionRule::at)},
                                         {"options", Into(&OptionRule::options)}};
  return kKeys;
}

void ReadMeans(const Setting& setting, PaperRow& row) {
  Read(setting, &row.means);
  for (const std::string& text : setting.items) {
    row.decimals = std::max(row.decimals, DecimalsOf(text));
  }
}

const Keys<PaperRow>& PaperKeys() {
  static const Keys<PaperRow> kKeys = {{"at", Into(&PaperRow::at)},
                                       {"along", Into(&PaperRow::along)},
                                       {"means", ReadMeans},
                                       {"deviations", Into(&PaperRow::deviations)}};
  return kKeys;
}

const Keys<Comparison>& ComparisonKeys() {
  static const Keys<Comparison> kKeys = {{"text", Into(&Comparison::text)},
                                         {"by", Into(&Comparison::by)},
                                         {"at", Into(&Comparison::at)},
                                         {"except", Into(&Comparison::except)},
                                         {"cells", Into(&Comparison::cells)},
                                         {"than", Into(&Comparison::than)},
                                         {"value", Into(&Comparison::value)},
                                         {"within", Into(&Comparison::within)},
                                         {"within-why", Into(&Comparison::within_why)},
                                         {"expected", Into(&Comparison::expected)},
                                         {"figure", Into(&Comparison::figure)},
                                         {"why", Into(&Comparison::why)}};
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
      fmt::format("[[{}]] is not part of an experiment; it has [[axis]], [[set]], [[paper]], "
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
  if (section == "origin") return d.origins.push_back(OriginOf(setting.key, One(setting)));
  Refuse(fmt::format(
      "[{}] is not part of an experiment; it has [options], [quick], [origin] and [chart]",
      section));
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace

const char* Name(Decider decider) { return privacy::NameIn(kDeciders, decider); }

const Origin* FindOrigin(const Definition& d, const std::string& option) {
  const auto found = std::find_if(d.origins.begin(), d.origins.end(),
                                  [&](const Origin& origin) { return origin.option == option; });
  return found == d.origins.end() ? nullptr : &*found;
}

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

bool MeetsOne(const Assignments& cell, const Assignments& conditions) {
  return std::any_of(conditions.begin(), conditions.end(),
                     [&](const Assignment& condition) { return Meets(cell, {condition}); });
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
    line = 0;  // it is about all of it
    RequireWhole(definition);
  } catch (const posix::TomlError& error) {
    throw std::invalid_argument(error.In(path));
  } catch (const std::invalid_argument& error) {
    const std::string place = line > 0 ? fmt::format("{}:{}", path, line) : path;
    throw std::invalid_argument(fmt::format("{}: {}", place, error.what()));
  }
  return definition;
}

}  // namespace sotto::server
