// `sotto directory`: roster, head and lease of nodes without a server. Part of sotto::server/cli.
#ifndef SOTTO_CLI_DIRECTORY_COMMAND_H_
#define SOTTO_CLI_DIRECTORY_COMMAND_H_

namespace CLI {
class App;
}

namespace sotto::server {

void AddDirectoryCommand(CLI::App& app);

}  // namespace sotto::server

#endif  // SOTTO_CLI_DIRECTORY_COMMAND_H_
