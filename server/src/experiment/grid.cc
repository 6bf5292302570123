#include "experiment/grid.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdexcept>

#include "experiment/library.h"
#include "experiment/run_kinds.h"
#include "sotto/data/source.h"
#include "sotto/options/nearest.h"

namespace sotto::server {
namespace {

namespace fs = std::filesystem;

void Add(const Assignments& assignments, Settings* settings) {
  for (const Assignment& assignment : assignments) {
    (*settings)[assignment.name] = assignment.value;
  }
}

std::string PathOf(const DataChoice& choice, const std::string& folder) {
  return (fs::path(folder) / choice.path).string();
}

bool IsThere(const DataChoice& choice, const GridOptions& options) {
  if (!choice.set.empty()) return true;
  std::error_code ignored;
  return !options.data_folder.empty() &&
         fs::exists(ParseDataSource(PathOf(choice, options.data_folder)).path, ignored);
}

const DataChoice& Choose(const Definition& definition, const GridOptions& options) {
  const std::vector<DataChoice>& choices = definition.choices;
  const auto found = std::find_if(choices.begin(), choices.end(), [&](const DataChoice& choice) {
    return options.data.empty() ? IsThere(choice, options) : choice.name == options.data;
  });
  if (found != choices.end() && IsThere(*found, options)) return *found;
  if (found != choices.end()) {
    throw std::invalid_argument(fmt::format("--data {}: {} has no {}; {}", options.data,
                                            options.data_folder.empty()
                                                ? "without --data-dir the working folder"
                                                : "--data-dir " + options.data_folder,
                                            found->path, definition.ask));
  }
  std::vector<std::string> names;
  for (const DataChoice& choice : choices) names.push_back(choice.name);
  throw std::invalid_argument(fmt::format("--data {}: {} knows {}; {}",
                                          options.data.empty() ? "NAME" : options.data,
                                          definition.name, fmt::join(names, ", "), definition.ask));
}

// Adds a value of each axis to all cells so far.
std::vector<Assignments> Places(const Definition& definition, bool is_quick) {
  std::vector<Assignments> places = {{}};
  for (const Axis& axis : definition.axes) {
    std::vector<Assignments> longer;
    for (const Assignments& place : places) {
      for (const std::string& value : ValuesOf(axis, is_quick)) {
        longer.push_back(place);
        longer.back().push_back({axis.name, value});
      }
    }
    places = std::move(longer);
  }
  return places;
}

// A model of the experiment's own lies in the output folder; see library.h.
void LocateModel(const std::string& out, Settings* settings) {
  const auto model = settings->find("model");
  if (model == settings->end() || model->second.rfind(kModelsFolder, 0) != 0) return;
  model->second = (fs::path(out) / model->second).string();
}

// The options that a value of an axis stands for.
Assignments MeaningOf(const Axis& axis, const std::string& value) {
  for (size_t i = 0; i < axis.options.size(); ++i) {
    if (axis.values[i] == value) return axis.options[i];
  }
  return {};
}

Settings SettingsOf(const Definition& definition, const GridOptions& options,
                    const ChosenData& data, const Assignments& at) {
  Settings settings;
  Add(definition.options, &settings);
  if (options.is_quick) Add(definition.quick_options, &settings);
  for (const auto& [name, value] : data.settings) settings[name] = value;
  const RunKind& kind = FindRunKind(definition.kind);
  for (const Assignment& value : at) {
    if (kind.has_option(value.name)) settings[value.name] = value.value;
    Add(MeaningOf(*FindAxis(definition, value.name), value.value), &settings);
  }
  for (const OptionRule& rule : definition.rules) {
    const bool fits = rule.only.empty() || rule.only == (options.is_quick ? "quick" : "full");
    if (fits && Meets(at, rule.at)) Add(rule.options, &settings);
  }
  LocateModel(options.out, &settings);
  return settings;
}

// Refuses an axis that decides nothing, such as a misspelt option.
void RequireEffect(const Definition& definition, const Axis& axis) {
  if (FindRunKind(definition.kind).has_option(axis.name) || !axis.options.empty()) return;
  for (const OptionRule& rule : definition.rules) {
    if (Find(rule.at, axis.name) != nullptr) return;
  }
  throw std::invalid_argument(
      fmt::format("{}: the axis {} decides nothing: it is no option, its values have no options, "
                  "and no [[set]] names one "
                  "of them",
                  definition.name, axis.name));
}

// Refuses an --only with a value that its axis does not have.
void RequireValues(const Axis& axis, const std::string& only) {
  std::istringstream list(only.substr(only.find('=') + 1));
  for (std::string value; std::getline(list, value, ',');) {
    if (std::find(axis.values.begin(), axis.values.end(), value) != axis.values.end()) continue;
    throw std::invalid_argument(fmt::format("--only {}: {} has no value {}, but {}", only,
                                            axis.name, value, fmt::join(axis.values, "; ")));
  }
}

// Refuses an --only that names no axis, or one twice.
void RequireAxes(const Definition& definition, const std::vector<std::string>& only) {
  std::vector<std::string> names;
  for (const Axis& axis : definition.axes) names.push_back(axis.name);
  std::vector<std::string> seen;
  for (const std::string& one : only) {
    const size_t equals = one.find('=');
    const std::string name = one.substr(0, equals);
    if (equals == std::string::npos || equals + 1 == one.size()) {
      throw std::invalid_argument(
          fmt::format("--only {}: expected AXIS=VALUE[,VALUE...]; the axes of {} are {}", one,
                      definition.name, fmt::join(names, ", ")));
    }
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw std::invalid_argument(fmt::format("--only {}: {} has no such axis, but {}{}", one,
                                              definition.name, fmt::join(names, ", "),
                                              posix::DidYouMean(name, names)));
    }
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      throw std::invalid_argument(
          fmt::format("--only {}: {} is there twice; write {}=VALUE,VALUE", one, name, name));
    }
    RequireValues(*FindAxis(definition, name), one);
    seen.push_back(name);
  }
}

