// `sotto peers account`: what nodes without a server tell, before anything runs. Part of
// sotto::server/cli.
#ifndef SOTTO_CLI_PEERS_ACCOUNT_H_
#define SOTTO_CLI_PEERS_ACCOUNT_H_

#include "sotto/options/command.h"

namespace sotto::server {

// A command of `sotto peers`. Running it throws std::invalid_argument for options that do not go
// together, privacy::UnattainableEpsilon, and what opening a model or a file throws.
posix::Command PeersAccountCommand();

}  // namespace sotto::server

#endif  // SOTTO_CLI_PEERS_ACCOUNT_H_
