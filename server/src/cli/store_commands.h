// `sotto status`, `sotto backup`, `sotto pause` and `sotto resume`: a look at a store and its
// server, a copy of it, and a pause of its job. All of them work while a server uses the store.
// Part of sotto::server/cli.
#ifndef SOTTO_CLI_STORE_COMMANDS_H_
#define SOTTO_CLI_STORE_COMMANDS_H_

namespace CLI {
class App;
}

namespace sotto::server {

void AddStoreCommands(CLI::App& app);

}  // namespace sotto::server

#endif  // SOTTO_CLI_STORE_COMMANDS_H_
