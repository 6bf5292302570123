// The samples that a simulation asks for. Part of sotto::server/sim.
//
// Reentrant: safe from any thread.
#pragma once

#include "sim/simulation_request.h"
#include "sotto/data/dataset.h"

namespace sotto::server {

// The samples that a request names: its data, test set and classes. Throws as OpenForFleet() and
// OnlyClasses() do.
TrainTest OpenDataOf(const SimulationRequest& request);

}  // namespace sotto::server
