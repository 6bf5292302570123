// What a paper fixes of an experiment, what it leaves open, and what is set here. Part of
// sotto::server/experiment.
//
// Pure functions: safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "experiment/definition.h"
#include "experiment/grid.h"
#include "experiment/table.h"
#include "formulas/settings.h"

namespace sotto::server {

// A row for each option of the cells, in the order of the definition's [origin], with its values.
// An option without an origin comes last, and says so. What a stand-in or --quick sets is ours.
//   cells  the settings of each
Table SettingsTable(const Definition& definition, const ChosenData& data, bool is_quick,
                    const std::vector<Settings>& cells);

// The page server/experiments/SETTINGS.md: a section for each experiment in the paper's size, on
// the first data set that it names.
std::string SettingsPage(const std::vector<Definition>& definitions);

}  // namespace sotto::server