// "smoothing=0,1"
bool MeetsOnly(const Assignments& at, const std::string& only) {
  const size_t equals = std::min(only.find('='), only.size());
  const std::string* value = Find(at, only.substr(0, equals));
  const std::string list = "," + only.substr(std::min(equals + 1, only.size())) + ",";
  return list.find("," + *value + ",") != std::string::npos;
}

}  // namespace

const std::vector<std::string>& ValuesOf(const Axis& axis, bool is_quick) {
  return is_quick && !axis.quick_values.empty() ? axis.quick_values : axis.values;
}

std::optional<PaperFigure> PaperFigureOf(const Definition& definition, const Assignments& at) {
  for (const PaperRow& row : definition.paper_rows) {
    if (!Meets(at, row.at)) continue;
    size_t index = 0;
    for (const Axis& axis : definition.axes) {
      if (axis.name != row.along) continue;
      const auto value = std::find(axis.values.begin(), axis.values.end(), *Find(at, axis.name));
      index = static_cast<size_t>(value - axis.values.begin());
    }
    if (index >= row.means.size()) continue;
    PaperFigure figure = {row.means[index], std::nullopt, row.decimals};
    if (!row.deviations.empty()) figure.deviation = row.deviations[index];
    return figure;
  }
  return std::nullopt;
}

ChosenData ChooseData(const Definition& definition, const GridOptions& options) {
  ChosenData chosen;
  if (!options.data_folder.empty() && !fs::is_directory(options.data_folder)) {
    throw std::invalid_argument("--data-dir " + options.data_folder + ": there is no such folder");
  }
  if (definition.choices.empty()) return chosen;
  const DataChoice& choice = Choose(definition, options);
  chosen.label = choice.label;
  chosen.is_stand_in = choice.is_stand_in;
  Add(choice.options, &chosen.settings);
  chosen.settings["data"] = choice.set.empty() ? PathOf(choice, options.data_folder) : choice.set;
  if (choice.is_stand_in) chosen.advice = definition.ask;
  return chosen;
}

std::vector<Cell> MakeCells(const Definition& definition, const GridOptions& options,
                            const ChosenData& data) {
  for (const Axis& axis : definition.axes) RequireEffect(definition, axis);
  RequireAxes(definition, options.only);
  std::vector<Cell> cells;
  for (const Assignments& at : Places(definition, options.is_quick)) {
    const bool is_wanted =
        std::all_of(options.only.begin(), options.only.end(),
                    [&](const std::string& only) { return MeetsOnly(at, only); });
    if (!is_wanted) continue;
    cells.push_back({at, SettingsOf(definition, options, data, at), PaperFigureOf(definition, at)});
  }
  if (cells.empty()) {
    throw std::invalid_argument(
        fmt::format("--only {}: no cell of {} is left; --dry-run lists them{}",
                    fmt::join(options.only, " --only "), definition.name,
                    options.is_quick ? ", and --quick has fewer" : ""));
  }
  return cells;
}

}  // namespace sotto::server
