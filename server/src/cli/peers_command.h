// `sotto peers`: nodes that train without a server. Part of sotto::server/cli.
#ifndef SOTTO_CLI_PEERS_COMMAND_H_
#define SOTTO_CLI_PEERS_COMMAND_H_

#include "sotto/options/command.h"

namespace sotto::server {

posix::Command PeersCommand();

}  // namespace sotto::server

#endif  // SOTTO_CLI_PEERS_COMMAND_H_
