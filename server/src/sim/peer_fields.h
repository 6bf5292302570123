// The options of `sotto simulate` for a training without a server. Part of sotto::server/sim.
//
// Pure functions: safe from any thread.
#ifndef SOTTO_SIM_PEER_FIELDS_H_
#define SOTTO_SIM_PEER_FIELDS_H_

#include <vector>

#include "sim/simulation_request.h"

namespace sotto::server {

// The rows of the group "Without a server".
std::vector<Field<SimulationRequest>> PeerFields();

// Throws std::invalid_argument, which names the option, if somebody gave one that the request's
// topology does not have.
void RequireOptionsOfTopology(const SimulationRequest& request);

}  // namespace sotto::server

#endif  // SOTTO_SIM_PEER_FIELDS_H_
