// `sotto simulate`. Part of sotto::server/cli.
#ifndef SOTTO_CLI_SIMULATE_COMMAND_H_
#define SOTTO_CLI_SIMULATE_COMMAND_H_

#include "sim/simulation_request.h"

namespace sotto::server {

// Runs the simulation. Progress goes to standard error. The table goes to standard output, or to
// standard error if JSON goes to standard output. Files are written as the options say. Throws what
// MakeSimulation(), OpenDataset() and Simulate() throw, and std::runtime_error if a file cannot be
// written.
void RunSimulate(const SimulationRequest& request);

}  // namespace sotto::server

#endif  // SOTTO_CLI_SIMULATE_COMMAND_H_
