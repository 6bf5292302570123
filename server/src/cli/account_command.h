// `sotto account`: privacy arithmetic without a run. Part of sotto::server/cli.
#ifndef SOTTO_CLI_ACCOUNT_COMMAND_H_
#define SOTTO_CLI_ACCOUNT_COMMAND_H_

#include "sotto/options/command.h"

namespace sotto::server {

posix::Command AccountCommand();

}  // namespace sotto::server

#endif  // SOTTO_CLI_ACCOUNT_COMMAND_H_
