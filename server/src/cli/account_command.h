// `sotto account`: privacy arithmetic without a run. Part of sotto::server/cli.
#ifndef SOTTO_CLI_ACCOUNT_COMMAND_H_
#define SOTTO_CLI_ACCOUNT_COMMAND_H_

namespace CLI {
class App;
}

namespace sotto::server {

// Declares the command with its subcommands. A subcommand runs when it is parsed. A failure is an
// exception.
void AddAccountCommand(CLI::App& app);

}  // namespace sotto::server

#endif  // SOTTO_CLI_ACCOUNT_COMMAND_H_
