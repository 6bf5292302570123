// `sotto inspect`: prints tables for pages. No help lists it. Part of sotto::server/cli.
#ifndef SOTTO_CLI_INSPECT_COMMAND_H_
#define SOTTO_CLI_INSPECT_COMMAND_H_

#include "sotto/options/command.h"

namespace sotto::server {

posix::Command InspectCommand();

}  // namespace sotto::server

#endif  // SOTTO_CLI_INSPECT_COMMAND_H_
