// `sotto simulate`. Part of sotto::server/cli.
#ifndef SOTTO_CLI_SIMULATE_COMMAND_H_
#define SOTTO_CLI_SIMULATE_COMMAND_H_

#include "sim/simulation_request.h"

namespace sotto::server {

// Runs the simulation: progress to standard error, table to standard output (to standard error when
// JSON goes there), files as the options say. Throws what MakeSimulation(), OpenDataset() and
// Simulate() throw, and std::runtime_error if a file cannot be written.
void RunSimulate(const SimulationRequest& request);

}  // namespace sotto::server

#endif  // SOTTO_CLI_SIMULATE_COMMAND_H_
