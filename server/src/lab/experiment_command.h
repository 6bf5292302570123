// `sotto experiment`. Part of sotto::server/lab.
#ifndef SOTTO_LAB_EXPERIMENT_COMMAND_H_
#define SOTTO_LAB_EXPERIMENT_COMMAND_H_

namespace CLI {
class App;
}

namespace sotto::server {

// Declares `sotto experiment NAME`, `sotto experiment FILE.toml` and `sotto experiment list`.
void AddExperimentCommand(CLI::App& app);

}  // namespace sotto::server

#endif  // SOTTO_LAB_EXPERIMENT_COMMAND_H_
