// `sotto simulate --topology peers`. Part of sotto::server/cli.
#ifndef SOTTO_CLI_PEERS_COMMAND_H_
#define SOTTO_CLI_PEERS_COMMAND_H_

#include "sim/simulation_request.h"

namespace sotto::server {

// Runs the simulation, or with --seeds several, and prints what came out. Throws as MakePeers(),
// SimulatePeers() and OutputFile do, and Stopped.
void RunPeers(const SimulationRequest& request);

}  // namespace sotto::server

#endif  // SOTTO_CLI_PEERS_COMMAND_H_
