// `sotto peers directory`: roster, head and lease of nodes without a server. Part of
// sotto::server/cli.
#ifndef SOTTO_CLI_DIRECTORY_COMMAND_H_
#define SOTTO_CLI_DIRECTORY_COMMAND_H_

#include "sotto/options/command.h"

namespace sotto::server {

posix::Command DirectoryCommand();

}  // namespace sotto::server

#endif  // SOTTO_CLI_DIRECTORY_COMMAND_H_
