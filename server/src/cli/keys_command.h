// `sotto keys`: gives devices their names and secrets. Part of sotto::server/cli.
#ifndef SOTTO_CLI_KEYS_COMMAND_H_
#define SOTTO_CLI_KEYS_COMMAND_H_

namespace CLI {
class App;
}

namespace sotto::server {

// Declares the command and its subcommands new, list, revoke and export. A subcommand runs when the
// arguments are parsed. A secret goes into the store, a key file or a C header, all of mode 0600,
// and never to a terminal, a log or JSON. The subcommands throw std::invalid_argument for options
// that exclude each other and std::runtime_error for an error of the store or a file.
void AddKeysCommand(CLI::App& app);

}  // namespace sotto::server

#endif  // SOTTO_CLI_KEYS_COMMAND_H_
