// `sotto experiment`. Part of sotto::server/cli.
#ifndef SOTTO_CLI_EXPERIMENT_COMMAND_H_
#define SOTTO_CLI_EXPERIMENT_COMMAND_H_

namespace CLI {
class App;
}

namespace sotto::server {

// Declares `sotto experiment NAME`, `sotto experiment FILE.toml` and `sotto experiment list`.
void AddExperimentCommand(CLI::App& app);

}  // namespace sotto::server

#endif  // SOTTO_CLI_EXPERIMENT_COMMAND_H_
