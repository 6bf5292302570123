// `sotto report`: a file with charts and the privacy statement of a store or of results. Part of
// sotto::server/cli.
#ifndef SOTTO_CLI_REPORT_COMMAND_H_
#define SOTTO_CLI_REPORT_COMMAND_H_

#include "sotto/options/command.h"

namespace sotto::server {

// Running it throws what opening the store and writing the file throw, and std::invalid_argument
// for a file that is neither a store nor results.
posix::Command ReportCommand();

}  // namespace sotto::server

#endif  // SOTTO_CLI_REPORT_COMMAND_H_
