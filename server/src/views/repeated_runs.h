// The report of a simulation that was repeated with several seeds. Part of sotto::server/views.
//
// Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace sotto::server {

// The results of the simulations that came to their end: ResultToJson() or PeersToJson().
using FinishedRuns = std::vector<nlohmann::ordered_json>;

// For people: a line for each figure.
std::string DescribeRuns(const FinishedRuns& runs);

// {"seeds", "mean", "deviation", "runs"}: each figure's mean and deviation by its name, and the
// results of all runs. A figure that no run has is null; so is the deviation of one run.
//   seeds  the seeds of the runs, in their order; more are left out
nlohmann::ordered_json RunsToJson(const std::vector<uint64_t>& seeds, const FinishedRuns& runs);

}  // namespace sotto::server
