// `sotto model export`, `sotto model predict` and `sotto model evaluate`. Part of
// sotto::server/cli.
#ifndef SOTTO_CLI_MODEL_EXPORT_H_
#define SOTTO_CLI_MODEL_EXPORT_H_

namespace CLI {
class App;
}

namespace sotto::server {

// Declare the commands within `model`; each runs when the app parses its name.
void AddModelExportCommand(CLI::App& model);
void AddModelPredictCommand(CLI::App& model);
void AddModelEvaluateCommand(CLI::App& model);

}  // namespace sotto::server

#endif  // SOTTO_CLI_MODEL_EXPORT_H_
