// `sotto account`: privacy arithmetic. Part of sotto::server/cli.
#ifndef SOTTO_CLI_ACCOUNT_COMMAND_H_
#define SOTTO_CLI_ACCOUNT_COMMAND_H_

namespace CLI {
class App;
}

namespace sotto::server {

// Adds the command with its subcommands; see those for what they throw.
void AddAccountCommand(CLI::App& app);

}  // namespace sotto::server

#endif  // SOTTO_CLI_ACCOUNT_COMMAND_H_
