// `sotto inspect store`: verifies every record of a store. Part of sotto::server/cli.
#ifndef SOTTO_CLI_INSPECT_STORE_H_
#define SOTTO_CLI_INSPECT_STORE_H_

namespace CLI {
class App;
}

namespace sotto::server {

// Declares the command, which runs when the arguments are parsed. It only reads the store. It
// throws std::runtime_error that names the last good record if the store is damaged.
void AddInspectStoreCommand(CLI::App& inspect);

}  // namespace sotto::server

#endif  // SOTTO_CLI_INSPECT_STORE_H_
