// `sotto swarm`: thousands of simulated devices that load a server over the network. Part of
// sotto::server/lab.
#ifndef SOTTO_LAB_SWARM_COMMAND_H_
#define SOTTO_LAB_SWARM_COMMAND_H_

namespace CLI {
class App;
}

namespace sotto::server {

void AddSwarmCommand(CLI::App& app);

}  // namespace sotto::server

#endif  // SOTTO_LAB_SWARM_COMMAND_H_
