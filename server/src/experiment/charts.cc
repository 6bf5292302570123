#include "experiment/charts.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <set>

#include "sotto/options/numbers.h"

namespace sotto::server {
namespace {

const double kNothing = std::nan("");

constexpr char kHere[] = "here";  // the name of a line that needs none

constexpr const char* kColours[] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e",
                                    "#17becf", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22"};

// The number that an axis value is, or begins with: "6", "1/2000".
std::optional<double> NumberOf(const std::string& text) { return posix::ParseReal(text); }

// The figures that are drawn.
std::vector<std::string> FiguresOf(const Definition& d) {
  return d.chart.y.empty() ? std::vector<std::string>{d.figure} : d.chart.y;
}

// A cell's place without the axes of x and of the panels, and the figure if there are several.
std::string LineName(const Assignments& at, const Chart& chart, const std::string& y) {
  Assignments rest;
  for (const Assignment& value : at) {
    if (value.name != chart.x && value.name != chart.panel) rest.push_back(value);
  }
  if (chart.y.size() < 2) return rest.empty() ? kHere : TextOf(rest);
  return rest.empty() ? y : TextOf(rest) + " " + y;
}

// Lines of one name, here and the paper's, have one colour. The names are counted as they come.
std::string ColourOf(const std::string& name, ChartPanel* panel) {
  const auto known = std::find(panel->names.begin(), panel->names.end(), name);
  const auto number = static_cast<size_t>(known - panel->names.begin());
  if (known == panel->names.end()) panel->names.push_back(name);
  return kColours[number % std::size(kColours)];
}

ChartLine& LineOf(const std::string& name, bool is_paper, ChartPanel* panel) {
  const std::string whole = !is_paper ? name : name == kHere ? "paper" : "paper: " + name;
  for (ChartLine& line : panel->lines) {
    if (line.name == whole) return line;
  }
  const std::vector<double> none(panel->x.size(), kNothing);
  panel->lines.push_back({whole, is_paper, ColourOf(name, panel), none, none});
  return panel->lines.back();
}

bool BelongsTo(const CellSummary& cell, const Chart& chart, const std::string& panel) {
  const std::string* value = Find(cell.cell.at, chart.panel);
  return value == nullptr || *value == panel;
}

std::optional<MeanDeviation> ValueOf(const Summary& summary, const CellSummary& cell,
                                     const std::string& y) {
  if (y == summary.definition.figure) return FigureOf(summary, cell);
  const auto found = cell.figures.find(y);
  return found == cell.figures.end() ? std::nullopt : std::optional<MeanDeviation>(found->second);
}

void SetPoint(size_t index, double value, const std::optional<double>& deviation, ChartLine* line) {
  line->values[index] = value;
  line->errors[index] = deviation.value_or(kNothing);
}

void SetPoint(size_t index, const std::optional<MeanDeviation>& here, ChartLine* line) {
  if (!here) return;
  const bool has_deviation = here->count > 1 && here->deviation > 0;
  SetPoint(index, here->mean, has_deviation ? std::optional<double>(here->deviation) : std::nullopt,
           line);
}

// x is an axis: a line goes through the cells that differ along it.
void FillAlongAxis(const Summary& summary, const Axis& axis, const std::string& value,
                   ChartPanel* panel) {
  const Chart& chart = summary.definition.chart;
  const std::vector<std::string>& names = ValuesOf(axis, summary.is_quick);
  const bool are_numbers =
      std::all_of(names.begin(), names.end(), [](const auto& n) { return NumberOf(n); });
  for (size_t i = 0; i < names.size(); ++i) {
    panel->x.push_back(are_numbers ? *NumberOf(names[i]) : static_cast<double>(i));
  }
  if (!are_numbers) panel->x_names = names;
  for (const CellSummary& cell : summary.cells) {
    if (!BelongsTo(cell, chart, value)) continue;
    const auto at = std::find(names.begin(), names.end(), *Find(cell.cell.at, axis.name));
    const auto index = static_cast<size_t>(at - names.begin());
    for (const std::string& y : FiguresOf(summary.definition)) {
      const std::string name = LineName(cell.cell.at, chart, y);
      SetPoint(index, ValueOf(summary, cell, y), &LineOf(name, false, panel));
      if (y == summary.definition.figure && cell.cell.paper) {
        SetPoint(index, cell.cell.paper->mean, cell.cell.paper->deviation,
                 &LineOf(name, true, panel));
      }
    }
  }
}

// The series of x and of y of a cell in a panel; null: the cell is not in the panel, or lacks one.
using Series = std::pair<const std::vector<double>*, const std::vector<double>*>;

Series SeriesOf(const CellSummary& cell, const Chart& chart, const std::string& name,
                const std::string& panel) {
  const auto x = cell.series.find(chart.x);
  const auto y = cell.series.find(name);
  const bool is_there =
      BelongsTo(cell, chart, panel) && x != cell.series.end() && y != cell.series.end();
  return is_there ? Series(&x->second, &y->second) : Series();
}

// The deviations of a series at some of its points, equally spaced; empty: there are none.
std::vector<double> SparseSpreads(const CellSummary& cell, const std::string& y) {
  constexpr size_t kMostBars = 10;
  const auto found = cell.spreads.find(y);
  if (found == cell.spreads.end()) return {};
  std::vector<double> spreads = found->second;
  const size_t every = (spreads.size() + kMostBars - 1) / kMostBars;
  for (size_t i = 0; i < spreads.size(); ++i) {
    const bool is_shown = (spreads.size() - 1 - i) % every == 0 && spreads[i] > 0;  // and the last
    if (!is_shown) spreads[i] = kNothing;
  }
  return spreads;
}

// The values of x that any line of the panel has, each once.
std::vector<double> AllXOf(const Summary& summary, const std::string& value) {
  std::set<double> all;
  const Chart& chart = summary.definition.chart;
  for (const CellSummary& cell : summary.cells) {
    for (const std::string& y : chart.y) {
      const std::vector<double>* x = SeriesOf(cell, chart, y, value).first;
      if (x != nullptr) all.insert(x->begin(), x->end());
    }
  }
  return {all.begin(), all.end()};
}

// Adds a series y of a cell as a line, if the cell has it.
void AddSeries(const Summary& summary, const CellSummary& cell, const std::string& name,
               const std::string& value, ChartPanel* panel) {
  const Chart& chart = summary.definition.chart;
  const auto [x, y] = SeriesOf(cell, chart, name, value);
  if (x == nullptr) return;
  ChartLine& line = LineOf(LineName(cell.cell.at, chart, name), false, panel);
  const std::vector<double> spreads = SparseSpreads(cell, name);
  for (size_t i = 0; i < std::min(x->size(), y->size()); ++i) {
    const auto at = std::lower_bound(panel->x.begin(), panel->x.end(), (*x)[i]);
    const auto index = static_cast<size_t>(at - panel->x.begin());
    line.values[index] = (*y)[i];
    if (i < spreads.size()) line.errors[index] = spreads[i];
  }
}

// x is a series, such as the rounds: each cell is a line for each series y.
void FillAlongSeries(const Summary& summary, const std::string& value, ChartPanel* panel) {
  panel->x = AllXOf(summary, value);
  for (const CellSummary& cell : summary.cells) {
    for (const std::string& name : summary.definition.chart.y) {
      AddSeries(summary, cell, name, value, panel);
    }
  }
}

bool HasValue(const ChartPanel& panel) {
  return std::any_of(panel.lines.begin(), panel.lines.end(), [](const ChartLine& line) {
    return std::any_of(line.values.begin(), line.values.end(),
                       [](double value) { return std::isfinite(value); });
  });
}

// Ascending in x, as uPlot wants it.
void Sort(ChartPanel* panel) {
  std::vector<size_t> order(panel->x.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return panel->x[a] < panel->x[b]; });
  const auto arrange = [&](std::vector<double>& values) {
    const std::vector<double> old = values;
    for (size_t i = 0; i < order.size(); ++i) values[i] = old[order[i]];
  };
  for (ChartLine& line : panel->lines) {
    arrange(line.values);
    arrange(line.errors);
  }
  arrange(panel->x);
}

// A logarithm has no place for 0 and below.
void TakeOutWhatHasNoLogarithm(ChartPanel* panel) {
  for (ChartLine& line : panel->lines) {
    for (size_t i = 0; i < panel->x.size(); ++i) {
      const bool has_x = !panel->has_log_x || panel->x[i] > 0;
      const bool has_y = !panel->has_log_y || line.values[i] > 0;
      if (!has_x || !has_y) line.values[i] = kNothing;
      if (panel->has_log_y && !(line.values[i] > line.errors[i])) line.errors[i] = kNothing;
    }
  }
  while (panel->has_log_x && !panel->x.empty() && panel->x.front() <= 0) {
    panel->x.erase(panel->x.begin());
    for (ChartLine& line : panel->lines) {
      line.values.erase(line.values.begin());
      line.errors.erase(line.errors.begin());
    }
  }
}

ChartPanel PanelOf(const Summary& summary, const std::string& value) {
  const Definition& d = summary.definition;
  ChartPanel panel;
  panel.title = d.name + (value.empty() ? "" : fmt::format(", {}={}", d.chart.panel, value));
  panel.x_label = d.chart.x_label.empty() ? d.chart.x : d.chart.x_label;
  panel.y_label = d.chart.y_label.empty() ? d.figure_text : d.chart.y_label;
  const Axis* axis = FindAxis(d, d.chart.x);
  if (axis != nullptr) {
    FillAlongAxis(summary, *axis, value, &panel);
  } else {
    FillAlongSeries(summary, value, &panel);
  }
  Sort(&panel);
  panel.has_log_x = d.chart.has_log_x && panel.x_names.empty();
  panel.has_log_y = d.chart.has_log_y;
  TakeOutWhatHasNoLogarithm(&panel);
  return panel;
}

}  // namespace

bool ChartPanel::has_bars() const {
  return std::any_of(lines.begin(), lines.end(), [](const ChartLine& line) {
    return std::any_of(line.errors.begin(), line.errors.end(),
                       [](double error) { return std::isfinite(error); });
  });
}

std::vector<ChartPanel> PanelsOf(const Summary& summary) {
  const Definition& d = summary.definition;
  if (d.chart.x.empty()) return {};
  const Axis* panel_axis = FindAxis(d, d.chart.panel);
  const std::vector<std::string> values = panel_axis == nullptr
                                              ? std::vector<std::string>{""}
                                              : ValuesOf(*panel_axis, summary.is_quick);
  std::vector<ChartPanel> panels;
  for (const std::string& value : values) {
    ChartPanel panel = PanelOf(summary, value);
    if (HasValue(panel)) panels.push_back(std::move(panel));
  }
  return panels;
}

}  // namespace sotto::server
