// `sotto account peers`: what nodes without a server tell, before anything runs. Part of
// sotto::server/cli.
#ifndef SOTTO_CLI_ACCOUNT_PEERS_H_
#define SOTTO_CLI_ACCOUNT_PEERS_H_

namespace CLI {
class App;
}

namespace sotto::server {

// Adds the command to `sotto account`. Running it throws std::invalid_argument for options that do
// not go together, privacy::UnattainableEpsilon, and what opening a model or a file throws.
void AddAccountPeersCommand(CLI::App& account);

}  // namespace sotto::server

#endif  // SOTTO_CLI_ACCOUNT_PEERS_H_
