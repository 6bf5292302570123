// The charts of an experiment: what chart.svg and the page draw. Part of sotto::server/experiment.
//
// Plain values and pure functions: safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "experiment/summary.h"

namespace sotto::server {

struct ChartLine {
  std::string name;  // "smoothing=1", "paper: smoothing=1", "here", "paper"
  bool is_paper = false;
  std::string colour;          // "#1f77b4"; a line of the paper has the colour of our line
  std::vector<double> values;  // [x of the panel]; NaN: none
  // [x of the panel]: half the length of an error bar, one deviation of a run; NaN: none. A series
  // of many points has a bar at some of them.
  std::vector<double> errors;
};

// What the bars are, below a chart that has some.
constexpr char kBarsText[] = "bars: one deviation of a run to either side";

struct ChartPanel {
  std::string title;
  std::string x_label;
  std::string y_label;
  bool has_log_x = false;  // then all x are above 0
  bool has_log_y = false;  // then all values are above 0 or NaN
  std::vector<double> x;   // ascending
  // Names of values that are no numbers, which have points and no line: x is 0, 1, ...; or empty.
  std::vector<std::string> x_names;
  std::vector<ChartLine> lines;
  std::vector<std::string> names;  // of the lines, each once, whether here or of the paper

  bool has_bars() const;
};

// The panels of the definition's chart: a line for each cell, or for cells that differ along the
// axis x alone, and one for the paper's figures. Panels without a value are left out.
std::vector<ChartPanel> PanelsOf(const Summary& summary);

}  // namespace sotto::server
