// `sotto model`: the named models, and what a model is and costs. Part of sotto::server/cli.
#ifndef SOTTO_CLI_MODEL_COMMAND_H_
#define SOTTO_CLI_MODEL_COMMAND_H_

namespace CLI {
class App;
}

namespace sotto::server {

// Declares the command; it runs when the app parses its name.
void AddModelCommand(CLI::App& app);

}  // namespace sotto::server

#endif  // SOTTO_CLI_MODEL_COMMAND_H_
