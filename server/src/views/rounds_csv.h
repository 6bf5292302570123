// The released rounds of simulations as CSV, a row a round. Part of sotto::server/views.
//
// Pure functions.
#pragma once

#include <string>

#include "sim/simulation.h"

namespace sotto::server {

// The names of the columns, one line.
std::string RoundsCsvHeader();

// The rows of one simulation. Each number is exact. A cell is empty if its figure does not apply,
// was not made, or is infinite; so is the seed of a simulation without one.
std::string RoundsCsvRows(const SimulationConfig& config, const SimulationResult& result);

}  // namespace sotto::server
