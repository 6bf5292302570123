// An experiment from its folder's checks to its report. Part of sotto::server/lab.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiment/definition.h"
#include "experiment/grid.h"

namespace sotto::server {

struct ExperimentOptions {
  std::string name;  // of an experiment, a file, or list, settings, results
  GridOptions grid;
  std::optional<uint64_t> seeds;  // of each cell; absent: as many as the definition fixes
  uint64_t jobs = 0;              // runs at a time; 0: one a processor
  bool is_dry_run = false;
  bool is_markdown = false;
  std::string json;                  // what results.json has, too; empty: nowhere
  std::vector<std::string> folders;  // whose runs are taken over; of results: that are listed
};

// Does what the options ask for: the runs that are not there yet, and the report; or the checks of
// a dry run. Prints to standard output, and progress to standard error. Throws
// std::invalid_argument for what a user can mend, Stopped after a signal, and what a run throws.
void RunExperiment(const ExperimentOptions& options, const Definition& definition);

}  // namespace sotto::server
