// `sotto peers account`: what nodes without a server tell, before anything runs. Part of
// sotto::server/cli.
#ifndef SOTTO_CLI_PEERS_ACCOUNT_H_
#define SOTTO_CLI_PEERS_ACCOUNT_H_

namespace CLI {
class App;
}

namespace sotto::server {

// Adds the command to `sotto peers`. Running it throws std::invalid_argument for options that do
// not go together, privacy::UnattainableEpsilon, and what opening a model or a file throws.
void AddPeersAccountCommand(CLI::App& peers);

}  // namespace sotto::server

#endif  // SOTTO_CLI_PEERS_ACCOUNT_H_
