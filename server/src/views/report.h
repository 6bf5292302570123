// The report of a finished simulation: text for people, JSON for programs. Part of
// sotto::server/cli.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "sim/simulation.h"

namespace sotto::server {

// One line about a released round.
std::string DescribeRound(const SimulationConfig& config, const RoundReport& report);

// The final table, several lines.
//   test  the test set: the names of its classes
std::string DescribeResult(const SimulationConfig& config, const SimulationResult& result,
                           const std::string& data_name, const SampleInfo& test);

// The whole report as JSON. An infinite epsilon is "Infinity", an absent one null; rates and
// accuracies are in [0, 1], lengths in bytes, norms and noise in model units. server/FIGURES.md
// lists the fields.
nlohmann::ordered_json ResultToJson(const SimulationConfig& config, const SimulationResult& result,
                                    const std::string& data_name, const SampleInfo& test);

}  // namespace sotto::server
