// `sotto peers simulate`. Part of sotto::server/cli.
#ifndef SOTTO_CLI_PEERS_SIMULATE_H_
#define SOTTO_CLI_PEERS_SIMULATE_H_

#include "sotto/options/command.h"

namespace sotto::server {

// Runs the simulation, or with --seeds several, and prints what came out. Throws as MakePeers(),
// SimulatePeers() and OutputFile do, and Stopped.
posix::Command PeersSimulateCommand();

}  // namespace sotto::server

#endif  // SOTTO_CLI_PEERS_SIMULATE_H_
