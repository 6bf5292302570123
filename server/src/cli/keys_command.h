// `sotto keys`: gives devices their names and secrets. Part of sotto::server/cli.
#ifndef SOTTO_CLI_KEYS_COMMAND_H_
#define SOTTO_CLI_KEYS_COMMAND_H_

#include "sotto/options/command.h"

namespace sotto::server {

// With the commands new, list, revoke, rotate and export. A secret goes into the store, a key file
// or a C header, all of mode 0600, and never to a terminal, a log or JSON. The commands throw
// std::invalid_argument for options that exclude each other and std::runtime_error for an error of
// the store or a file.
posix::Command KeysCommand();

}  // namespace sotto::server

#endif  // SOTTO_CLI_KEYS_COMMAND_H_
