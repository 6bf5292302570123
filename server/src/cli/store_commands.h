// `sotto status`, `sotto job` and `sotto store`: a look at a store and its server, a pause of its
// job, a copy of it. All of them work while a server uses the store. Part of sotto::server/cli.
#ifndef SOTTO_CLI_STORE_COMMANDS_H_
#define SOTTO_CLI_STORE_COMMANDS_H_

#include "sotto/options/command.h"

namespace sotto::server {

posix::Command StatusCommand();
posix::Command JobCommand();
posix::Command StoreCommand();

}  // namespace sotto::server

#endif  // SOTTO_CLI_STORE_COMMANDS_H_
