// The command `sotto data`: what a data set has, and what the devices of a fleet hold of it. Part
// of sotto::server/cli.
#ifndef SOTTO_CLI_DATA_COMMAND_H_
#define SOTTO_CLI_DATA_COMMAND_H_

namespace CLI {
class App;
}

namespace sotto::server {

// Adds `data` and its subcommands to the program.
void AddDataCommand(CLI::App& app);

}  // namespace sotto::server

#endif  // SOTTO_CLI_DATA_COMMAND_H_
