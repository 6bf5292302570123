// The cells of an experiment and their settings. Part of sotto::server/experiment.
//
// Plain values; functions that read a folder say so. Safe from any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiment/definition.h"
#include "formulas/settings.h"

namespace sotto::server {

struct Cell {
  Assignments at;     // a value on each axis, in their order
  Settings settings;  // of all its runs, without the seed
  std::optional<PaperFigure> paper;
};

struct GridOptions {
  bool is_quick = false;
  std::vector<std::string> only;  // AXIS=VALUE[,VALUE...]; each must hold. Empty: all cells
  std::string data_folder;        // where data sets lie; empty: none is there
  std::string data;               // the name of a choice; empty: the first that is there
  std::string out;                // the folder in which models/ will be; for the settings
};

// The samples of an experiment.
struct ChosenData {
  std::string label = "none needed";
  bool is_stand_in = false;
  Settings settings;   // of `sotto simulate`: data, and what goes with it
  std::string advice;  // what to put where so that the paper's own data are taken; may be empty
};

// Chooses the samples: the named choice, or the first one that is there. Looks into the folder.
// Throws std::invalid_argument for a name that is no choice's, and if none is there: the message
// says what is expected where.
ChosenData ChooseData(const Definition& definition, const GridOptions& options);

// The cells in the order of the axes, the last one fastest. Later settings win: `options`, the
// options of quick, the options of the data, the axes, the rules in their order.
// Throws std::invalid_argument for a condition of `only` that no cell meets, and for an axis that
// is no option and that no rule names.
std::vector<Cell> MakeCells(const Definition& definition, const GridOptions& options,
                            const ChosenData& data);

// Values of an axis in this size.
const std::vector<std::string>& ValuesOf(const Axis& axis, bool is_quick);

// The paper's figure of a cell; none if it prints none.
std::optional<PaperFigure> PaperFigureOf(const Definition& definition, const Assignments& at);

}  // namespace sotto::server
