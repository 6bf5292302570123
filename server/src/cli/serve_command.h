// `sotto serve`. Part of sotto::server/cli.
#ifndef SOTTO_CLI_SERVE_COMMAND_H_
#define SOTTO_CLI_SERVE_COMMAND_H_

namespace CLI {
class App;
}

namespace sotto::server {

// Adds the command. Running it throws what MakeJob(), the store and Server throw. Events go to
// standard error, one line each. Results go where the options say.
void AddServeCommand(CLI::App& app);

}  // namespace sotto::server

#endif  // SOTTO_CLI_SERVE_COMMAND_H_
