// The report of a simulation that was repeated with several seeds. Part of sotto::server/views.
//
// Pure functions.
#ifndef SOTTO_VIEWS_REPEATED_RUNS_H_
#define SOTTO_VIEWS_REPEATED_RUNS_H_

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace sotto::server {

// A simulation that came to its end.
struct FinishedRun {
  uint64_t seed = 0;
  nlohmann::ordered_json result;  // of ResultToJson()
};

// For people: a line for each figure.
std::string DescribeRuns(const std::vector<FinishedRun>& runs);

// {"seeds", "mean", "deviation", "runs"}: each figure's mean and deviation by its name, and the
// results of all runs. A figure that no run has is null; so is the deviation of one run.
nlohmann::ordered_json RunsToJson(const std::vector<FinishedRun>& runs);

}  // namespace sotto::server

#endif  // SOTTO_VIEWS_REPEATED_RUNS_H_
