// `sotto serve`. Part of sotto::server/cli.
#ifndef SOTTO_CLI_SERVE_COMMAND_H_
#define SOTTO_CLI_SERVE_COMMAND_H_

#include "sotto/options/command.h"

namespace sotto::server {

// Running it throws what MakeJob(), the store and Server throw. Events go to standard error, one
// line each. Results go where the options say.
posix::Command ServeCommand();

}  // namespace sotto::server

#endif  // SOTTO_CLI_SERVE_COMMAND_H_
