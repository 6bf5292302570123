// What came out of all experiments, as a page: a row for each folder of results, and one for each
// experiment without any. Part of sotto::server/experiment.
//
// Pure functions: safe from any thread.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "experiment/definition.h"

namespace sotto::server {

// The page server/experiments/RESULTS.md.
//   results  results.json of each folder; of one experiment in their order
// Throws std::invalid_argument for results that lack a field that this program writes.
std::string ResultsPage(const std::vector<Definition>& definitions,
                        const std::vector<nlohmann::ordered_json>& results);

}  // namespace sotto::server
