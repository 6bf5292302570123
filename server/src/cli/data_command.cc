#include "cli/data_command.h"

#include <CLI/CLI.hpp>

#include "cli/data_fit.h"

namespace sotto::server {

void AddDataCommand(CLI::App& app) {
  CLI::App& data = *app.add_subcommand("data", "fit a model's preparation to a data set");
  data.require_subcommand(1);
  AddDataFits(data);
}

}  // namespace sotto::server
