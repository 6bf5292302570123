// What came out of all experiments, as a page: a row for each folder of results, and one for each
// experiment without any. Part of sotto::server/experiment.
//
// Safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "experiment/definition.h"

namespace sotto::server {

// The page server/experiments/RESULTS.md.
//   folders  of results; of one experiment in their order
// Throws std::invalid_argument, naming the folder, if it has no results.json as this program writes
// it, and std::runtime_error for runs that cannot be read.
std::string ResultsPage(const std::vector<Definition>& definitions,
                        const std::vector<std::string>& folders);

}  // namespace sotto::server
