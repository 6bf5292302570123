// `sotto swarm`: thousands of simulated devices that load a server over the network. Part of
// sotto::server/lab.
#ifndef SOTTO_LAB_SWARM_COMMAND_H_
#define SOTTO_LAB_SWARM_COMMAND_H_

#include "sotto/options/command.h"

namespace sotto::server {

posix::Command SwarmCommand();

}  // namespace sotto::server

#endif  // SOTTO_LAB_SWARM_COMMAND_H_
