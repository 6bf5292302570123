// The spectra of a simulation's updates as CSV. Part of sotto::server/views.
#pragma once

#include <string>

#include "sim/simulation.h"

namespace sotto::server {

// A row for each round, tensor and frequency: round, tensor (both from 1), its axes and extents,
// frequency, magnitude (aggregate/spectrum.h).
std::string SpectrumCsv(const SimulationConfig& config, const SimulationResult& result);

}  // namespace sotto::server
