// `sotto simulate`. Part of sotto::server/cli.
#ifndef SOTTO_CLI_SIMULATE_COMMAND_H_
#define SOTTO_CLI_SIMULATE_COMMAND_H_

#include "sotto/options/command.h"

namespace sotto::server {

// Running it writes the progress to standard error, and the table to standard output, or to
// standard error if JSON goes to standard output. Files are written as the options say. It throws
// what MakeSimulation(), OpenDataset() and Simulate() throw, and std::runtime_error if a file
// cannot be written.
posix::Command SimulateCommand();

}  // namespace sotto::server

#endif  // SOTTO_CLI_SIMULATE_COMMAND_H_
