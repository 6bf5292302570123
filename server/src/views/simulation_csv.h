// Simulations as CSV: the released rounds, a row a round, and the spectra of updates. Part of
// sotto::server/views.
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

// The spectra of the updates. A row for each round, tensor and frequency: round, tensor (both from
// 1), its axes and extents, frequency, magnitude (aggregate/spectrum.h).
std::string SpectrumCsv(const SimulationConfig& config, const SimulationResult& result);

}  // namespace sotto::server
