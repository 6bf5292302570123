// `sotto data`: what data sets are, and what the devices of a fleet hold of them. Part of
// sotto::server/cli.
#ifndef SOTTO_CLI_DATA_COMMAND_H_
#define SOTTO_CLI_DATA_COMMAND_H_

#include "sotto/options/command.h"

namespace sotto::server {

posix::Command DataCommand();

}  // namespace sotto::server

#endif  // SOTTO_CLI_DATA_COMMAND_H_
