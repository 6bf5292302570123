// `sotto data`: what data sets are, and what the devices of a fleet hold of them. Part of
// sotto::server/cli.
#ifndef SOTTO_CLI_DATA_COMMAND_H_
#define SOTTO_CLI_DATA_COMMAND_H_

namespace CLI {
class App;
}

namespace sotto::server {

// Declares the command. `app` outlives the parsing.
void AddDataCommand(CLI::App& app);

}  // namespace sotto::server

#endif  // SOTTO_CLI_DATA_COMMAND_H_
